"""The sections of the page, in the order in which they stand there."""

from collections.abc import Callable

from benchmarks.results.figures import Section
from benchmarks.results.scope import Scope
from benchmarks.results.sections.baselines import baselines
from benchmarks.results.sections.costs import allocation, simulator, tables
from benchmarks.results.sections.exploration import exploration
from benchmarks.results.sections.fairness import fairness
from benchmarks.results.sections.hardware import hardware
from benchmarks.results.sections.intervals import interference, intervals
from benchmarks.results.sections.loads import loads
from benchmarks.results.sections.models import model_error
from benchmarks.results.sections.realistic import realistic
from benchmarks.results.sections.scaling import autoscaling
from benchmarks.results.sections.sia import sia

SECTIONS: tuple[Callable[[Scope], Section], ...] = (
    baselines,
    loads,
    sia,
    realistic,
    intervals,
    interference,
    fairness,
    autoscaling,
    model_error,
    exploration,
    allocation,
    tables,
    simulator,
    hardware,
)
