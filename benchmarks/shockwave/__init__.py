"""Measures what docs/results/shockwave.md states and writes it: ``python -m benchmarks.shockwave``.

Commands, their cache and the page are those of ``benchmarks.results``.
"""
