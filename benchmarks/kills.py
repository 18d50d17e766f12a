"""What does ``kill -9`` of a worker cost? Real workers of real jobs, killed at random moments.

``python benchmarks/kills.py [--kills N] [--json]``: a small network under the real agent, on 1 to 4
workers, a checkpoint every half second. Killed is any worker at any time: while it trains, while
the job changes its size (newcomers too), while worker 0 writes a checkpoint. A job whose agent says
that it has failed is started again, as its owner would.

A kill is right if training goes on from a checkpoint no older than the last one that was there when
the worker was killed, so that no more is read twice than was read since; and if it is reported: by
the failure of the job, which names the signal, or, where the job itself goes on and reads samples
again, by the decision log. Of each job, at its end: without what was taken back each index was read
once an epoch, and the decision log tells of each way back.
"""

import json
import os
import random
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
import psutil
import torch

from headway.core.types import Launch
from headway.protocol.jobdir import JobDir
from headway.protocol.messages import AgentPhase, AgentReport
from headway.testing.agents import AgentServer, OneJob, an_agent
from headway.testing.engines import a_job

PATIENCE_S, SAMPLES, KILLS_A_JOB = 120.0, 1009, 10
SCRIPT = f"""
import json, os, sys
import torch
from torch import nn
import headway.agent as headway

torch.manual_seed(0)
inputs = torch.randn({SAMPLES}, 8)
data = torch.utils.data.TensorDataset(torch.arange({SAMPLES}), inputs, inputs.sum(1, keepdim=True))
net = nn.Sequential(nn.Linear(8, 256), nn.Tanh(), nn.Linear(256, 256), nn.Tanh(), nn.Linear(256, 1))
record = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
fresh = os.environ.get("HEADWAY_JOINS") != "1"

def write(**line):
    os.write(record, json.dumps(line).encode() + b"\\n")

with headway.attach(checkpoint_every_s=0.5) as job:
    model = job.model(net)
    optimizer = job.optimizer(torch.optim.Adam(net.parameters(), lr=1e-3), lr_rule="hold")
    loader = job.loader(data, batch_size=64)
    for epoch in job.epochs(1_000_000):
        if fresh and job.worker == 0:
            cursor = job._loop.cursor
            write(begins=[cursor.epoch, cursor.position, cursor.samples])
        fresh = False
        for indices, given, wanted in loader:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(given), wanted)
            loss.backward()
            optimizer.step()
            samples = job._loop.cursor.samples
            job.step(loss=loss)
            write(epoch=epoch, samples=samples, indices=indices.tolist())
"""


@dataclass
class Kill:
    """One worker, and what came of it."""

    kind: str
    workers: int
    safe_samples: int  # of the last checkpoint before it
    reached_samples: int  # that had been read
    message: str = ""  # of the failure; empty: the job went on
    resumed_samples: int | None = None
    reported: bool = True

    @property
    def right(self) -> bool:
        resumed = self.reached_samples if self.resumed_samples is None else self.resumed_samples
        return self.reported and resumed >= self.safe_samples


class StuckError(Exception):
    """A job that neither goes on nor fails."""


