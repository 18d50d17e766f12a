"""Policies on traces drawn from Shockwave's, seed by seed; other shares of jobs, wrong forecasts.

``python benchmarks/drawn.py --data DIR --policy shockwave [--policy ...] [--json]``: DIR holds the
traces and throughput tables published with Shockwave. Jobs are rows of a published trace, in their
order with ``--trace NAME --as-it-is``, else drawn with replacement, with Poisson arrivals. One-GPU
nodes, rounds of 120 s, restarts of 20 s. ``--dynamic`` makes all but this share of jobs static;
``--forecast-noise A`` multiplies each job's forecast of remaining time by 1 + uniform(-A, A), the
same factor for all of its life.
"""

import gzip
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, final

import click
import numpy as np

from headway.core.control.events import Event
from headway.core.ids import JobId
from headway.core.metrics.meter import Meter
from headway.core.policy import Policy, Traits, make
from headway.core.predict.forecast import Forecast
from headway.core.predict.foresight import Foresight
from headway.core.types import Decision, JobView, Snapshot
from headway.sim.cluster import parse_cluster
from headway.sim.driver import Setup, fitted, opening, simulate
from headway.sim.egalitarian import references
from headway.traces.base import Workload
from headway.traces.sniff import read_profiles, read_workload

MODE, ARRIVAL = 7, 11  # columns of a trace
LEAST_FACTOR = 0.05
FIGURES = (
    "makespan_s",
    "avg_jct_s",
    "p99_jct_s",
    "worst_rho_static",
    "unfair_fraction_static",
    "worst_rho",
    "unfair_fraction",
    "utilisation",
)


@final
@dataclass(frozen=True)
class Misled:
    """A policy that plans by ``Foresight``, whose forecasts are off by a factor for each job."""

    inner: Policy[Any]
    noise: float
    seed: int

    @property
    def traits(self) -> Traits:
        """Those of the policy inside."""
        return self.inner.traits

    def start(self) -> Any:
        """Its memory, with a worse foresight."""
        return self._misled(self.inner.start())

    def decide(
        self, snapshot: Snapshot, memory: Any, rng: np.random.Generator
    ) -> tuple[Decision, Any]:
        """Its decision."""
        decision, after = self.inner.decide(snapshot, memory, rng)
        return decision, self._misled(after)

    def _misled(self, memory: Any) -> Any:
        wrong = Wrong(memory.foresight, self.noise, self.seed)
        return memory if isinstance(memory.foresight, Wrong) else replace(memory, foresight=wrong)


