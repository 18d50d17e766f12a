"""What the demo's training scripts share: options, data, and a cosine that follows progress."""

import argparse
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR
from torch.utils.data import TensorDataset

from headway.agent.job import Job
from headway.core.types import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class Options:
    """How long to train, and what to reach."""

    epochs: int
    target: float
    seed: int
    lr_rule: str | None = None  # as the script has it
    each_epoch: bool = False


def options(about: str, *, epochs: int, target: float, argv: Sequence[str] | None) -> Options:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--epochs", type=int, default=epochs, help="at the initial batch size")
    parser.add_argument("--target", type=float, default=target, help="metric that counts as good")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr-rule", help="how the rate follows the batch; default: as tuned")
    parser.add_argument("--each-epoch", action="store_true", help="say the metric after each")
    given = parser.parse_args(argv)
    return Options(given.epochs, given.target, given.seed, given.lr_rule, given.each_epoch)


@dataclass(frozen=True, slots=True)
class Task:
    """A data set, split into what is trained on and what is tested on."""

    train: TensorDataset
    test_inputs: Tensor
    test_labels: Tensor


def split(inputs: FloatArray, labels: IntArray, *, test: int) -> Task:
    """The last ``test`` of a fixed permutation are for testing."""
    order = np.random.RandomState(0).permutation(len(labels))
    x = torch.from_numpy(inputs[order].astype(np.float32))
    y = torch.from_numpy(labels[order].astype(np.int64))
    return Task(TensorDataset(x[:-test], y[:-test]), x[-test:], y[-test:])


def cosine(job: Job, optimizer: Optimizer) -> LambdaLR:
    """A rate that falls to zero along half a cosine of progress, whatever the batch size."""

    def share(_: int) -> float:
        return 0.5 * (1 + math.cos(math.pi * job.progress_share))

    return job.state("scheduler", LambdaLR(optimizer, share))


@torch.no_grad()
def accuracy(model: nn.Module, task: Task) -> float:
    """Share of the test set that is right."""
    model.eval()
    right = (model(task.test_inputs).argmax(1) == task.test_labels).float().mean()
    model.train()
    return float(right)


def train_classifier(
    job: Job, net: nn.Module, optimizer: Optimizer, task: Task, wanted: Options
) -> float:
    """The usual loop; the accuracy at the end."""
    model = job.model(net)
    optimizer = job.optimizer(optimizer, lr_rule=wanted.lr_rule or "adascale")
    loader = job.loader(task.train, batch_size=32, seed=wanted.seed)
    scheduler = cosine(job, optimizer)
    for epoch in job.epochs(wanted.epochs):
        for inputs, labels in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(inputs), labels)
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            job.step(loss=loss)
            scheduler.step()
        tell(job, epoch, accuracy(net, task), wanted)
    return accuracy(net, task)


def tell(job: Job, epoch: int, metric: float, wanted: Options) -> None:
    """The metric after an epoch: to the scheduler, and to whoever reads the log."""
    job.metric(metric)
    if wanted.each_epoch and job.worker == 0:
        print(f"epoch {epoch}: {metric:.6f}", flush=True)


def show(
    job: Job, name: str, reached: float, target: float, *, better: Callable[..., bool]
) -> None:
    """One line at the end, from worker 0."""
    if job.worker == 0:
        verdict = "reached" if better(reached, target) else "missed"
        print(f"{name}: {reached:.4f}, target {target:g} {verdict}")
