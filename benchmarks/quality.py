"""Does training keep its quality while its size changes? One real training, start to end.

``python -m benchmarks.quality --task NAME --way WAY [--seed N] [--json]``: the agent and its worker
processes, told by a service of a few lines. Ways: "fixed" (one worker, M0), "elastic" (a random
sequence of 1 to 4 workers, the batch up to so many M0 as the goodput model likes), "linear" (the
largest batch from the start, with the rate scaled linearly), "large" (the largest batch by the
job's own rule). ``--most``: the largest batch, in M0.

A metric of a few hundred test samples goes up and down by a point from one epoch to the next, so
the first epoch above the target is the luckiest one, and comes the earlier the more there are near
it. The examples to the target are those after which the metric is above it and stays there but for
that: where the monotone curve that fits all epochs best crosses it (isotonic regression; Barlow et
al. 1972). There is nothing in it to choose.
"""

import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

import click
import numpy as np
from scipy.optimize import isotonic_regression

from headway.core.types import (
    BatchContract,
    BatchMode,
    ChangeCode,
    JobReport,
    JobSpec,
    Launch,
    ScheduledBatch,
)
from headway.protocol.environment import JOB_FILE
from headway.protocol.jobdir import JobDir
from headway.protocol.messages import AgentPhase, AgentReport, Directive
from headway.testing.agents import AgentServer
from headway.testing.engines import a_job

ROOT = Path(__file__).parents[1]
PATIENCE_S = 3600.0
REPORT_S = 0.1
RESIZES = 6  # in an elastic run
MOST_WORKERS = 4
ROUNDING = 1e-6  # of a metric that was printed
FALLS = {ChangeCode.NOT_A_NUMBER, ChangeCode.LOSS_LEFT}
WAYS = ("fixed", "elastic", "linear", "large")


@dataclass(frozen=True)
class Task:
    """A training script and what DATA calls its base run."""

    words: tuple[str, ...]
    initial: int  # M0
    epochs: int
    samples: int  # that it trains on
    target: float
    most: int = 32  # largest batch, in M0
    rises: bool = True  # the metric


TASKS = {
    "digits-mlp": Task(("-m", "headway.agent.demos.digits_mlp"), 32, 30, 1437, 0.965),
    "digits-cnn": Task(("-m", "headway.agent.demos.digits_cnn"), 32, 30, 1437, 0.975),
    "mnist5k-cnn": Task(("benchmarks/mnist5k.py",), 32, 12, 4000, 0.955),
    "charlm": Task(("-m", "headway.agent.demos.charlm"), 16, 6, 6542, 1.75, 4, rises=False),
    "ml-100k": Task(("benchmarks/ml100k.py",), 256, 15, 80_000, 0.945, 64, rises=False),
}


@dataclass
class Service:
    """Tells the agent how many workers to run, and keeps what it reports."""

    resizes: list[tuple[float, int]]  # at which share of the work, how many workers
    work: float  # examples to do
    adapts: bool
    generation: int = 1
    workers: int = 1
    reports: list[JobReport] = field(default_factory=list)
    batch_sizes: set[int] = field(default_factory=set)
    falls: int = 0  # of the guard
    held: list[int] = field(default_factory=list)  # workers, allocation by allocation
    ended: AgentReport | None = None

    def hear(self, message: AgentReport) -> Directive:
        if message.phase in {AgentPhase.FINISHED, AgentPhase.FAILED}:
            self.ended = message
            return self._directive(cancel=True)
        self.batch_sizes |= {change.new_batch_size for change in message.changes}
        self.falls += sum(change.code in FALLS for change in message.changes)
        if message.report is not None:
            self.reports.append(message.report)
            self._resize(message.report.progress_examples / self.work)
        return self._directive()

    def _resize(self, share: float) -> None:
        while self.resizes and share >= self.resizes[0][0]:
            workers = self.resizes.pop(0)[1]
            if workers != self.workers:
                self.generation, self.workers = self.generation + 1, workers
                self.held.append(workers)

    def _directive(self, *, cancel: bool = False) -> Directive:
        return Directive(
            generation=self.generation,
            slots=tuple(range(self.workers)),
            adapts=self.adapts,
            cancel=cancel,
            report_every_s=REPORT_S,
        )


def contract(task: Task, way: str, most: int) -> BatchContract:
    """What the owner allows."""
    initial, largest = task.initial, task.initial * most
    modes = {"fixed": BatchMode.FIXED, "linear": BatchMode.SCHEDULE}
    return BatchContract(
        initial_batch_size=initial,
        max_batch_size=initial if way == "fixed" else largest,
        max_batch_per_gpu=largest,
        mode=modes.get(way, BatchMode.ADAPTIVE),
        schedule=(ScheduledBatch(0, largest),) if way == "linear" else (),
    )


