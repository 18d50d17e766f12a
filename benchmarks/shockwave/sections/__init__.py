"""The sections of the page, in the order in which they stand there."""

from collections.abc import Callable
from pathlib import Path

from benchmarks.results.figures import Section
from benchmarks.shockwave.sections.forecasts import forecasts
from benchmarks.shockwave.sections.physical import physical
from benchmarks.shockwave.sections.plans import windows
from benchmarks.shockwave.sections.rivals import rivals
from benchmarks.shockwave.sections.seeds import seeds, steady
from benchmarks.shockwave.sections.shipped import shipped
from benchmarks.shockwave.sections.sizes import objective, sizes
from benchmarks.shockwave.sections.sweeps import contention, dynamic, noise

SECTIONS: tuple[Callable[[Path], Section], ...] = (
    sizes,
    objective,
    shipped,
    rivals,
    forecasts,
    dynamic,
    contention,
    noise,
    seeds,
    steady,
    windows,
    physical,
)
