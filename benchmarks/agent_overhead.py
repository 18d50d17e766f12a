"""What the agent costs: the same steps with it and without, in turns, in CPU seconds.

``python -m benchmarks.agent_overhead [--task NAME ...] [--seconds S] [--json]``: for each task the
mean over blocks of steps of log(with / without), the outermost tenth left away, as a share of the
step, and how far it may be off; the same from the fastest tenth of either side, for two sides
without the agent (what the machine alone makes of it), and for the first steps of a job, where more
is measured. All sides train one network by one optimizer on one data set, so that none has the
better memory. "fixed" compares consecutive steps, "adaptive" makes some steps in two passes; the
batch stays at M0. The mean of the plain ratios would be too large by the variance of what they are
divided by: a quarter of a percent, where blocks of one side differ by a twentieth.

The job's clock is the CPU time of its own side: its reports come once in a second of its own, as
on a machine that has nothing else to do.
"""

import ctypes
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import cycle, permutations
from pathlib import Path
from typing import Any

import click
import numpy as np
import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.utils.data import DataLoader, TensorDataset

import headway.agent as headway
from headway.agent.demos import charlm, digits_cnn, digits_mlp, tabular
from headway.agent.job import Job
from headway.core.types import BatchContract, BatchMode, FloatArray
from headway.protocol import environment
from headway.protocol.messages import WorkerOrders, encode

FIRST_STEPS = 128
SETTLING_STEPS = 512
BLOCK_S = 0.1
TRIMMED = 0.05  # of the blocks, on either side
LEAST_STEPS = 32  # of a block, so that steps that cost more are in many of them
AGENT = 1  # which side
MODES = {"fixed": BatchMode.FIXED, "adaptive": BatchMode.ADAPTIVE}
Loss = Callable[[nn.Module, list[Tensor]], Tensor]


@dataclass(frozen=True)
class Task:
    """A training to time."""

    network: Callable[[], nn.Module]
    optimizer: Callable[[nn.Module], Optimizer]
    data: Callable[[], TensorDataset]
    loss: Loss
    batch_size: int


def classified(shape: tuple[int, ...], classes: int) -> TensorDataset:
    """Random samples; only their shape matters here."""
    rng = torch.Generator().manual_seed(0)
    inputs = torch.randn(1440, *shape, generator=rng)
    return TensorDataset(inputs, torch.randint(0, classes, (1440,), generator=rng))


def perceptron() -> nn.Sequential:
    """784-1024-512-10: 1.3 million parameters."""
    return nn.Sequential(
        nn.Linear(784, 1024), nn.ReLU(), nn.Linear(1024, 512), nn.ReLU(), nn.Linear(512, 10)
    )


def cross_entropy(model: nn.Module, batch: list[Tensor]) -> Tensor:
    return nn.functional.cross_entropy(model(batch[0]), batch[1])


def sgd(model: nn.Module) -> Optimizer:
    return torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)


def adam(model: nn.Module) -> Optimizer:
    return torch.optim.Adam(model.parameters(), lr=1e-4)


def characters() -> int:
    return charlm.windows()[2]


TASKS = {
    "digits-mlp": Task(digits_mlp.network, sgd, lambda: classified((64,), 10), cross_entropy, 32),
    "tabular": Task(tabular.network, sgd, lambda: classified((30,), 2), cross_entropy, 32),
    "digits-cnn": Task(
        digits_cnn.network, sgd, lambda: classified((1, 8, 8), 10), cross_entropy, 32
    ),
    "charlm": Task(
        lambda: charlm.CharTransformer(characters()),
        adam,
        lambda: charlm.windows()[0],
        lambda model, batch: charlm.loss_of(model, batch[0]),
        16,
    ),
    "mlp-1.3m-sgd": Task(perceptron, sgd, lambda: classified((784,), 10), cross_entropy, 32),
    "mlp-1.3m-adam": Task(perceptron, adam, lambda: classified((784,), 10), cross_entropy, 32),
}


def attached(mode: BatchMode, batch_size: int, folder: Path) -> Job:
    """A job as a worker under the scheduler has it; its reports go nowhere."""
    contract = BatchContract(
        initial_batch_size=batch_size,
        max_batch_size=batch_size,
        max_batch_per_gpu=batch_size,
        mode=mode,
    )
    orders = WorkerOrders(
        job_id="bench",
        generation=1,
        job_dir=str(folder),
        batch=contract,
        requested_batch_size=batch_size,
        adapts=mode is BatchMode.ADAPTIVE,
    )
    path, flag = folder / "orders.json", folder / "flag"
    path.write_bytes(encode(orders))
    flag.write_bytes((1).to_bytes(8, "little", signed=True))
    news = os.open(os.devnull, os.O_WRONLY)
    told = {environment.ORDERS: path, environment.FLAG: flag, environment.NEWS_FD: news}
    os.environ.update({name: str(value) for name, value in told.items()})
    try:
        return headway.attach(checkpoint_every_s=1e9)
    finally:
        for name in told:
            del os.environ[name]