@dataclass
class Run:
    """One job and the kills of its workers."""

    folder: Path
    rng: random.Random
    service: OneJob = field(default_factory=OneJob)
    kills: list[Kill] = field(default_factory=list)

    def __post_init__(self) -> None:
        (self.folder / "train.py").write_text(SCRIPT)
        self.where = JobDir(self.folder / "job")
        words = ("python", "train.py", str(self.record))
        self.where.write_job(a_job("a", Launch(command=words, workdir=str(self.folder))))
        self.server = AgentServer(self.folder)
        self.server.start(self.service)

    @property
    def record(self) -> Path:
        return self.folder / "record"

    @property
    def checkpoints(self) -> Path:
        return self.where.path / "checkpoints"

    def lines(self) -> list[dict[str, Any]]:
        """What workers wrote, whole lines."""
        if not self.record.exists():
            return []
        return [json.loads(line) for line in self.record.read_bytes().splitlines()]

    def safe(self) -> dict[str, int]:
        """Where the newest checkpoint is; else the start."""
        for path in sorted(self.checkpoints.glob("*.pt"), reverse=True):
            with suppress(OSError, RuntimeError):  # it was forgotten meanwhile
                cursor: dict[str, int] = torch.load(path, weights_only=True)["cursor"]
                return cursor
        return {"samples": 0, "position": 0, "epoch": 0}

    def last(self) -> AgentReport:
        return self.service.heard[-1]

    def runs(self) -> bool:
        """As it should, or is at its end."""
        message, wanted = self.last(), self.service.directive.generation
        running = (message.phase, message.generation) == (AgentPhase.RUNNING, wanted)
        return running or message.phase is AgentPhase.FAILED

    def until(self, enough: Callable[[], object], what: str) -> None:
        """Wait for it."""
        until_s = time.monotonic() + PATIENCE_S
        while not enough():
            if time.monotonic() > until_s:
                log = self.where.log_file.read_text(errors="replace")
                raise StuckError(f"{what}: {self.service.heard[-3:]}\n{log[-3000:]}")
            time.sleep(0.005)

    def lives(self, kills: int) -> None:
        """One agent after the other, until so many workers were killed and the job has stopped."""
        while len(self.kills) < kills:
            with self._life():
                while len(self.kills) < kills and self.last().phase is not AgentPhase.FAILED:
                    self._one()
        with self._life():
            self.service.want(0)
            self.until(lambda: self.last().phase is AgentPhase.IDLE, "a job that was to stop")

    def _life(self) -> ExitStack:
        with ExitStack() as stack:
            self.service.want(self.rng.randint(1, 4))
            heard = len(self.service.heard)
            env = {"OMP_NUM_THREADS": "1"}
            agent = stack.enter_context(an_agent(self.where, self.server, env))
            self.pid = agent.pid
            self.until(lambda: len(self.service.heard) > heard and self.runs(), "a job that starts")
            return stack.pop_all()

    def _one(self) -> None:
        """One kill, and whatever follows from it."""
        kind = self.rng.choice(("training", "resize", "checkpoint"))
        time.sleep(self.rng.uniform(0.0, 1.0))
        workers = len(self.service.directive.slots)
        if kind == "resize":
            self.service.want(self.rng.choice([size for size in (1, 2, 3, 4) if size != workers]))
            time.sleep(self.rng.uniform(0.3, 1.5))  # the agent asks every half second
        elif kind == "checkpoint":
            self.until(lambda: any(self.checkpoints.glob("*.tmp")), "a checkpoint")
        children = psutil.Process(self.pid).children()
        if not children:
            return  # between two generations
        one = self.rng.choice(children)
        safe, before, noted = self.safe()["samples"], len(self.lines()), len(self.decisions())
        with suppress(ProcessLookupError):
            os.kill(one.pid, signal.SIGKILL)
        kill = Kill(kind, len(children), safe, 0)
        heard = len(self.service.heard)
        time.sleep(0.7)  # it takes the agent less to notice
        self.until(lambda: len(self.service.heard) > heard and self.runs(), "what follows a kill")
        self.kills.append(kill)
        self._follow(kill, before, noted)

    def _follow(self, kill: Kill, before: int, noted: int) -> None:
        lines, failed = self.lines(), self.last().phase is AgentPhase.FAILED
        kill.reached_samples = reached(lines[:before])
        begun = [line["begins"][2] for line in lines[before:] if "begins" in line]
        kill.resumed_samples = self.safe()["samples"] if failed else min(begun, default=None)
        if failed:
            kill.message = self.last().message
            kill.reported = "signal 9" in kill.message
        elif kill.resumed_samples is not None and kill.resumed_samples < kill.reached_samples:
            told = [one["code"] for one in self.decisions()[noted:]]
            kill.reported = "BackToCheckpoint" in told or kill.resumed_samples == 0

    def decisions(self) -> list[dict[str, Any]]:
        path = self.checkpoints / "decisions.jsonl"
        whole = path.read_bytes().splitlines() if path.exists() else []
        return [json.loads(line) for line in whole]

    def wrong(self) -> list[str]:
        """What is not read once an epoch, without what was taken back."""
        cursor, read, lines = self.safe(), Counter[tuple[int, int]](), self.lines()
        for line in surviving(lines):
            read.update((line["epoch"], index) for index in line["indices"])
        epochs = Counter(epoch for epoch, _ in read)
        whole = dict.fromkeys(range(cursor["epoch"]), SAMPLES)
        expected = whole | ({cursor["epoch"]: cursor["position"]} if cursor["position"] else {})
        found = [f"{where} read {times} times" for where, times in read.items() if times != 1]
        if epochs != expected:
            found.append(f"read {dict(epochs)}, counted {expected}")
        back = sum("begins" in line and taken_back(lines, at) for at, line in enumerate(lines))
        told = sum("read again" in one["why"] for one in self.decisions())
        return found if told >= back else [*found, f"{told} of {back} ways back are told"]


