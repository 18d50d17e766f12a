"""Traces that nothing was chosen on: bursts and a steady state, drawn seed by seed."""

from pathlib import Path

from benchmarks.results.figures import Figure, Results, Section, at_least, mean, quotient, ratio
from benchmarks.shockwave.commands import drawn
from benchmarks.shockwave.sections.rivals import FAIR
from benchmarks.shockwave.sections.sweeps import figure, spread_table

OTHERS = (*FAIR, "srtf", "gandiva-fair")
BURSTS = drawn("shockwave", *OTHERS)
FORMS = {
    "shockwave, makespan first (λ = 3, finish = 1)": drawn(
        "shockwave", options=("--set", "shockwave.lam=3", "--set", "shockwave.finish=1")
    ),
    "shockwave, the paper's objective (λ = 10⁻³)": drawn(
        "shockwave",
        options=(
            *("--set", "shockwave.lam=1e-3", "--set", "shockwave.finish=0"),
            *("--set", "shockwave.tail=1"),
        ),
    ),
}
ABOUT_BURSTS = """
120 jobs drawn from the 900, 32 GPUs, a mean of 40 s between arrivals as in the published trace;
mean ± standard deviation of five seeds. No setting was chosen on these.
"""
STEADY = drawn("shockwave", *FAIR, options=("--jobs", "450", "--gap-s", "384", "--gpus", "16"))
ABOUT_STEADY = """
450 jobs that arrive over 48 h, so that 16 GPUs are busy nine tenths of the time. The makespan says
nothing here: it is when the last arrivals end. Five seeds.
"""


def seeds(data: Path) -> Section:
    """Bursts."""
    runs = {policy: (BURSTS, policy) for policy in ("shockwave", *OTHERS)}
    runs |= {name: (run, "shockwave") for name, run in FORMS.items()}
    return Section(
        key="seeds",
        title="Five bursts",
        about=ABOUT_BURSTS,
        commands=(BURSTS, *FORMS.values()),
        figures=lambda results: [_gain(results)],
        tables=lambda results: [spread_table(results, "Five seeds", runs)],
    )


def _gain(results: Results) -> Figure:
    own = figure(results, BURSTS, "shockwave", "makespan_s")
    gains = [quotient(figure(results, BURSTS, name, "makespan_s"), own) for name in FAIR]
    return Figure(
        what="makespan of themis, gavel and allox over that of shockwave, mean",
        unit=ratio,
        measured=mean(gains),
        published="1.3 on its own traces",
        reach=at_least(1.25),
    )


def steady(data: Path) -> Section:
    """Arrivals over two days."""
    return Section(
        key="steady",
        title="A steady state",
        about=ABOUT_STEADY,
        commands=(STEADY,),
        figures=lambda results: (),
        tables=lambda results: [
            spread_table(
                results, "Five seeds", {name: (STEADY, name) for name in ("shockwave", *FAIR)}
            )
        ],
    )
