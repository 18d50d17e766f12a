"""``headway compare``: policies on the same workloads over several seeds, with error bars."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from textwrap import fill

import click

from headway.cli.keeping import write_whole
from headway.cli.output import print_json, print_table
from headway.cli.progress import progress
from headway.cli.scenario import Scenario, facts, notes, scenario_options, warnings
from headway.core.control.events import Event
from headway.core.errors import InvalidInputError, UnavailableError
from headway.core.metrics import Summary
from headway.report.course import Course
from headway.report.page import Fared, how_shown, page
from headway.report.spread import Spread, over_seeds
from headway.sim.results import Result, run_all

SEEDS = 3
TEXT = 80  # columns
Runs = Mapping[str, Sequence[Result]]  # of each policy, one for each seed


@click.command("compare")
@scenario_options
@click.option("--seeds", "count", type=int, help=f"So many seeds: 0, 1, ...  [default: {SEEDS}]")
@click.option(
    "--seed", "named", type=int, multiple=True, help="This seed; may be given several times."
)
@click.option(
    "--report",
    type=click.Path(path_type=Path),
    metavar="FILE.html",
    help="Write a page with plots.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def compare_command(
    scenario: Scenario,
    count: int | None,
    named: tuple[int, ...],
    report: Path | None,
    as_json: bool,
) -> None:
    """Run WORKLOAD under several policies and seeds; show means and standard errors.

    WORKLOAD is a file in any known format, or pollux-mix (with options, as in
    pollux-mix:jobs=320,hours=8): jobs that are drawn anew for each seed. A file has the
    same jobs for every seed; then only what policies and the simulator draw differs.
    """
    seeds = _seeds(count, named)
    _writable(report)
    courses = {contender.name: Course() for contender in scenario.contenders}
    runs = _run(scenario, seeds, courses if report is not None else {})
    said = list(_said(scenario, runs))
    notes(said)
    if report is not None:
        write_whole(report, page(_facts(scenario, seeds), _fared(runs, courses), said))
    if as_json:
        print_json(_answer(scenario, seeds, runs))
    else:
        _print(runs, len(seeds))


def _seeds(count: int | None, named: Sequence[int]) -> tuple[int, ...]:
    if named and count is not None:
        raise InvalidInputError("--seeds and --seed both say which seeds to use; give one")
    if count is not None and count < 1:
        raise InvalidInputError(f"--seeds must be at least 1, not {count}")
    if len(set(named)) < len(named):
        raise InvalidInputError("--seed names one seed twice; name each once")
    return tuple(named) or tuple(range(SEEDS if count is None else count))


def _run(scenario: Scenario, seeds: Sequence[int], courses: Mapping[str, Course]) -> Runs:
    """Every policy with every seed; the courses are those of the first."""
    runs: dict[str, list[Result]] = {contender.name: [] for contender in scenario.contenders}
    setups = [scenario.setup(seed) for seed in seeds]
    notes(dict.fromkeys(note for setup in setups for note in setup.workload.notes))
    for setup in setups:
        seed, watched = setup.seed, courses if setup is setups[0] else {}
        with progress(len(setup.workload.jobs)) as tell:
            results = run_all(
                setup,
                scenario.contenders,
                tell=partial(_tell, tell, seed),
                watch=partial(_watch, watched),
            )
        for result in results:
            notes(f"seed {seed}: {text}" for text in warnings(result))
            runs[result.policy].append(result)
    return runs


def _tell(tell: Callable[[str, int], None], seed: int, policy: str, finished: int) -> None:
    tell(f"{policy}, seed {seed}", finished)


def _watch(courses: Mapping[str, Course], policy: str, event: Event) -> None:
    if policy in courses:
        courses[policy].add(event)


def _said(scenario: Scenario, runs: Runs) -> Sequence[str]:
    """What to know before an error bar is believed."""
    said = []
    if not scenario.draws_jobs:
        said.append(
            f"{Path(scenario.workload).name} has the same jobs for every seed; only what policies "
            "and the simulator draw by chance differs"
        )
    same = [
        policy
        for policy, results in runs.items()
        if len(results) > 1 and all(result.summary == results[0].summary for result in results)
    ]
    if same:
        said.append(f"{', '.join(same)}: the same run for every seed, so no spread")
    return said


def _summaries(runs: Runs) -> Mapping[str, Sequence[Summary]]:
    return {policy: [result.summary for result in results] for policy, results in runs.items()}


def _print(runs: Runs, seeds: int) -> None:
    rows = over_seeds(_summaries(runs))
    cells = [
        (row.title, *(f"{cell.text} {'*' if cell.best else ' '}" for cell in row.cells))
        for row in rows
    ]
    print_table(
        ("policy", *(f"{policy}  " for policy in runs)), cells, right=[f"{p}  " for p in runs]
    )
    click.echo(fill(how_shown(seeds, len(runs)).replace("marked", "marked *"), TEXT))


def _answer(scenario: Scenario, seeds: Sequence[int], runs: Runs) -> Mapping[str, object]:
    return {
        "workload": scenario.workload,
        "cluster": scenario.cluster.name,
        "seeds": list(seeds),
        "results": [
            {
                "policy": policy,
                "runs": [
                    {"seed": seed, **result.row()}
                    for seed, result in zip(seeds, results, strict=True)
                ],
                **_statistics([result.summary for result in results]),
            }
            for policy, results in runs.items()
        ],
    }


def _statistics(summaries: Sequence[Summary]) -> Mapping[str, Mapping[str, float | None]]:
    """Of every figure of a summary; None where a run lacks it, and no error of a single run."""
    columns: dict[str, list[float | None]] = {}
    for summary in summaries:
        for name, value in asdict(summary).items():
            columns.setdefault(name, []).append(value)
    spreads = {name: Spread.of(values) for name, values in columns.items()}
    return {
        "mean": {name: spread.mean if spread else None for name, spread in spreads.items()},
        "standard_error": {
            name: spread.error if spread else None for name, spread in spreads.items()
        },
    }


def _facts(scenario: Scenario, seeds: Sequence[int]) -> Mapping[str, str]:
    of_first = dict(facts(scenario.setup(seeds[0])))
    of_first.pop("seed")
    settings = [
        f"{name}.{key}={value}"
        for name, chosen in scenario.settings.items()
        for key, value in chosen.items()
    ]
    over_time = f"{', '.join(map(str, seeds))} (charts over time: {seeds[0]})"
    return {**of_first, "settings": ", ".join(settings) or "none", "seeds": over_time}


def _fared(runs: Runs, courses: Mapping[str, Course]) -> list[Fared]:
    return [
        Fared(
            policy=policy,
            summaries=tuple(result.summary for result in results),
            jobs=tuple(job for result in results for job in result.jobs),
            course=courses[policy],
        )
        for policy, results in runs.items()
    ]


def _writable(report: Path | None) -> None:
    """Say at once, not after minutes, that a page cannot lie there."""
    if report is None:
        return
    if report.is_dir():
        raise UnavailableError(f"{report} cannot be written: Is a directory")
    if not report.parent.is_dir():
        raise UnavailableError(f"{report} cannot be written: {report.parent} is no folder")