def reached(lines: list[dict[str, Any]]) -> int:
    """Samples that had been read when the last of these was written."""
    steps = Counter[int]()
    for line in surviving(lines):
        steps[line["samples"]] += len(line["indices"])
    return max((start + count for start, count in steps.items()), default=0)


def taken_back(lines: list[dict[str, Any]], at: int) -> bool:
    """Whether what begins here goes back behind what was read."""
    return reached(lines[:at]) > int(lines[at]["begins"][2])


def surviving(lines: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Without what was taken back when training went on from a checkpoint."""
    limit = float("inf")
    found: list[dict[str, Any]] = []
    for line in reversed(lines):
        if "begins" in line:
            limit = min(limit, line["begins"][2])
        elif line["samples"] < limit:
            found.append(line)
    yield from reversed(found)


def summary(runs: list[Run], wrong: list[str]) -> dict[str, Any]:
    kills = [kill for run in runs for kill in run.kills]
    lost = [
        kill.reached_samples - kill.resumed_samples
        for kill in kills
        if kill.resumed_samples is not None and kill.reached_samples > kill.resumed_samples
    ]
    return {
        "kills": len(kills),
        "right": sum(kill.right for kill in kills),
        "jobs": len(runs),
        "wrong": len(wrong),
        "kinds": Counter(kill.kind for kill in kills),
        "workers": Counter(kill.workers for kill in kills),
        "failed": sum(bool(kill.message) for kill in kills),
        "repeated_something": len(lost),
        "most_repeated_samples": max(lost, default=0),
        "amiss": [*wrong[:9], *[str(kill) for kill in kills if not kill.right][:9]],
    }


@click.command()
@click.option("--kills", default=20, show_default=True, type=click.IntRange(1))
@click.option("--seed", default=0, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def main(kills: int, seed: int, as_json: bool) -> None:
    """Kill workers, see what becomes of their jobs."""
    runs: list[Run] = []
    wrong, left = list[str](), kills
    while left:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
            run = Run(Path(name), random.Random(f"{seed} {len(runs)}"))
            run.lives(min(left, KILLS_A_JOB))
            run.server.stop()
            found = run.wrong()
        runs, wrong, left = [*runs, run], [*wrong, *found], left - len(run.kills)
        click.echo(f"{kills - left} of {kills}; {json.dumps(summary([run], found))}", err=True)
    answer = summary(runs, wrong)
    click.echo(json.dumps(answer) if as_json else "\n".join(f"{k}: {v}" for k, v in answer.items()))


if __name__ == "__main__":
    main()
