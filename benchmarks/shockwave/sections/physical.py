"""The simulator against recorded runs on 32 real GPUs."""

from collections.abc import Sequence
from pathlib import Path

from benchmarks.results.command import DATA, script
from benchmarks.results.figures import Figure, Results, Section, Table, Unit, near, percent
from benchmarks.results.figures import seconds as whole_seconds
from benchmarks.results.scope import number

RUN = script("fidelity", "--data", DATA)
POLICIES = ("themis", "gavel", "mst", "shockwave")
FORM = "run times and rounds"
FORMS = ("table", "speeds", "run times", "speeds and rounds", FORM)
NEAR = 0.05
ABOUT = """
Four runs of the 120 jobs on 32 real GPUs were published with the schedule of every round. Each is
simulated with that schedule, so that only rounds, restarts and speeds are compared, and not the
policies. A verdict is on the form that takes from the run how long each job held its GPUs in all
and how long its rounds took. Errors of other forms say what explains the rest:

- Rounds took longer than 120 s where jobs were exchanged often (`starts`): with rounds of 120 s
  average JCTs come out as much as 11 % too short.
- Recorded speeds are below the table (`speed`), but in two of the runs jobs did not hold their GPUs
  longer than the table says, so with recorded speeds makespans come out as much as 25 % too long.
- The makespan of 27,841 s published for Themis contradicts its own completion times: the last job
  ends at 31,426 s, which is what is compared here.
"""


def physical(data: Path) -> Section:
    """Average JCT and makespan within 5 % for each policy."""
    return Section(
        key="physical",
        title="Fidelity",
        about=ABOUT,
        commands=(RUN,),
        figures=_figures,
        tables=lambda results: [_errors(results), _facts(results)],
    )


def _figures(results: Results) -> Sequence[Figure]:
    figures = []
    for policy in POLICIES:
        for name, what in (("avg_jct_s", "average JCT"), ("makespan_s", "makespan")):
            real = number(results, RUN, policy, name)
            figures.append(
                Figure(
                    what=f"{policy}: {what}",
                    unit=whole_seconds,
                    measured=number(results, RUN, policy, FORM, name),
                    published=real,
                    reach=near(real or 0.0, NEAR),
                )
            )
    return figures


def _errors(results: Results) -> Table:
    rows = []
    for form in FORMS:
        cells = []
        for policy in POLICIES:
            jct = number(results, RUN, policy, form, "jct_error")
            makespan = number(results, RUN, policy, form, "makespan_error")
            if jct is not None and makespan is not None:
                cells.append(f"{100 * jct:+.1f} / {100 * makespan:+.1f} %")
        if cells:
            rows.append((form, *cells))
    return Table(
        title="Error of average JCT and makespan by what is taken from the run",
        columns=("taken from the run", *POLICIES),
        rows=rows,
    )


def _facts(results: Results) -> Table:
    facts: tuple[tuple[str, str, Unit], ...] = (
        ("round_s", "mean seconds of a round", lambda value: f"{value:.1f} s"),
        ("starts", "starts", lambda value: f"{value:,.0f}"),
        ("slower", "speed: recorded over table", percent),
        ("makespan_s", "last completion", whole_seconds),
    )
    rows = []
    for key, what, unit in facts:
        found = [number(results, RUN, policy, key) for policy in POLICIES]
        if None not in found:
            rows.append((what, *(unit(value) for value in found if value is not None)))
    return Table(title="What was recorded", columns=("", *POLICIES), rows=rows)
