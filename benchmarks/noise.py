"""What the noise scale of a training really is, counted out from the gradient of every sample.

``python -m benchmarks.noise --task digits-mlp [--seed N] [--json]``: trains at M0 under the agent,
and now and then takes the gradient of each training sample at the weights of that moment. phi = tr
Sigma / |G|^2, both over all samples; an epoch's is the mean of the one over the mean of the other.
The epochs until the target count. Beside it what the agent makes of the same training.
"""

import json
import statistics
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
import torch
from torch import Tensor, nn

from benchmarks.agent_overhead import attached
from benchmarks.quality import TASKS, examples_to_target
from headway.agent.demos import digits_cnn, digits_mlp, kit
from headway.core.types import BatchMode

BATCH = 32
EVERY = 9  # steps between two looks
DRAWS = 4  # of what is random in the network
EPOCHS = 30
LR, MOMENTUM = 0.05, 0.9


@dataclass(frozen=True)
class Case:
    """As the demo of that name."""

    network: Callable[[], nn.Module]
    shape: tuple[int, ...]
    decay: float


CASES = {
    "digits-mlp": Case(digits_mlp.network, (64,), 5e-4),
    "digits-cnn": Case(digits_cnn.network, (1, 8, 8), 0.0),
}


@dataclass
class Layers:
    """Squared norms of each sample's gradient, from what goes into a layer and what comes back.

    A linear layer's gradient of one sample is an outer product, so its squared norm is a product of
    squared norms (Goodfellow 2015, arXiv:1510.01799); a convolution's is a small matrix.
    """

    inputs: dict[nn.Module, Tensor] = field(default_factory=dict)
    squared: Tensor | float = 0.0

    def watch(self, net: nn.Module) -> list[Any]:
        """Hooks; to be removed."""
        kinds = (nn.Linear, nn.Conv2d)
        layers = [one for one in net.modules() if isinstance(one, kinds)]
        own = {id(p) for one in layers for p in one.parameters()}
        if own != {id(p) for p in net.parameters()}:
            raise click.ClickException("the gradient of a sample is known of linear layers only")
        return [
            hook
            for one in layers
            for hook in (
                one.register_forward_pre_hook(self._into),
                one.register_full_backward_hook(self._back),
            )
        ]

    def _into(self, layer: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        self.inputs[layer] = inputs[0].detach()

    def _back(self, layer: nn.Module, _: object, outputs: Any) -> None:
        into, back = self.inputs[layer], outputs[0]
        if isinstance(layer, nn.Conv2d):
            patches: Any = nn.functional.unfold(into, layer.kernel_size, padding=layer.padding)
            weight = back.flatten(2) @ patches.transpose(1, 2)
            bias = back.flatten(2).sum(2)
            self.squared = self.squared + weight.square().sum((1, 2)) + bias.square().sum(1)
        else:
            self.squared = self.squared + back.square().sum(1) * (into.square().sum(1) + 1)


def counted(net: nn.Module, inputs: Tensor, labels: Tensor) -> tuple[float, float]:
    """|G|^2 and tr Sigma of all samples, at these weights; noise of dropout is noise."""
    means, squared = [], 0.0
    inputs = inputs.clone().requires_grad_()  # a layer's hook waits for that of what goes into it
    for _ in range(DRAWS):
        layers = Layers()
        hooks = layers.watch(net)
        loss = nn.functional.cross_entropy(net(inputs), labels, reduction="sum")
        _, *gradients = torch.autograd.grad(loss, [inputs, *net.parameters()])
        for hook in hooks:
            hook.remove()
        means.append(torch.cat([one.flatten() for one in gradients]) / len(labels))
        squared += float(torch.as_tensor(layers.squared).mean()) / DRAWS
    # of different draws: the square of one would count what the draws of dropout differ by
    products = [float(one @ other) for k, one in enumerate(means) for other in means[:k]]
    gradient = statistics.mean(products)
    return gradient, squared - gradient


@dataclass
class Epoch:
    """What was seen in one."""

    seen: list[tuple[float, float]] = field(default_factory=list)
    told: list[float] = field(default_factory=list)
    metric: float = 0.0

    @property
    def counted(self) -> float:
        gradients, variances = zip(*self.seen, strict=True)
        return sum(variances) / sum(gradients)


def trained(case: Case, seed: int, folder: Path) -> list[Epoch]:
    """Epoch by epoch."""
    torch.manual_seed(seed)
    job: Any = attached(BatchMode.FIXED, BATCH, folder)
    task, net, epochs = digits(case), case.network(), list[Epoch]()
    inner = torch.optim.SGD(net.parameters(), lr=LR, momentum=MOMENTUM, weight_decay=case.decay)
    model, optimizer = job.model(net), job.optimizer(inner)
    loader = job.loader(task.train, batch_size=BATCH, seed=seed)
    scheduler = kit.cosine(job, optimizer)
    for _ in job.epochs(EPOCHS):
        epochs.append(Epoch())
        for step, (inputs, labels) in enumerate(loader):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(inputs), labels)
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            job.step(loss=loss)
            scheduler.step()
            if step % EVERY == 0:
                look(epochs[-1], job, net, task)
        epochs[-1].metric = kit.accuracy(net, task)
    return epochs


def until_target(name: str, epochs: list[Epoch]) -> list[Epoch]:
    """Those that the implied noise scale is of."""
    task, curve = TASKS[name], dict(enumerate(one.metric for one in epochs))
    needed = examples_to_target(task, curve)
    return epochs if needed is None else epochs[: needed // task.samples]


def look(epoch: Epoch, job: Any, net: nn.Module, task: kit.Task) -> None:
    """At the weights of this moment; the training does not notice."""
    with torch.random.fork_rng(devices=[]):
        epoch.seen.append(counted(net, *task.train.tensors))
    phi = job._loop.meter.noise.estimate()
    if phi is not None:
        epoch.told.append(phi)


def digits(case: Case) -> kit.Task:
    """As the demos split them."""
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    return kit.split(images.reshape(-1, *case.shape) / 16, labels, test=360)


@click.command()
@click.option("--task", "name", required=True, type=click.Choice(list(CASES)))
@click.option("--seed", default=0, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def main(name: str, seed: int, as_json: bool) -> None:
    """Count it out."""
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        epochs = until_target(name, trained(CASES[name], seed, Path(folder)))
    told = [statistics.mean(one.told) for one in epochs if one.told]
    found = {
        "counted": statistics.median(one.counted for one in epochs),
        "measured": statistics.median(told) if told else None,
        "epochs": [one.counted for one in epochs],
        "told": told,
    }
    click.echo(json.dumps(found) if as_json else f"{name} seed {seed}: {found}")


if __name__ == "__main__":
    main()
