"""Contract suites and Hypothesis strategies, for those who write a policy, a store or an engine."""
