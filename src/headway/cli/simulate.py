"""``headway simulate``: a workload in virtual time under one or more policies."""

import math
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, final

import click

from headway.cli.keeping import keep
from headway.cli.output import print_json, print_table
from headway.core.errors import InvalidInputError
from headway.core.policy import DEFAULT, make
from headway.report import comparison
from headway.sim.cluster import parse_cluster
from headway.sim.driver import Setup, fitted
from headway.sim.generate import generate, is_generator
from headway.sim.results import Contender, Result, run_all
from headway.traces.base import Workload
from headway.traces.catalogue import CATALOGUE
from headway.traces.sniff import read_profiles, read_workload

PATIENCE_S = 2.0  # a wait that needs no progress bar
MOST_S = 1e7  # of a round or a restart; virtual time goes on round by round
SIMULATOR = "sim"  # whose settings, beside the policies', --set may name
SIMULATOR_SETTINGS = ("noise",)


@click.command("simulate")
@click.argument("workload", metavar="WORKLOAD")
@click.option("--cluster", default="16x4", show_default=True, help="NODESxGPUS, or a YAML file.")
@click.option(
    "--policy", "policies", multiple=True, default=(DEFAULT,), help="May be given several times."
)
@click.option(
    "--profiles",
    type=click.Path(path_type=Path),
    help="Measured profiles; the built-in catalogue by default.",
)
@click.option("--format", "format_name", help="Of WORKLOAD; told from its content by default.")
@click.option("--round-s", default=60.0, show_default=True, help="Seconds from round to round.")
@click.option("--restart-s", default=30.0, show_default=True, help="Seconds that a restart takes.")
@click.option("--seed", default=0, show_default=True, help="Of all that is drawn by chance.")
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME.KEY=VALUE",
    help="A setting of a policy (pollux.p=-1) or of the simulator (sim.noise=0.05).",
)
@click.option(
    "--out", type=click.Path(path_type=Path), help="Folder for event logs, tables and a report."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def simulate_command(
    workload: str,
    cluster: str,
    policies: tuple[str, ...],
    profiles: Path | None,
    format_name: str | None,
    round_s: float,
    restart_s: float,
    seed: int,
    settings: tuple[str, ...],
    out: Path | None,
    as_json: bool,
) -> None:
    """Run WORKLOAD in virtual time under one or more policies.

    WORKLOAD is a file in any known format, or pollux-mix (with options, as in
    pollux-mix:jobs=320,hours=8): jobs that are drawn anew for each seed.
    """
    chosen = parse_settings(settings, policies)
    contenders = _contenders(policies, chosen)
    machines = parse_cluster(cluster)
    setup = Setup(
        workload=fitted(_workload(workload, profiles, format_name, _seed(seed)), machines),
        cluster=machines,
        round_s=_seconds("--round-s", round_s, least=1e-3),
        restart_s=_seconds("--restart-s", restart_s, least=0.0),
        seed=seed,
        noise=_noise(chosen[SIMULATOR]),
    )
    _notes(setup.workload.notes)
    with _progress(len(setup.workload.jobs)) as tell:
        results = run_all(setup, contenders, out, tell)
    for result in results:
        _notes(_warnings(result))
    if out is not None:
        keep(out, _facts(setup), results)
    if as_json:
        print_json(
            {
                "workload": setup.workload.name,
                "cluster": machines.name,
                "seed": seed,
                "results": [result.row() for result in results],
            }
        )
    else:
        _print(results)


def parse_settings(
    settings: Sequence[str], policies: Sequence[str]
) -> Mapping[str, dict[str, str]]:
    """``--set`` by whom it is for.

    Raises:
        InvalidInputError: not of the form NAME.KEY=VALUE, or for nobody who takes part.
    """
    found: dict[str, dict[str, str]] = {name: {} for name in (SIMULATOR, *policies)}
    for text in settings:
        left, equals, value = text.partition("=")
        name, dot, key = left.partition(".")
        if not (equals and dot and key and value):
            raise InvalidInputError(f"--set {text!r} must be NAME.KEY=VALUE, as in pollux.p=-1")
        if name not in found:
            raise InvalidInputError(f"--set {text}: {name!r} is not one of {', '.join(found)}")
        if name == SIMULATOR and key not in SIMULATOR_SETTINGS:
            known = ", ".join(SIMULATOR_SETTINGS)
            raise InvalidInputError(f"--set {text}: the simulator has no {key!r}; it has {known}")
        found[name][key] = value
    return found


def _contenders(
    policies: Sequence[str], settings: Mapping[str, Mapping[str, str]]
) -> tuple[Contender, ...]:
    if len(set(policies)) < len(policies):
        raise InvalidInputError("--policy names one policy twice; name each once")
    return tuple(
        Contender(name=name, policy=make(name, settings[name]), settings=settings[name])
        for name in policies
    )


def _facts(setup: Setup) -> Mapping[str, str]:
    return {
        "workload": f"{setup.workload.name}, {len(setup.workload.jobs)} jobs",
        "cluster": setup.cluster.name,
        "round": f"{setup.round_s:g} s",
        "restart delay": f"{setup.restart_s:g} s",
        "seed": str(setup.seed),
    }


def _workload(text: str, profiles: Path | None, format_name: str | None, seed: int) -> Workload:
    known = CATALOGUE if profiles is None else read_profiles(profiles)
    if is_generator(text):
        if format_name is not None:
            raise InvalidInputError(f"--format is for files; {text} is made here, leave it away")
        return generate(text, known, seed)
    return read_workload(Path(text), known, format_name)


def _seconds(option: str, value: float, *, least: float) -> float:
    if not least <= value <= MOST_S:
        raise InvalidInputError(
            f"{option} must be from {least:g} to {MOST_S:g} seconds, not {value:g}"
        )
    return value


def _seed(seed: int) -> int:
    if seed < 0:
        raise InvalidInputError(f"--seed must not be negative, not {seed}")
    return seed


def _noise(settings: Mapping[str, str]) -> float:
    text = settings.get("noise", "0")
    try:
        noise = float(text)
    except ValueError:
        noise = math.nan
    if not 0 <= noise <= 1:
        raise InvalidInputError(f"--set sim.noise must be a number from 0 to 1, not {text!r}")
    return noise


def _warnings(result: Result) -> Iterator[str]:
    if result.run.outside:
        yield (
            f"{result.policy}: {len(result.run.outside)} times a profile was asked beyond what was "
            f"measured, as {result.run.outside[0]}"
        )
    left = result.summary.jobs - result.summary.finished
    if left:
        yield f"{result.policy}: {left} jobs did not finish; nothing more would have happened"


def _notes(notes: Sequence[str] | Iterator[str]) -> None:
    for note in notes:
        click.echo(f"headway: note: {note}", err=True)


def _print(results: Sequence[Result]) -> None:
    """A column for each policy: there are more figures than policies, and 80 columns of text."""
    table = comparison({result.policy: result.summary for result in results})
    (head, *policies), *figures = zip(table.columns, *table.rows, strict=True)
    print_table((head, *policies), figures, right=policies)


@final
class Progress:
    """A bar on stderr, once somebody has waited for a while at a terminal."""

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs
        self._began_s = time.monotonic()
        self._bar: Any = None
        self._task: Any = None
        self._policy = ""

    def __call__(self, policy: str, finished: int) -> None:
        """So many jobs have finished under this policy."""
        if self._bar is None and not self._opened():
            return
        if policy != self._policy:
            if self._task is not None:
                self._bar.remove_task(self._task)
            self._policy, self._task = policy, self._bar.add_task(policy, total=self._jobs)
        self._bar.update(self._task, completed=finished)

    def _opened(self) -> bool:
        if not sys.stderr.isatty() or time.monotonic() - self._began_s < PATIENCE_S:
            return False
        from rich.console import Console
        from rich.progress import Progress as Bars

        self._bar = Bars(console=Console(stderr=True), transient=True)
        self._bar.start()
        return True

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()


@contextmanager
def _progress(jobs: int) -> Iterator[Progress]:
    progress = Progress(jobs)
    try:
        yield progress
    finally:
        progress.close()
