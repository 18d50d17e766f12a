"""Measures what docs/results/agent.md states and writes it: ``python -m benchmarks.agent``.

Beside ``benchmarks.results`` and by its means: every figure is the answer of a command, kept by the
command and by the content of the sources it depends on.
"""
