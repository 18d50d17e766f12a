"""P is what the optimizer itself divides by, and where that is not known it says so."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from headway.agent.precondition import RARE, SETTLED_STEPS, SLIGHT, Divisor, Preconditioners

RATE = 1e-3
Maker = Callable[[list[nn.Parameter]], Optimizer]


def asked(optimizer: Optimizer, parameter: nn.Parameter) -> Divisor | None:
    preconditioners = Preconditioners()
    preconditioners.add(optimizer)
    preconditioners.refresh()
    answer = preconditioners.divisor(parameter)
    assert not preconditioners.unknown
    return answer


def divisor(optimizer: Optimizer, parameter: nn.Parameter) -> Tensor | None:
    answer = asked(optimizer, parameter)
    return None if answer is None else answer.of(slice(None)).view_as(parameter)


def squared(optimizer: Optimizer, parameter: nn.Parameter) -> Tensor:
    answer = asked(optimizer, parameter)
    assert answer is not None
    return answer.squared(slice(None)).view_as(parameter)


def trained(make: Maker, steps: int) -> tuple[Optimizer, nn.Parameter, Tensor]:
    """After so many steps; also what the last one subtracted for a gradient of 1."""
    rng = torch.Generator().manual_seed(0)
    parameter = nn.Parameter(torch.zeros(5, 3))
    optimizer = make([parameter])
    before = parameter.grad = torch.ones(5, 3)
    for _ in range(steps):
        before = parameter.detach().clone()
        parameter.grad = 1 + torch.rand(5, 3, generator=rng)
        optimizer.step()
    return optimizer, parameter, (before - parameter.detach()) / parameter.grad


@pytest.mark.parametrize(
    "make",
    [
        lambda p: torch.optim.Adam(p, lr=RATE, betas=(0.0, 0.99), eps=0.1),
        lambda p: torch.optim.Adam(p, lr=RATE, betas=(0.0, 0.9), amsgrad=True),
        lambda p: torch.optim.AdamW(p, lr=RATE, betas=(0.0, 0.99), weight_decay=0.0),
        lambda p: torch.optim.Adam(p, lr=torch.tensor(RATE), betas=(0.0, 0.99), foreach=False),
        lambda p: torch.optim.Adagrad(p, lr=RATE, initial_accumulator_value=0.5),
        lambda p: torch.optim.RMSprop(p, lr=RATE),
        lambda p: torch.optim.RMSprop(p, lr=RATE, centered=True, alpha=0.9),
    ],
    ids=["adam", "amsgrad", "adamw", "adam, rate as tensor", "adagrad", "rmsprop", "centered"],
)
def test_it_is_what_the_optimizer_divides_by(make: Maker) -> None:
    """Without a first moment a step is rate * gradient / divisor, element by element. AdaptDL took
    P for the identity wherever the user had not named a rule."""
    optimizer, parameter, per_gradient = trained(make, 40)
    by = divisor(optimizer, parameter)
    assert by is not None
    torch.testing.assert_close(RATE / by, per_gradient, rtol=1e-3, atol=0)


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_sgd_divides_by_nothing(momentum: float) -> None:
    optimizer, parameter, _ = trained(lambda p: torch.optim.SGD(p, lr=RATE, momentum=momentum), 40)
    assert divisor(optimizer, parameter) is None


def test_a_parameter_of_no_optimizer_is_measured_as_it_is() -> None:
    optimizer, _, _ = trained(lambda p: torch.optim.Adam(p), 40)
    assert divisor(optimizer, nn.Parameter(torch.zeros(2))) is None


@pytest.mark.parametrize("kind", [torch.optim.Adam, torch.optim.Adagrad, torch.optim.RMSprop])
def test_a_young_second_moment_gives_nothing(kind: Callable[..., Optimizer]) -> None:
    """Before the first step there is no state at all, and phi of plain gradients was averaged with
    that of preconditioned ones, which are millions of times as large."""
    for steps in (0, 1, SETTLED_STEPS - 1):
        optimizer, parameter, _ = trained(lambda p: kind(p, lr=RATE), steps)
        by = divisor(optimizer, parameter)
        assert by is not None
        assert by.isnan().all()
    optimizer, parameter, _ = trained(lambda p: kind(p, lr=RATE), SETTLED_STEPS)
    by = divisor(optimizer, parameter)
    assert by is not None
    assert by.isfinite().all()


@pytest.mark.parametrize("kind", [torch.optim.Adadelta, torch.optim.Adamax])
def test_another_rescaling_is_not_taken_for_none(kind: Callable[..., Optimizer]) -> None:
    optimizer, parameter, _ = trained(lambda p: kind(p, lr=RATE), 20)
    preconditioners = Preconditioners()
    preconditioners.add(optimizer)
    preconditioners.refresh()
    assert preconditioners.divisor(parameter) is None
    assert preconditioners.unknown


def test_what_is_hardly_ever_touched_is_not_divided_by_next_to_nothing() -> None:
    parameter = nn.Parameter(torch.zeros(4, 100))
    optimizer = torch.optim.Adam([parameter], lr=RATE)
    for _ in range(20):
        parameter.grad = torch.ones(4, 100)
        parameter.grad[0] = 0.0  # a row that no sample looks up
        optimizer.step()
    by = divisor(optimizer, parameter)
    assert by is not None
    torch.testing.assert_close(by[1:], torch.ones(3, 100), rtol=1e-3, atol=0)
    torch.testing.assert_close(by[0], torch.full((100,), RARE * 0.75**0.5), rtol=1e-3, atol=0)


def test_groups_that_are_added_later_are_known() -> None:
    optimizer, _, _ = trained(lambda p: torch.optim.Adam(p, lr=RATE), 20)
    late = nn.Parameter(torch.zeros(3))
    optimizer.add_param_group({"params": [late]})
    for _ in range(20):
        late.grad = torch.ones(3)
        optimizer.step()
    by = divisor(optimizer, late)
    assert by is not None
    torch.testing.assert_close(by, torch.ones(3), rtol=1e-3, atol=0)


@pytest.mark.parametrize("epsilon", [1e-8, 1e-20, 1e-30])
def test_what_has_no_gradient_divides_nothing_by_nothing(epsilon: float) -> None:
    """The square of a small epsilon was 0: one dead parameter, and no noise was measured."""
    parameter = nn.Parameter(torch.zeros(3))
    optimizer = torch.optim.Adam([parameter], eps=epsilon)
    for _ in range(2 * SETTLED_STEPS):
        parameter.grad = torch.zeros(3)
        optimizer.step()
    assert torch.isfinite(squared(optimizer, parameter).reciprocal()).all()


def test_a_beta_of_almost_one_stops_no_training() -> None:
    """1 - beta^t is 0 in single precision, and was divided by."""
    optimizer, parameter, _ = trained(
        lambda p: torch.optim.Adam(p, lr=RATE, betas=(0.9, 0.99999999)), 40
    )
    assert not squared(optimizer, parameter).reciprocal().any()


@pytest.mark.parametrize("epsilon", [1e-8, 0.01, 0.1])
def test_its_square_leaves_away_an_epsilon_that_is_slight(epsilon: float) -> None:
    """Gradients of 1 to 2: 0.01 is slight beside their root mean square, but not beside a tenth of
    it, which the smallest may be."""
    optimizer, parameter, _ = trained(lambda p: torch.optim.Adam(p, lr=RATE, eps=epsilon), 40)
    exact, found = divisor(optimizer, parameter), squared(optimizer, parameter)
    assert exact is not None
    exact = exact.square()
    slight = 0.0 if epsilon > SLIGHT * RARE else 2 * SLIGHT + SLIGHT**2
    torch.testing.assert_close(found, exact, rtol=slight + 1e-6, atol=0)
    assert torch.equal(found, exact) == (epsilon > SLIGHT * RARE)
