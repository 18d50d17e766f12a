"""Event logs to tables."""
