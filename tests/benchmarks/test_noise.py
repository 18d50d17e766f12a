"""The noise scale that is counted out is that of the gradients of single samples."""

import pytest
import torch
from torch import Tensor, nn

from benchmarks.noise import CASES, Case, counted


def one_by_one(net: nn.Module, inputs: Tensor, labels: Tensor) -> tuple[float, float]:
    gradients = []
    for x, y in zip(inputs.split(1), labels.split(1), strict=True):
        loss = nn.functional.cross_entropy(net(x), y)
        parts = torch.autograd.grad(loss, list(net.parameters()))
        gradients.append(torch.cat([one.flatten() for one in parts]))
    every = torch.stack(gradients)
    mean = every.mean(0)
    return float(mean.square().sum()), float((every - mean).square().sum(1).mean())


def some(case: Case, count: int) -> tuple[Tensor, Tensor]:
    rng = torch.Generator().manual_seed(0)
    inputs = torch.randn(count, *case.shape, generator=rng)
    return inputs, torch.randint(0, 10, (count,), generator=rng)


@pytest.mark.parametrize("name", CASES)
def test_norms_of_samples_are_those_of_their_gradients(name: str) -> None:
    torch.manual_seed(0)
    net, (inputs, labels) = CASES[name].network().eval(), some(CASES[name], 40)
    assert counted(net, inputs, labels) == pytest.approx(one_by_one(net, inputs, labels), rel=1e-3)


def test_what_dropout_draws_is_noise() -> None:
    """|G|^2 is that of the mean over the draws: with it, phi is larger, never smaller."""
    torch.manual_seed(0)
    case = CASES["digits-mlp"]
    net, (inputs, labels) = case.network(), some(case, 400)
    gradient, variance = counted(net, inputs, labels)
    still_gradient, still_variance = counted(net.eval(), inputs, labels)
    assert variance / gradient > still_variance / still_gradient
    assert gradient < still_gradient * 1.2
