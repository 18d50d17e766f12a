"""Measures what the pages of docs/results state and writes them: ``python -m benchmarks.results``.

Not part of the package. Every measurement is a command that anybody can run; its answer is kept in
a folder by the command and by the content of the sources it depends on, so that a run goes on where
it was stopped.
"""
