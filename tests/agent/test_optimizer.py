"""The wrapped optimizer: when it steps, at which rate, and what it leaves untouched."""

import copy
import types
from dataclasses import dataclass

import pytest
import torch
from torch import nn
from torch.optim.lr_scheduler import StepLR

from headway.agent.job import MisuseError
from headway.agent.optimizer import UNSCALED, ScaledOptimizer
from headway.core.model.lr import LearningRateScale, LrRule, scale_lr


@dataclass
class Turn:
    last_pass: bool = True
    factor: LearningRateScale = UNSCALED

    def scale(self) -> LearningRateScale:
        return self.factor


def parameter() -> nn.Parameter:
    return nn.Parameter(torch.tensor([1.0, -2.0]))


def backward(one: nn.Parameter) -> None:
    (one.square().sum() / 2).backward()


@pytest.mark.parametrize("set_to_none", [True, False])
@pytest.mark.parametrize("zero_first", [True, False])
def test_gradients_accumulate_until_the_last_pass(set_to_none: bool, zero_first: bool) -> None:
    """AdaptDL raised TypeError for set_to_none. Scripts zero at the start or at the end."""
    one, turn = parameter(), Turn()
    optimizer = ScaledOptimizer(torch.optim.SGD([one], lr=0.1), turn)
    for step in range(2):
        start = one.detach().clone()
        for index in range(3):
            turn.last_pass = index == 2
            optimizer.begin_pass(index)
            if zero_first:
                optimizer.zero_grad(set_to_none=set_to_none)
            backward(one)
            optimizer.step()
            if not zero_first:
                optimizer.zero_grad(set_to_none=set_to_none)
        torch.testing.assert_close(one.detach(), start - 0.1 * 3 * start, msg=f"step {step}")


def test_the_rate_is_scaled_for_the_step_alone() -> None:
    one = parameter()
    inner = torch.optim.SGD([one], lr=0.1)
    optimizer = ScaledOptimizer(inner, Turn(factor=LearningRateScale(rate=3.0)))
    backward(one)
    optimizer.step()
    torch.testing.assert_close(one.detach(), torch.tensor([1.0, -2.0]) * (1 - 0.3))
    assert inner.param_groups[0]["lr"] == 0.1


def test_a_tensor_as_rate_is_not_changed_in_place() -> None:
    one, rate = parameter(), torch.tensor(0.1)
    optimizer = ScaledOptimizer(
        torch.optim.SGD([one], lr=rate), Turn(factor=LearningRateScale(rate=3.0))
    )
    backward(one)
    optimizer.step()
    assert optimizer.param_groups[0]["lr"] is rate
    assert float(rate) == pytest.approx(0.1)


def test_a_scheduler_built_on_it_sets_the_inner_rate() -> None:
    one = parameter()
    inner = torch.optim.SGD([one], lr=0.1)
    optimizer = ScaledOptimizer(inner, Turn(factor=LearningRateScale(rate=3.0)))
    scheduler = StepLR(optimizer, step_size=1, gamma=0.5)
    for _ in range(2):
        backward(one)
        optimizer.step()
        scheduler.step()
    assert inner.param_groups[0]["lr"] == pytest.approx(0.025)


def test_no_method_of_the_users_object_is_replaced() -> None:
    """AdaptDL's rules patch step and zero_grad of the optimizer that the user holds."""
    one = parameter()
    inner = torch.optim.SGD([one], lr=0.1)
    ScaledOptimizer(inner, Turn())
    assert not any(isinstance(value, types.MethodType) for value in vars(inner).values())
    assert {"step", "zero_grad"}.isdisjoint(vars(inner))


def test_adam_goes_through_a_change_of_batch() -> None:
    """AdaptDL wrote an int over Adam's step tensor and every later step raised."""
    one, turn = parameter(), Turn()
    inner = torch.optim.Adam([one], lr=0.1)
    optimizer = ScaledOptimizer(inner, turn)
    for factor in (UNSCALED, LearningRateScale(rate=2.0), UNSCALED):
        turn.factor = factor
        optimizer.zero_grad()
        backward(one)
        optimizer.step()
    assert float(inner.state[one]["step"]) == 3
    assert torch.isfinite(one).all()


def test_the_square_root_rule_changes_betas_and_epsilon_for_the_step_alone() -> None:
    """Malladi et al. 2022: rate by sqrt(k), 1 - beta by k, epsilon by 1 / sqrt(k)."""
    ours, theirs = parameter(), parameter()
    scale = scale_lr(LrRule.SQRT, initial_batch_size=32, batch_size=128)
    inner = torch.optim.Adam([ours], lr=0.1)
    optimizer = ScaledOptimizer(inner, Turn(factor=scale))
    plain = torch.optim.Adam([theirs], lr=0.2, betas=(0.6, 0.996), eps=0.5e-8)
    for _ in range(3):
        for one, stepping in ((ours, optimizer), (theirs, plain)):
            stepping.zero_grad()
            backward(one)
            stepping.step()
    torch.testing.assert_close(ours, theirs)
    assert inner.param_groups[0]["betas"] == (0.9, 0.999)
    assert inner.param_groups[0]["eps"] == 1e-8


def test_its_state_is_the_inner_optimizers() -> None:
    one = parameter()
    optimizer = ScaledOptimizer(torch.optim.Adam([one], lr=0.1), Turn())
    backward(one)
    optimizer.step()
    state = copy.deepcopy(optimizer.state_dict())
    fresh = ScaledOptimizer(torch.optim.Adam([parameter()], lr=0.7), Turn())
    fresh.load_state_dict(state)
    assert fresh.param_groups is fresh.inner.param_groups
    assert fresh.param_groups[0]["lr"] == 0.1
    assert fresh.state is fresh.inner.state


def test_a_closure_is_refused_in_words() -> None:
    optimizer = ScaledOptimizer(torch.optim.SGD([parameter()], lr=0.1), Turn())
    with pytest.raises(MisuseError, match="closure"):
        optimizer.step(lambda: 0.0)


class Signed(torch.optim.Optimizer):
    """An optimizer with betas and without epsilon, as Lion is."""

    def __init__(self, params: list[torch.Tensor]) -> None:
        super().__init__(params, {"lr": 0.1, "betas": (0.9, 0.99)})
        self.seen: list[tuple[float, ...]] = []

    def step(self) -> None:  # type: ignore[override]
        self.seen.append(self.param_groups[0]["betas"])


def test_an_optimizer_with_betas_but_no_epsilon() -> None:
    """It once raised: the rule took every optimizer with betas for an Adam."""
    inner = Signed([parameter()])
    scale = scale_lr(LrRule.SQRT, initial_batch_size=32, batch_size=64)
    ScaledOptimizer(inner, Turn(factor=scale)).step()
    assert inner.seen[0] == pytest.approx((0.8, 0.98))
    assert "eps" not in inner.param_groups[0]


def test_betas_that_are_tensors_are_scaled_as_numbers_are() -> None:
    """They were once left as they were, while the rate was scaled."""
    scale = scale_lr(LrRule.SQRT, initial_batch_size=32, batch_size=256)
    inner = Signed([parameter()])
    inner.param_groups[0]["betas"] = (torch.tensor(0.9), torch.tensor(0.999))
    ScaledOptimizer(inner, Turn(factor=scale)).step()
    assert [float(beta) for beta in inner.seen[0]] == pytest.approx([0.5, 0.992])
    assert float(inner.param_groups[0]["betas"][0]) == pytest.approx(0.9)
