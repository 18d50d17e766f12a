"""Several policies on one workload: their logs kept, their figures side by side."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from headway.core.control.events import Event, JobReferenced
from headway.core.errors import UnavailableError
from headway.core.metrics import JobOutcome, Meter, Summary, TenantOutcome, per_tenant
from headway.core.policy import Policy
from headway.protocol.eventlog import encode
from headway.sim.driver import Run, Setup, opening, simulate
from headway.sim.egalitarian import references

LOG = "events.jsonl"
PART = ".part"  # after the name of a log that is being written, or that was interrupted


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """A policy under the name and the settings that it was asked for with."""

    name: str
    policy: Policy[Any]
    settings: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """How one policy fared."""

    policy: str
    summary: Summary
    jobs: tuple[JobOutcome, ...]
    run: Run

    @property
    def tenants(self) -> tuple[TenantOutcome, ...]:
        """How each tenant fared."""
        return per_tenant(self.jobs)

    def row(self) -> dict[str, object]:
        """All figures by the names of the command line's contract."""
        decide_s = self.run.decide_s
        return {
            "policy": self.policy,
            **asdict(self.summary),
            "tenants": [asdict(tenant) for tenant in self.tenants],
            "decide_s_mean": sum(decide_s) / len(decide_s) if decide_s else None,
            "decide_s_max": max(decide_s, default=None),
            "cpu_s": self.run.cpu_s,
            "wall_s": self.run.wall_s,
        }


def run_all(
    setup: Setup,
    contenders: Sequence[Contender],
    out: Path | None = None,
    tell: Callable[[str, int], None] = lambda policy, finished: None,
    watch: Callable[[str, Event], None] = lambda policy, event: None,
) -> tuple[Result, ...]:
    """Run every policy on the same workload, against the same references.

    ``tell`` is told how many jobs have finished, ``watch`` is shown every event.

    Raises:
        UnavailableError: a log cannot be written.
    """
    largest = replace(setup.cluster, nodes=setup.largest)
    fair = references(setup.workload, largest)
    return tuple(_run(setup, contender, fair, out, tell, watch) for contender in contenders)


def _run(
    setup: Setup,
    contender: Contender,
    fair: Sequence[JobReferenced],
    out: Path | None,
    tell: Callable[[str, int], None],
    watch: Callable[[str, Event], None],
) -> Result:
    meter = Meter()
    opened = opening(setup, contender.name, contender.settings)
    with _log(out, contender.name) as log:

        def record(event: Event) -> None:
            meter.add(event)
            watch(contender.name, event)
            log(event)

        run = simulate(
            setup,
            contender.policy,
            opened,
            fair,
            record,
            lambda finished: tell(contender.name, finished),
        )
    return Result(policy=contender.name, summary=meter.summary(), jobs=meter.outcomes(), run=run)


@contextmanager
def _log(out: Path | None, policy: str) -> Iterator[Callable[[Event], None]]:
    """Writes the event log of a policy; nothing where none is kept.

    It has its name once it is whole: a run that is interrupted leaves what was there before.
    """
    if out is None:
        yield lambda event: None
        return
    path = out / policy / LOG
    part = path.with_name(LOG + PART)
    with _writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        file = part.open("wb")

    def write(event: Event) -> None:
        with _writing(path):
            file.write(encode(event) + b"\n")

    try:
        yield write
    finally:
        with _writing(path):
            file.close()
    with _writing(path):
        part.replace(path)


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UnavailableError(f"{path} cannot be written: {error.strerror}") from None
