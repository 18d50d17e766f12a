"""What the agent costs: the same steps with it and without, in turns, in CPU seconds.

``python -m benchmarks.agent_overhead [--task NAME ...] [--blocks N] [--json]``: for each task the
median over pairs of blocks of (with / without - 1) and how far it may be off, the same from the
best block of either side, and for the first steps of a job, where more is measured. "fixed"
compares consecutive steps, "adaptive" makes some steps in two passes; the batch stays at M0.
"""

import ctypes
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
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
from headway.core.types import BatchContract, BatchMode
from headway.protocol import environment
from headway.protocol.messages import WorkerOrders, encode

FIRST_STEPS = 128
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
    block_steps: int  # about half a second; several measured steps


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
    "digits-mlp": Task(
        digits_mlp.network, sgd, lambda: classified((64,), 10), cross_entropy, 32, 256
    ),
    "tabular": Task(tabular.network, sgd, lambda: classified((30,), 2), cross_entropy, 32, 256),
    "digits-cnn": Task(
        digits_cnn.network, sgd, lambda: classified((1, 8, 8), 10), cross_entropy, 32, 256
    ),
    "charlm": Task(
        lambda: charlm.CharTransformer(characters()),
        adam,
        lambda: charlm.windows()[0],
        lambda model, batch: charlm.loss_of(model, batch[0]),
        16,
        64,
    ),
    "mlp-1.3m-sgd": Task(perceptron, sgd, lambda: classified((784,), 10), cross_entropy, 32, 64),
    "mlp-1.3m-adam": Task(perceptron, adam, lambda: classified((784,), 10), cross_entropy, 32, 64),
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


def steps(task: Task, job: Job) -> Iterator[None]:
    """The usual loop; yields after each step."""
    torch.manual_seed(0)
    net = task.network()
    model, optimizer = job.model(net), job.optimizer(task.optimizer(net), lr_rule="hold")
    loader: Any = job.loader(DataLoader(task.data(), batch_size=task.batch_size, shuffle=True))
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


def cpu_s(running: Iterator[None], count: int) -> float:
    began_s = time.process_time()
    for _ in range(count):
        next(running)
    return time.process_time() - began_s


def overhead(task: Task, mode: BatchMode, blocks: int) -> dict[str, float]:
    """Shares of the step's CPU time."""
    with tempfile.TemporaryDirectory() as folder:
        plain = steps(task, headway.attach())
        job = attached(mode, task.batch_size, Path(folder))
        both = (plain, steps(task, job))
        for running in both:
            cpu_s(running, 4)  # imports, buffers
        first = [cpu_s(running, FIRST_STEPS) for running in both]
        for running in both:
            cpu_s(running, FIRST_STEPS)  # until it is settled how often to measure
        took: tuple[list[float], list[float]] = [], []
        for block in range(blocks):
            for index in (0, 1) if block % 2 else (1, 0):
                took[index].append(cpu_s(both[index], task.block_steps))
        shares = [one / other - 1 for other, one in zip(*took, strict=True)]
    return {
        "step_ms": 1e3 * min(took[0]) / task.block_steps,
        "overhead": statistics.median(shares),
        "overhead_best": min(took[1]) / min(took[0]) - 1,
        "error": 1.2533 * float(np.std(shares)) / blocks**0.5,  # of a median
        "overhead_first_steps": first[1] / first[0] - 1,
    }


@click.command()
@click.option(
    "--task", "names", multiple=True, type=click.Choice(list(TASKS)), help="Default: all."
)
@click.option(
    "--mode", "modes", multiple=True, type=click.Choice(list(MODES)), help="Default: both."
)
@click.option("--blocks", default=12, show_default=True, help="Pairs of blocks a task.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def main(names: tuple[str, ...], modes: tuple[str, ...], blocks: int, as_json: bool) -> None:
    """Measure what the agent adds to a step."""
    torch.set_num_threads(1)
    keep_memory()
    answer: dict[str, dict[str, dict[str, float]]] = {}
    for name in names or TASKS:
        answer[name] = {m: overhead(TASKS[name], MODES[m], blocks) for m in modes or MODES}
        for mode, found in () if as_json else answer[name].items():
            click.echo(
                f"{name:14} {mode:9} step {found['step_ms']:7.3f} ms  agent "
                f"{found['overhead']:+.2%} ± {found['error']:.2%}  "
                f"best {found['overhead_best']:+.2%}  "
                f"first {FIRST_STEPS} steps {found['overhead_first_steps']:+.1%}"
            )
    if as_json:
        click.echo(json.dumps(answer))


if __name__ == "__main__":
    main()
