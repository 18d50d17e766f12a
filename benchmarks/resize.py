"""What a resize costs: inside living workers, by warm fork from a checkpoint, by a cold restart.

``python -m benchmarks.resize [--repeats N] [--json]``: real processes of this machine, gloo, 50 MB
of state (AdamW on 4.2 million parameters), 1 to 4, 4 to 2 and 2 to 4 workers, all ways in one run.

``stall``: how long training stood still, from the last step of the old workers to the first of the
new ones. ``order``: from the order, when the newcomers of a switch are ready, to that first step.
"""

import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import click

from headway.core.types import Launch
from headway.protocol.environment import SWITCH, WARM
from headway.protocol.jobdir import JobDir
from headway.protocol.messages import AgentPhase, AgentReport
from headway.testing.agents import AgentServer, OneJob, an_agent
from headway.testing.engines import a_job

RESIZES = ((1, 4), (4, 2), (2, 4))
PATIENCE_S = 180.0
SCRIPT = """
import json, sys, time
import torch
from torch import nn
import headway.agent as headway

torch.manual_seed(0)
inputs = torch.randn(4096, 64)
data = torch.utils.data.TensorDataset(inputs, inputs.sum(1, keepdim=True))
sizes = (64, 1024, 1024, 1024, 1024, 960, 1)
net = nn.Sequential(*[nn.Sequential(nn.Linear(*pair), nn.Tanh()) for pair in zip(sizes, sizes[1:])])
with headway.attach(checkpoint_every_s=1e9) as job:
    model = job.model(net)
    optimizer = job.optimizer(torch.optim.AdamW(net.parameters(), lr=1e-4), lr_rule="hold")
    steps = open(sys.argv[1], "a", buffering=1)
    loader = job.loader(data, batch_size=64)
    for epoch in job.epochs(100_000):
        for given, wanted in loader:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(given), wanted)
            loss.backward()
            optimizer.step()
            job.step(loss=loss)
            if job.worker == 0:
                print(json.dumps([time.time(), job.workers]), file=steps)
"""


@dataclass(frozen=True)
class Way:
    """How the workers of the next size come to be."""

    name: str
    env: tuple[tuple[str, str], ...]
    cold: bool = False  # an interpreter of its own for each worker


WAYS = (
    Way("in process", ()),
    Way("warm fork", ((SWITCH, "0"),)),
    Way("cold restart", ((SWITCH, "0"), (WARM, "0")), cold=True),
)


@dataclass(frozen=True)
class Resize:
    """One resize as it was measured."""

    way: str
    old: int
    new: int
    stall_s: float
    order_s: float
    in_process: bool


def wait(service: OneJob, workers: int) -> AgentReport:
    """Returns once so many workers have made their first step."""
    generation = service.want(workers)
    until_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < until_s:
        for message in tuple(service.heard):
            if (message.generation, message.phase) == (generation, AgentPhase.RUNNING):
                return message
            if message.phase is AgentPhase.FAILED:
                raise click.ClickException(f"the job failed: {message.message}")
        time.sleep(0.02)
    raise click.ClickException(f"waited for {workers} workers in vain")


@contextmanager
def running(way: Way, folder: Path) -> Iterator[OneJob]:
    """An agent and its service."""
    (folder / "train.py").write_text(SCRIPT)
    interpreter = folder / "python3"
    interpreter.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    interpreter.chmod(0o755)
    python = str(interpreter) if way.cold else "python"
    where = JobDir(folder / "job")
    launch = Launch(command=(python, "train.py", str(folder / "steps")), workdir=str(folder))
    where.write_job(a_job("a", launch))
    service, server = OneJob(), AgentServer(folder)
    server.start(service)
    try:
        with an_agent(where, server, {"OMP_NUM_THREADS": "1", **dict(way.env)}):
            yield service
    except click.ClickException:
        click.echo(where.log_file.read_text(), err=True)
        raise
    finally:
        server.stop()


def resize(way: Way, service: OneJob, folder: Path, old: int, new: int) -> Resize:
    """The last change of size in the list of steps, and when it was ordered."""
    message = wait(service, new)
    ordered_s = (folder / "job" / "flag").stat().st_mtime  # right where it is written once
    steps = [json.loads(line) for line in (folder / "steps").read_text().splitlines()]
    first = max(at for at in range(1, len(steps)) if steps[at][1] != steps[at - 1][1])
    in_process = message.in_process
    since_order_s = steps[first][0] - ordered_s if in_process else message.stall_s or 0.0
    stall_s = steps[first][0] - steps[first - 1][0]
    return Resize(way.name, old, new, stall_s, since_order_s, in_process)


def measured(way: Way, repeats: int, settle_s: float) -> list[Resize]:
    """The resizes of one job, one after the other."""
    found: list[Resize] = []
    with tempfile.TemporaryDirectory() as name, running(way, Path(name)) as service:
        for _ in range(repeats):
            wait(service, RESIZES[0][0])
            for old, new in RESIZES:
                time.sleep(settle_s)
                found.append(resize(way, service, Path(name), old, new))
    return found


def table(found: list[Resize]) -> Iterator[str]:
    """Medians, and how many times longer than in process."""
    yield f"{'':12}  {'resize':8}  {'stall_s':>8}  {'order_s':>8}  {'times':>6}"
    for way in WAYS:
        for old, new in RESIZES:
            stall_s = median(found, way.name, old, new, "stall_s")
            order_s = median(found, way.name, old, new, "order_s")
            times = order_s / median(found, WAYS[0].name, old, new, "order_s")
            yield f"{way.name:12}  {old} to {new:<3}  {stall_s:8.2f}  {order_s:8.2f}  {times:6.1f}"


def median(found: list[Resize], way: str, old: int, new: int, what: str) -> float:
    return statistics.median(
        getattr(one, what) for one in found if (one.way, one.old, one.new) == (way, old, new)
    )


@click.command()
@click.option("--repeats", default=5, show_default=True, help="Of the three resizes, each way.")
@click.option("--settle-s", default=2.0, show_default=True, help="Of training between resizes.")
@click.option("--json", "as_json", is_flag=True, help="Every resize as it was measured.")
def main(repeats: int, settle_s: float, as_json: bool) -> None:
    """What a resize costs, three ways."""
    before = os.getloadavg()[0]
    found = [one for way in WAYS for one in measured(way, repeats, settle_s)]
    load = {"load_before": before, "load_after": os.getloadavg()[0], "cores": os.cpu_count()}
    if as_json:
        click.echo(json.dumps({**load, "resizes": [asdict(one) for one in found]}))
        return
    for line in table(found):
        click.echo(line)
    switched = sum(one.in_process for one in found if one.way == WAYS[0].name)
    click.echo(f"{switched} of {repeats * len(RESIZES)} switched in process; {load}")


if __name__ == "__main__":
    main()
