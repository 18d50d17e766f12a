"""What ``simulate`` and ``compare`` are asked alike: a workload, a cluster, policies, settings."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import click

from headway.cli.tenants import check_tenants, read_tenants, tenants_option
from headway.core.errors import InvalidInputError
from headway.core.model.choice import FITTERS
from headway.core.policy import DEFAULT, POLICIES, has_setting, make
from headway.core.words import counted
from headway.sim.cluster import Cluster, parse_cluster
from headway.sim.driver import Setup, fitted
from headway.sim.generate import generate, is_generator
from headway.sim.results import Contender, Result
from headway.traces.base import Workload
from headway.traces.catalogue import CATALOGUE
from headway.traces.sniff import FORMATS, read_profiles, read_workload

MOST_S = 1e7  # of a round or a restart; virtual time goes on round by round
SIMULATOR = "sim"  # whose settings, beside the policies', --set may name
NUMBERS: Mapping[str, float] = {  # of the simulator, and their largest values; the least is 0
    "noise": 1.0,
    "interference": 0.95,
    "restart_spread": 2.0,
    "declared_error": 2.0,
    "provision_s": MOST_S,
}
SIMULATOR_SETTINGS = (*NUMBERS, "models", "throughput")
Settings = Mapping[str, Mapping[str, str]]

OPTIONS = (
    click.argument("workload", metavar="WORKLOAD"),
    click.option(
        "--cluster", default="16x4", show_default=True, help="NODESxGPUS, or a YAML file."
    ),
    click.option(
        "--policy",
        "policies",
        multiple=True,
        default=(DEFAULT,),
        show_default=True,
        help=f"May be given several times: {', '.join(POLICIES)}. NAME+cost, NAME+goodput or "
        "NAME+throughput scales the cluster.",
    ),
    click.option(
        "--profiles",
        type=click.Path(path_type=Path),
        help="Measured profiles: a folder of Pollux's, or a throughput table of Gavel's; "
        "the built-in catalogue by default.",
    ),
    click.option(
        "--format",
        "format_name",
        help=f"Of WORKLOAD: {', '.join(sorted(FORMATS))}; told from its content by default.",
    ),
    click.option("--round-s", default=60.0, show_default=True, help="Seconds from round to round."),
    click.option(
        "--restart-s", default=30.0, show_default=True, help="Seconds that a restart takes."
    ),
    click.option(
        "--set",
        "settings",
        multiple=True,
        metavar="NAME.KEY=VALUE",
        help="A setting of a policy (pollux.p=-1) or of the simulator (sim.interference=0.25).",
    ),
    tenants_option,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """What to run, but for the seed."""

    workload: str
    cluster: Cluster
    contenders: tuple[Contender, ...]
    settings: Settings
    tenants: str  # their weights, whoever weighs them
    profiles: Path | None
    format_name: str | None
    round_s: float
    restart_s: float

    @property
    def draws_jobs(self) -> bool:
        """Whether each seed makes other jobs; a file has the same ones for all."""
        return is_generator(self.workload)

    @property
    def most_nodes(self) -> int:
        """To which any of the policies may scale the cluster; 0 where none does."""
        traits = [contender.policy.traits for contender in self.contenders]
        return max((each.most_nodes or 0 for each in traits), default=0)

    def setup(self, seed: int) -> Setup:
        """The same for every policy.

        Raises:
            InvalidInputError: a seed below 0, a workload that cannot be had, a cluster that knows
                speeds of profiles that do not exist, or a weight of a tenant that has no jobs.
        """
        if seed < 0:
            raise InvalidInputError(f"--seed must not be negative, not {seed}")
        jobs = self._jobs(seed)
        self.cluster.hardware.check(jobs.profiles, f"--cluster {self.cluster.name}")
        check_tenants(self.settings.values(), {job.tenant for job in jobs.jobs})
        return Setup(
            workload=fitted(jobs, self.cluster, self.most_nodes),
            cluster=self.cluster,
            round_s=self.round_s,
            restart_s=self.restart_s,
            seed=seed,
            most_nodes=self.most_nodes,
            throughput=_throughput(self.settings[SIMULATOR]),
            tenants=self.tenants,
            oracle_models=_oracle_models(self.settings[SIMULATOR]),
            **numbers(self.settings[SIMULATOR]),
        )

    def _jobs(self, seed: int) -> Workload:
        known = CATALOGUE if self.profiles is None else read_profiles(self.profiles)
        if not self.draws_jobs:
            return read_workload(Path(self.workload), known, self.format_name)
        if self.format_name is not None:
            raise InvalidInputError(
                f"--format is for files; {self.workload} is made here, leave it away"
            )
        return generate(self.workload, known, seed)


def scenario_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options above; it is called with a ``Scenario`` in their place."""

    @wraps(command)
    def asked(
        workload: str,
        cluster: str,
        policies: tuple[str, ...],
        profiles: Path | None,
        format_name: str | None,
        round_s: float,
        restart_s: float,
        settings: tuple[str, ...],
        tenants: Path | None,
        **others: Any,
    ) -> None:
        table = "" if tenants is None else read_tenants(tenants)
        chosen = with_tenants(parse_settings(settings, policies), table)
        scenario = Scenario(
            workload=workload,
            contenders=_contenders(policies, chosen),
            settings=chosen,
            tenants=table,
            cluster=parse_cluster(cluster),
            profiles=profiles,
            format_name=format_name,
            round_s=_seconds("--round-s", round_s, least=1e-3),
            restart_s=_seconds("--restart-s", restart_s, least=0.0),
        )
        command(scenario, **others)

    wrapped: Callable[..., None] = asked
    for option in reversed(OPTIONS):
        wrapped = option(wrapped)
    return wrapped