def steps(task: Task, job: Job, net: nn.Module, inner: Optimizer, data: Any) -> Iterator[None]:
    """The usual loop; yields after each step."""
    model, optimizer = job.model(net), job.optimizer(inner, lr_rule="hold")
    loader: Any = job.loader(DataLoader(data, batch_size=task.batch_size, shuffle=True))
    while True:
        for _ in job.epochs(1 << 20):
            for batch in loader:
                optimizer.zero_grad()
                loss = task.loss(model, batch)
                loss.backward()
                optimizer.step()
                job.step(loss=loss)
                if job.last_pass:
                    yield


def keep_memory() -> None:
    """Have the C library give nothing back, or page faults of either side decide the outcome."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    for option in (-1, -3) if mallopt else ():  # M_TRIM_THRESHOLD, M_MMAP_THRESHOLD of glibc
        mallopt(option, 1 << 30)


class Sides:
    """Without the agent, with it, and without it once more; CPU seconds of each."""

    def __init__(self, task: Task, mode: BatchMode, folder: Path) -> None:
        self._own_s, self._began_s, self._running = 0.0, 0.0, False
        net = task.network()
        shared = net, task.optimizer(net), task.data()
        time.perf_counter = self._clock  # type: ignore[assignment]
        jobs = (headway.attach(), attached(mode, task.batch_size, folder), headway.attach())
        self._sides = [steps(task, job, *shared) for job in jobs]

    def _clock(self) -> float:
        """What the agent takes for the time."""
        return self._own_s + (time.process_time() - self._began_s if self._running else 0.0)

    def cpu_s(self, side: int, count: int) -> float:
        """So many steps of one side."""
        running = self._sides[side]
        self._running, self._began_s = side == AGENT, time.process_time()
        for _ in range(count):
            next(running)
        took_s = time.process_time() - self._began_s
        self._own_s += took_s if self._running else 0.0
        self._running = False
        return took_s


def trimmed(shares: FloatArray) -> tuple[float, float]:
    """The mean without the outermost tenth, and its standard error.

    No median, which would see nothing of one dear step in a hundred; no plain mean, in which a
    block that the machine has disturbed outweighs all others.
    """
    cut = round(len(shares) * TRIMMED)
    inner = np.sort(shares)
    clipped = np.clip(inner, inner[cut], inner[len(inner) - 1 - cut])  # as Tukey has it
    error = float(np.std(clipped)) / len(shares) ** 0.5 / (1 - 2 * TRIMMED)
    return float(np.mean(inner[cut : len(inner) - cut])), error


def overhead(task: Task, mode: BatchMode, seconds: float) -> dict[str, float]:
    """Shares of the step's CPU time."""
    with tempfile.TemporaryDirectory() as folder:
        sides = Sides(task, mode, Path(folder))
        for side in range(3):
            sides.cpu_s(side, 4)  # imports, buffers
        first = [sides.cpu_s(side, FIRST_STEPS) for side in (0, AGENT)]
        sides.cpu_s(AGENT, SETTLING_STEPS)  # until it is settled how often to measure
        count = max(int(BLOCK_S / (sides.cpu_s(0, 8) / 8)), LEAST_STEPS)
        took: tuple[list[float], ...] = ([], [], [])
        until_s = time.monotonic() + seconds
        for turn in cycle(permutations(range(3))):
            if time.monotonic() > until_s:
                break
            for side in turn:
                took[side].append(sides.cpu_s(side, count))
    plain, agent, again = (np.array(one) for one in took)
    tenth = [float(np.quantile(one, 0.1)) for one in (plain, agent)]
    share, error = trimmed(np.log(agent) - (np.log(plain) + np.log(again)) / 2)
    return {
        "step_ms": 1e3 * float(np.median(plain)) / count,
        "overhead": float(np.expm1(share)),
        "overhead_best": tenth[1] / tenth[0] - 1,
        "error": error,
        "nothing": float(np.expm1(trimmed(np.log(again / plain))[0])),
        "overhead_first_steps": first[1] / first[0] - 1,
        "blocks": float(len(plain)),
    }


@click.command()
@click.option(
    "--task", "names", multiple=True, type=click.Choice(list(TASKS)), help="Default: all."
)
@click.option(
    "--mode", "modes", multiple=True, type=click.Choice(list(MODES)), help="Default: both."
)
@click.option("--seconds", default=120.0, show_default=True, help="For each task and mode.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def main(names: tuple[str, ...], modes: tuple[str, ...], seconds: float, as_json: bool) -> None:
    """Measure what the agent adds to a step."""
    torch.set_num_threads(1)
    keep_memory()
    before = os.getloadavg()[0]
    answer: dict[str, dict[str, dict[str, float]]] = {}
    for name in names or TASKS:
        answer[name] = {m: overhead(TASKS[name], MODES[m], seconds) for m in modes or MODES}
        for mode, found in () if as_json else answer[name].items():
            click.echo(
                f"{name:14} {mode:9} step {found['step_ms']:7.3f} ms  agent "
                f"{found['overhead']:+.2%} ± {found['error']:.2%}  "
                f"best {found['overhead_best']:+.2%}  nothing {found['nothing']:+.2%}  "
                f"first {FIRST_STEPS} steps {found['overhead_first_steps']:+.1%}"
            )
    if as_json:
        load = {"load_before": before, "load_after": os.getloadavg()[0], "cores": os.cpu_count()}
        click.echo(json.dumps({"tasks": answer, **load}))


if __name__ == "__main__":
    main()