def job_of(task: Task, way: str, seed: int, most: int) -> JobSpec:
    """The job as it would be submitted."""
    words = ["python", *task.words, f"--epochs={task.epochs}", f"--seed={seed}"]
    words += [f"--target={task.target}", "--each-epoch"]
    words += ["--lr-rule=linear"] if way == "linear" else []
    launch = Launch(command=tuple(words), workdir=str(ROOT))
    requested = task.initial * (most if way == "large" else 1)
    return replace(
        a_job("quality", launch, MOST_WORKERS),
        batch=contract(task, way, most),
        requested_batch_size=requested,
    )


def plan(way: str, seed: int) -> list[tuple[float, int]]:
    """Random sizes at random times; the first is how the job starts."""
    rng = random.Random(seed)
    if way != "elastic":
        return [(0.0, 1)]
    shares = sorted(rng.uniform(0.02, 0.95) for _ in range(RESIZES))
    return [(share, rng.randint(1, MOST_WORKERS)) for share in (0.0, *shares)]


def trained(task: Task, way: str, seed: int, most: int, folder: Path) -> tuple[Service, str]:
    """The training, and what its script printed."""
    (_, workers), *resizes = plan(way, seed)
    work = float(task.epochs * task.samples)
    service = Service(resizes, work, way == "elastic", workers=workers, held=[workers])
    server, where = AgentServer(folder), JobDir(folder / "job")
    where.path.mkdir()
    where.write_job(job_of(task, way, seed, most))
    server.start(service)  # type: ignore[arg-type]
    told = {JOB_FILE: str(where.job_file), "OMP_NUM_THREADS": "1"}
    with where.log_file.open("ab") as log:
        agent = subprocess.Popen(
            [sys.executable, "-m", "headway.agent", "--grace-s=60"],
            env={**os.environ, **server.environment, **told},
            stdout=log,
            stderr=log,
        )
        try:
            agent.wait(PATIENCE_S)
        finally:
            agent.kill()
            agent.wait()
            server.stop()
    return service, where.log_file.read_text()


def answer(task: Task, service: Service, said: str) -> dict[str, object]:
    """What is asked of one training."""
    found = re.findall(r": (\S+), target", said)
    if service.ended is None or service.ended.phase is AgentPhase.FAILED or not found:
        why = service.ended.message if service.ended else "the agent ended without a word"
        raise click.ClickException(why or said.strip().splitlines()[-1])
    curve = {int(at): float(one) for at, one in re.findall(r"epoch (\d+): (\S+)\n", said)}
    needed = examples_to_target(task, curve)
    until = [one for one in service.reports if needed is None or (one.samples or 0) <= needed]
    scales = epoch_means(until)
    last = service.reports[-1] if service.reports else None
    return {
        "metric": float(found[-1]),
        "workers": service.held,
        "batch_sizes": sorted(service.batch_sizes | {task.initial}),
        "examples_to_target": needed,
        "curve": [metric for _, metric in sorted(curve.items())],
        "noise_scale": statistics.median(scales) if scales else None,
        "largest_noise_scale": max((r.noise_scale or 0.0 for r in service.reports), default=None),
        "falls": service.falls,
        "examples": last.samples if last else None,
        "largest_batch": max(service.batch_sizes, default=task.initial),
    }


def epoch_means(reports: list[JobReport]) -> list[float]:
    """Of the noise scale; reports come by the clock, and a busy machine must not decide."""
    by_epoch: dict[int | None, list[float]] = {}
    for one in reports:
        if one.noise_scale is not None:
            by_epoch.setdefault(one.epoch, []).append(one.noise_scale)
    return [statistics.mean(scales) for scales in by_epoch.values()]


def examples_to_target(task: Task, curve: dict[int, float]) -> int | None:
    """After which the monotone curve that fits the metric of all epochs best is there."""
    if not curve:
        return None
    epochs, sign = sorted(curve), 1.0 if task.rises else -1.0
    fitted = isotonic_regression(sign * np.array([curve[epoch] for epoch in epochs])).x
    there = np.flatnonzero(fitted >= sign * task.target - ROUNDING)
    return (epochs[there[0]] + 1) * task.samples if there.size else None


@click.command()
@click.option("--task", "name", required=True, type=click.Choice(list(TASKS)))
@click.option("--way", required=True, type=click.Choice(WAYS))
@click.option("--seed", default=0, show_default=True)
@click.option("--most", default=0, help="Largest batch in M0. Default: 32; charlm 4, ml-100k 64.")
@click.option("--ratings", type=click.Path(exists=True), help="ml-100k: where the wheel is.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def main(name: str, way: str, seed: int, most: int, ratings: str | None, as_json: bool) -> None:
    """Train once."""
    task, began_s = TASKS[name], time.perf_counter()
    if ratings is not None:
        task = replace(task, words=(*task.words, f"--ratings={Path(ratings).resolve()}"))
    with tempfile.TemporaryDirectory() as folder:
        service, said = trained(task, way, seed, most or task.most, Path(folder))
    found = answer(task, service, said) | {"took_s": time.perf_counter() - began_s}
    if as_json:
        click.echo(json.dumps(found))
        return
    click.echo(f"{name} {way} seed {seed}: {found}")


if __name__ == "__main__":
    main()