def parse_settings(settings: Sequence[str], policies: Sequence[str]) -> Settings:
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
        if not text.isprintable():  # as a byte that is not UTF-8: no event log could hold it
            raise InvalidInputError(f"--set {text!r} must be text in UTF-8 on one line")
        if name not in found:
            known = ", ".join(found)
            raise InvalidInputError(
                f"--set {text}: {name!r} is not one of {known}; a policy is named as in --policy"
            )
        if name == SIMULATOR and key not in SIMULATOR_SETTINGS:
            known = ", ".join(SIMULATOR_SETTINGS)
            raise InvalidInputError(f"--set {text}: the simulator has no {key!r}; it has {known}")
        found[name][key] = value
    return found


def with_tenants(settings: Settings, table: str) -> Settings:
    """The same table, if there is one, for every policy that knows it; ``--set`` goes before.

    Raises:
        InvalidInputError: none of them does.
    """
    others = [name for name in settings if name != SIMULATOR]
    knowing = [name for name in others if has_setting(name, "tenants")]
    if table and not knowing:
        do = "does" if len(others) == 1 else "do"
        raise InvalidInputError(
            f"--tenants: {', '.join(others)} {do} not weigh tenants; "
            "add --policy headway or pollux or shockwave"
        )
    given = {"tenants": table} if table else {}
    return {name: {**(given if name in knowing else {}), **own} for name, own in settings.items()}


def facts(setup: Setup) -> Mapping[str, str]:
    """What was run, for a report."""
    return {
        "workload": f"{setup.workload.name}, {counted(len(setup.workload.jobs), 'job')}",
        "cluster": setup.cluster.name,
        "round": f"{setup.round_s:g} s",
        "restart delay": f"{setup.restart_s:g} s",
        "seed": str(setup.seed),
    }


def warnings(result: Result) -> Iterator[str]:
    """What readers of a result should know about it."""
    if result.run.outside:
        yield (
            f"{result.policy}: {counted(len(result.run.outside), 'time')} a profile was asked "
            f"beyond what was measured, as {result.run.outside[0]}"
        )
    if left := result.summary.jobs - result.summary.finished:
        who = f"{result.policy}: {counted(left, 'job')}"
        yield f"{who} did not finish; nothing more would have happened"


def notes(lines: Iterable[str]) -> None:
    """Say something on stderr, a line each."""
    for line in lines:
        click.echo(f"headway: note: {line}", err=True)


def _contenders(policies: Sequence[str], settings: Settings) -> tuple[Contender, ...]:
    if len(set(policies)) < len(policies):
        raise InvalidInputError("--policy names one policy twice; name each once")
    return tuple(
        Contender(name=name, policy=make(name, settings[name]), settings=settings[name])
        for name in policies
    )


def _seconds(option: str, value: float, *, least: float) -> float:
    if not least <= value <= MOST_S:
        raise InvalidInputError(
            f"{option} must be from {least:g} to {MOST_S:g} seconds, not {value:g}"
        )
    return value


def numbers(settings: Mapping[str, str]) -> dict[str, float]:
    """Fields of ``Setup``.

    Raises:
        InvalidInputError: no number, or one beyond sense.
    """
    found = {}
    for key, most in NUMBERS.items():
        if key not in settings:
            continue
        text = settings[key]
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not 0 <= value <= most:
            raise InvalidInputError(
                f"--set sim.{key} must be a number from 0 to {most:g}, not {text!r}"
            )
        found[key] = value
    return found


def _throughput(settings: Mapping[str, str]) -> str:
    text = settings.get("throughput", "linear")
    if text not in FITTERS:
        known = ", ".join(FITTERS)
        raise InvalidInputError(f"--set sim.throughput must be one of {known}; not {text!r}")
    return text


def _oracle_models(settings: Mapping[str, str]) -> bool:
    text = settings.get("models", "learned")
    if text not in {"learned", "oracle"}:
        raise InvalidInputError(f"--set sim.models must be learned or oracle, not {text!r}")
    return text == "oracle"
