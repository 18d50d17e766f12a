"""Digits under the scheduler: phi from 2 and 4 replicas, from passes, by differences: one truth."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
import torch
from sklearn.datasets import load_digits
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap
from torch.optim import Optimizer

import headway.agent as headway
from headway.agent.demos import kit
from headway.agent.meter import Meter
from headway.agent.precondition import RARE

if TYPE_CHECKING:
    from conftest import Stage

BATCH = 32
KINDS: dict[str, Callable[[nn.Module], Optimizer]] = {
    "sgd": lambda net: torch.optim.SGD(net.parameters(), lr=0.0, momentum=0.9),
    "adam": lambda net: torch.optim.Adam(net.parameters(), lr=0.0, betas=(0.9, 0.99)),
}


def task() -> kit.Task:
    images, labels = load_digits(return_X_y=True)
    return kit.split(images / 16, labels, test=360)


def network() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(64, 16), nn.Tanh(), nn.Linear(16, 10))


def exact(kind: str) -> float:
    """From the gradient of every image; Adam's second moment is that of batches of 32."""
    net = network()
    parameters = {name: p.detach() for name, p in net.named_parameters()}

    def loss(parameters: dict[str, Tensor], inputs: Tensor, label: Tensor) -> Tensor:
        outputs = functional_call(net, parameters, (inputs[None],))
        return nn.functional.cross_entropy(outputs, label[None])

    every = vmap(grad(loss), (None, 0, 0))(parameters, *task().train.tensors)
    columns = []
    for one in every.values():
        moment = one.mean(0).square() + one.var(0) / BATCH
        root = moment.sqrt()
        floored = torch.maximum(root, RARE * root.square().mean().sqrt())
        columns.append((one / floored if kind == "adam" else one).flatten(1))
    seen = torch.cat(columns, 1)
    return float(seen.var(0).sum() / seen.mean(0).square().sum())


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_every_way_tells_the_same_noise_scale(
    stage: Callable[..., "Stage"], monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Gradients are seen before they are averaged over replicas (DistributedDataParallel)."""
    monkeypatch.setattr(Meter, "wanted_every", lambda _: 2)  # whatever it costs here

    def script(tick: Callable[[], None]) -> None:
        net = network()
        with headway.attach() as job:
            model, optimizer = job.model(net), job.optimizer(KINDS[kind](net), lr_rule="hold")
            loader = job.loader(task().train, batch_size=BATCH)
            for _ in job.epochs(7):
                for inputs, labels in loader:
                    optimizer.zero_grad()
                    nn.functional.cross_entropy(model(inputs), labels).backward()
                    optimizer.step()
                    job.step()

    truth = exact(kind)
    ways = {"replicas": (2, 32), "4 replicas": (4, 32), "passes": (1, 8), "differences": (1, 32)}
    for way, (workers, per_gpu) in ways.items():
        job = stage(way, per_gpu=per_gpu)
        assert job.run(script, workers).codes == [0] * workers
        report = job.outcomes[0].reports[-1]
        assert report.noise_scale is not None
        assert report.noise_scale_error is not None
        assert report.noise_scale_reliable
        assert abs(report.noise_scale - truth) < 3 * report.noise_scale_error, way
        assert report.noise_scale_error < 0.4 * truth, way