@final
@dataclass(frozen=True)
class Wrong:
    """A foresight whose forecasts are multiplied."""

    inner: Foresight
    noise: float
    seed: int

    @property
    def known(self) -> Any:
        """What jobs have shown is not touched."""
        return self.inner.known

    @property
    def step_s(self) -> Any:
        """Nor is what was measured."""
        return self.inner.step_s

    def updated(self, jobs: Sequence[JobView]) -> "Wrong":
        """With what these jobs report."""
        return replace(self, inner=self.inner.updated(jobs))

    def epochs_done(self, jobs: Sequence[JobView]) -> Any:
        """Nor how far each has come."""
        return self.inner.epochs_done(jobs)

    def forecast(self, jobs: Sequence[JobView], gpus: Sequence[int]) -> Forecast:
        """The right one, times the job's own factor."""
        right = self.inner.forecast(jobs, gpus)
        factors = np.array([self._factor(job.spec.job_id) for job in jobs])
        return replace(right, epoch_s=right.epoch_s * factors[:, None])

    def _factor(self, job_id: JobId) -> float:
        draw = np.random.default_rng([self.seed, *job_id.encode()]).uniform(-1.0, 1.0)
        return max(1.0 + self.noise * float(draw), LEAST_FACTOR)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Which trace to make."""

    data: Path
    trace: str
    table: str
    as_it_is: bool
    jobs: int
    gap_s: float
    dynamic: float


def rows(asked: Asked, seed: int) -> Iterator[str]:
    """Lines of a trace."""
    path = asked.data / "traces" / f"{asked.trace}.trace.gz"
    published = [
        line.split("\t") for line in gzip.decompress(path.read_bytes()).decode().splitlines()
    ]
    rng = np.random.default_rng(seed)
    chosen = published
    if not asked.as_it_is:
        arrivals = np.cumsum(rng.exponential(asked.gap_s, asked.jobs)).round()
        picks = rng.integers(0, len(published), asked.jobs)
        chosen = [
            [*published[pick][:ARRIVAL], f"{at:.0f}"]
            for pick, at in zip(picks.tolist(), arrivals.tolist(), strict=True)
        ]
    static = rng.permutation(len(chosen))[round(asked.dynamic * len(chosen)) :]
    still = set(static.tolist())
    for index, row in enumerate(chosen):
        mode = ["static"] if index in still else row[MODE : MODE + 1]
        yield "\t".join([*row[:MODE], *mode, *row[MODE + 1 :]])


def workload(asked: Asked, seed: int, gpus: int) -> Workload:
    """One trace, read as any other."""
    profiles = read_profiles(asked.data / f"{asked.table}_throughputs.json.gz")
    with TemporaryDirectory() as folder:
        path = Path(folder) / "drawn.trace"
        path.write_text("\n".join(rows(asked, seed)) + "\n", encoding="utf-8")
        return fitted(read_workload(path, profiles), parse_cluster(f"{gpus}x1"))


def measured(jobs: Workload, gpus: int, policy: Policy[Any]) -> dict[str, float]:
    """The figures of one run."""
    where = parse_cluster(f"{gpus}x1")
    setup = Setup(workload=jobs, cluster=where, round_s=120.0, restart_s=20.0)
    log: list[Event] = []
    simulate(setup, policy, opening(setup, "drawn", {}), references(jobs, where), log.append)
    found = asdict(Meter.of(log).summary())
    if found["finished"] != len(jobs.jobs):
        raise click.ClickException(f"{found['finished']} of {len(jobs.jobs)} jobs finished")
    return {name: float(found[name]) for name in FIGURES}


def settled(policy: str, settings: Sequence[str]) -> Policy[Any]:
    """A policy with those of the settings that are its own."""
    pairs = (one.partition("=") for one in settings)
    own = {key.partition(".")[2]: value for key, _, value in pairs if key.startswith(f"{policy}.")}
    return make(policy, own)


@click.command()
@click.option("--data", required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--policy", "policies", multiple=True, required=True)
@click.option("--set", "settings", multiple=True, metavar="POLICY.NAME=VALUE")
@click.option("--trace", default="900jobs_durations1000", show_default=True)
@click.option("--table", default="wisr", show_default=True)
@click.option("--as-it-is", is_flag=True, help="The rows of the trace in their order.")
@click.option("--jobs", default=120, show_default=True, type=click.IntRange(1))
@click.option("--gap-s", default=40.0, show_default=True, help="Mean time between arrivals.")
@click.option("--gpus", default=32, show_default=True, type=click.IntRange(1))
@click.option("--dynamic", default=1.0, show_default=True, type=click.FloatRange(0.0, 1.0))
@click.option("--forecast-noise", default=0.0, show_default=True, type=click.FloatRange(0.0, 1.0))
@click.option("--seeds", default=5, show_default=True, type=click.IntRange(1))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def main(
    policies: tuple[str, ...],
    settings: tuple[str, ...],
    gpus: int,
    forecast_noise: float,
    seeds: int,
    as_json: bool,
    **options: Any,
) -> None:
    """Run policies on traces of several seeds."""
    asked = Asked(**options)
    answer: dict[str, dict[str, list[float]]] = {}
    for seed in range(1, seeds + 1):
        jobs = workload(asked, seed, gpus)
        for name in policies:
            policy = settled(name, settings)
            if forecast_noise > 0:
                policy = Misled(policy, forecast_noise, seed)
            found = measured(jobs, gpus, policy)
            figures = answer.setdefault(name, {one: [] for one in FIGURES})
            for figure, value in found.items():
                figures[figure].append(value)
    if as_json:
        click.echo(json.dumps(answer))
        return
    for name, figures in answer.items():
        for figure, values in figures.items():
            spread = f"{np.mean(values):10.4g} ± {np.std(values):.3g}"
            click.echo(f"{name:14} {figure:24} {spread}")


if __name__ == "__main__":
    main()
