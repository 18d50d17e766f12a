"""The hooks: what they measure, and that they leave alone what they should."""

import copy
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from headway.agent.plan import Pass
from headway.agent.precondition import RARE
from headway.agent.probe import GradientProbe

WHOLE = Pass(0, 8, 0, 1, 0, 8)


def net() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 3))


def data() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(1)
    return torch.randn(8, 6, generator=generator), torch.randint(0, 3, (8,), generator=generator)


def norm_squared(model: nn.Module, scale: Callable[[nn.Parameter], Tensor | float]) -> float:
    return sum(
        float((p.grad / scale(p)).square().sum()) for p in model.parameters() if p.grad is not None
    )


def backward(model: nn.Module, rows: slice) -> None:
    inputs, labels = data()
    nn.functional.cross_entropy(model(inputs[rows]), labels[rows]).backward()


def measure_step(probe: GradientProbe, model: nn.Module, passes: int = 2) -> None:
    size = 8 // passes
    for index in range(passes):
        one = Pass(0, 8, index, passes, index * size, (index + 1) * size)
        probe.begin_pass(one, measured=True, chained=False, examples=8.0)
        backward(model, slice(one.start, one.stop))
    probe.end_step()


def test_passes_are_weighed_so_that_they_add_up_to_the_gradient_of_the_whole_batch() -> None:
    whole, model = net(), net()
    backward(whole, slice(0, 8))
    probe = GradientProbe(workers=1)
    probe.watch(model.parameters())
    for index, (start, stop) in enumerate([(0, 5), (5, 8), (8, 8)]):
        probe.begin_pass(
            Pass(0, 8, index, 3, start, stop), measured=False, chained=False, examples=8.0
        )
        backward(model, slice(start, stop) if stop > start else slice(0, 2))
    for one, other in zip(model.parameters(), whole.parameters(), strict=True):
        torch.testing.assert_close(one.grad, other.grad)


def test_an_idle_pass_counts_nothing_even_where_it_is_not_finite() -> None:
    model = net()
    probe = GradientProbe(workers=2)
    probe.watch(model.parameters())
    probe.begin_pass(Pass(0, 1, 0, 1, 1, 1), measured=False, chained=False, examples=1.0)
    (model(torch.full((2, 6), float("inf"))).sum() * float("nan")).backward()
    assert all(torch.equal(p.grad, torch.zeros_like(p)) for p in model.parameters())


def test_norms_of_passes_and_of_the_whole() -> None:
    model = net()
    probe = GradientProbe(workers=1)
    probe.watch(model.parameters())
    measure_step(probe, model)
    (measured,) = probe.take()
    halves = []
    for rows in (slice(0, 4), slice(4, 8)):
        alone = net()
        backward(alone, rows)
        halves.append(norm_squared(alone, lambda _: 1.0))
    assert float(measured.small) == pytest.approx(sum(halves), rel=1e-5)
    assert float(measured.big) == pytest.approx(norm_squared(model, lambda _: 1.0), rel=1e-5)
    assert (measured.passes, measured.small_size, measured.big_size) == (2, 4.0, 8.0)


def test_it_measures_before_the_script_clips() -> None:
    model = net()
    probe = GradientProbe(workers=1)
    probe.watch(model.parameters())
    for index in range(2):
        one = Pass(0, 8, index, 2, 4 * index, 4 * index + 4)
        probe.begin_pass(one, measured=True, chained=False, examples=8.0)
        backward(model, slice(one.start, one.stop))
    before = norm_squared(model, lambda _: 1.0)
    nn.utils.clip_grad_norm_(model.parameters(), 1e-3)
    probe.end_step()
    assert float(probe.take()[0].big) == pytest.approx(before, rel=1e-5)


def test_for_adam_the_gradient_is_measured_as_adam_sees_it() -> None:
    """AdaptDL chose the estimator by the rule's argument, not by the optimizer: phi came out as
    75 where it was 172."""
    model = net()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    probe = GradientProbe(workers=1)
    probe.watch(model.parameters())
    probe.precondition_by(optimizer)
    for _ in range(12):
        optimizer.zero_grad()
        backward(model, slice(0, 8))
        optimizer.step()
    probe.take()
    optimizer.zero_grad()
    measure_step(probe, model)

    def scale(parameter: nn.Parameter) -> Tensor:
        root = (optimizer.state[parameter]["exp_avg_sq"] / (1 - 0.999**12)).sqrt()
        return root.clamp(min=float(RARE * root.square().mean().sqrt())) + 1e-8

    expected = norm_squared(model, scale)
    assert float(probe.take()[0].big) == pytest.approx(expected, rel=1e-4)
    assert expected > 2 * norm_squared(model, lambda _: 1.0)


def test_a_row_that_was_never_touched_does_not_outweigh_all_others() -> None:
    """Rare characters of the demo's text: v is 0 until one comes up, and phi came out as 7,600
    where it is about 50."""
    embedding = nn.Embedding(5, 3)
    optimizer = torch.optim.Adam(embedding.parameters(), lr=1e-3)
    probe = GradientProbe(workers=1)
    probe.watch(embedding.parameters())
    probe.precondition_by(optimizer)
    for rows in [[0, 1, 2, 3]] * 12 + [[0, 1, 2, 4]]:
        optimizer.zero_grad()
        one = Pass(0, 8, 0, 2, 0, 4)
        probe.begin_pass(one, measured=True, chained=False, examples=8.0)
        embedding(torch.tensor(rows)).sum().backward()
        probe.begin_pass(Pass(0, 8, 1, 2, 4, 8), measured=True, chained=False, examples=8.0)
        embedding(torch.tensor(rows)).sum().backward()
        probe.end_step()
        optimizer.step()
    *_, before, with_new_row = probe.take()
    assert float(with_new_row.big) < 50 * float(before.big)


def test_a_young_second_moment_is_no_preconditioner() -> None:
    model = net()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    probe = GradientProbe(workers=1)
    probe.watch(model.parameters())
    probe.precondition_by(optimizer)
    backward(model, slice(0, 8))
    optimizer.step()
    optimizer.zero_grad()
    measure_step(probe, model)
    (measured,) = probe.take()
    assert not measured.pair(float(measured.small), float(measured.big)).usable


def test_frozen_unused_and_tied_parameters() -> None:
    """Frozen ones made AdaptDL's hooks raise, so nobody could fine-tune with frozen layers."""

    class Odd(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.frozen = nn.Linear(6, 6)
            self.frozen.requires_grad_(False)
            self.unused = nn.Linear(6, 6)
            self.first = nn.Linear(6, 6)
            self.second = nn.Linear(6, 6)
            self.second.weight = self.first.weight
            self.last = nn.Linear(6, 3)

        def forward(self, inputs: Tensor) -> Tensor:
            hidden = self.second(self.first(self.frozen(inputs)))
            outputs: Tensor = self.last(hidden)
            return outputs

    torch.manual_seed(0)
    model = Odd()
    plain = copy.deepcopy(model)
    probe = GradientProbe(workers=1)
    probe.watch(model.parameters())
    measure_step(probe, model)
    backward(plain, slice(0, 8))
    (measured,) = probe.take()
    assert float(measured.big) == pytest.approx(norm_squared(plain, lambda _: 1.0), rel=1e-4)
    assert model.frozen.weight.grad is None
    assert model.unused.weight.grad is None


class Turns(nn.Module):
    """Some of it is used by the first half of a step only, some by the second."""

    def __init__(self) -> None:
        super().__init__()
        self.always = nn.Linear(6, 5)
        self.at_odds = nn.ModuleList([nn.Linear(5, 3), nn.Linear(5, 3)])
        self.never = nn.Linear(5, 3)
        self.calls = 0

    def forward(self, inputs: Tensor) -> Tensor:
        hidden = torch.tanh(self.always(inputs))
        outputs: Tensor = self.at_odds[self.calls % 2](hidden)
        self.calls += 1
        return outputs


@pytest.mark.parametrize("kind", [torch.optim.SGD, torch.optim.Adam])
def test_a_halved_step_tells_what_its_two_passes_would(kind: type[torch.optim.Optimizer]) -> None:
    """P is asked for once instead of three times: most of what a halved step of Adam cost."""
    told = []
    for halved in (False, True):
        torch.manual_seed(0)
        model = Turns()
        optimizer, probe = kind(model.parameters(), lr=1e-3), GradientProbe(workers=1)
        probe.watch(model.parameters())
        probe.precondition_by(optimizer)
        for cut in (4, 5, 3) * 8:  # halves alike, and apart
            optimizer.zero_grad()
            for index, rows in enumerate((slice(0, cut), slice(cut, 8))):
                one = Pass(0, 8, index, 2, rows.start, rows.stop, halved)
                probe.begin_pass(one, measured=True, chained=False, examples=8.0)
                backward(model, rows)
            probe.end_step()
            optimizer.step()
        told.append([(float(one.small), float(one.big)) for one in probe.take()])
    passes, halves = (torch.tensor(one) for one in told)
    settled = slice(17, None)  # of Adam: its second moments are no longer young
    assert passes[settled].isfinite().all()
    torch.testing.assert_close(halves, passes, rtol=1e-4, atol=0.0, equal_nan=True)


class Words(nn.Module):
    """A sparse table, a layer that all use, and one for each half of a step."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(9, 5, sparse=True)
        self.always = nn.Linear(5, 3)
        self.at_odds = nn.ModuleList([nn.Linear(5, 3), nn.Linear(5, 3)])

    def loss(self, rows: slice) -> Tensor:
        labels = data()[1][rows]
        hidden = self.table(labels + rows.start)
        outputs = self.always(hidden) + self.at_odds[int(rows.start > 0)](hidden)
        return nn.functional.cross_entropy(outputs, labels)


@pytest.mark.parametrize("cut", [4, 5])
@pytest.mark.parametrize("measured", [True, False])
@pytest.mark.parametrize("case", ["usual", "kept", "twice", "first alone"])
def test_a_halved_step_leaves_bit_for_bit_what_two_passes_do(
    case: str, measured: bool, cut: int
) -> None:
    """Gradients of equal halves are halved once, where they lie: two copies of each were a fifth of
    the step. At first sparse ones were not, a second half without a gradient left the first one
    whole, and what was there before the step was halved with them."""
    left = []
    for halved in (False, True):
        torch.manual_seed(0)
        model = Words()
        probe, optimizer = GradientProbe(workers=1), torch.optim.SGD(model.parameters(), lr=0.0)
        probe.watch(model.parameters())
        probe.precondition_by(optimizer)
        if case == "kept":
            model.always(torch.ones(2, 5)).sum().backward()
        for index, rows in enumerate((slice(0, cut), slice(cut, 8))):
            one = Pass(0, 8, index, 2, rows.start, rows.stop, halved)
            probe.begin_pass(one, measured=measured, chained=False, examples=8.0)
            for again in range(2 if case == "twice" else int(index == 0 or case != "first alone")):
                model.loss(rows).mul(1 + again / 3).backward()
        optimizer.step()
        probe.end_step()
        grads = [p.grad for p in model.parameters()]
        left.append([None if grad is None else grad.to_dense() for grad in grads])
    passes, halves = left
    assert [one is None for one in passes] == [False] * 5 + [case == "first alone"] * 2
    for one, other in zip(passes, halves, strict=True):
        assert one is other is None or torch.equal(one, other)


@pytest.mark.parametrize("halved", [False, True])
def test_two_backward_passes_in_one_are_not_taken_for_one_gradient(halved: bool) -> None:
    model = net()
    probe = GradientProbe(workers=1)
    probe.watch(model.parameters())
    for index in range(2):
        one = Pass(0, 8, index, 2, 4 * index, 4 * index + 4, halved)
        probe.begin_pass(one, measured=True, chained=False, examples=8.0)
        backward(model, slice(one.start, one.stop))
        backward(model, slice(one.start, one.stop))
    probe.end_step()
    (measured,) = probe.take()
    assert not measured.pair(float(measured.small), float(measured.big)).usable


def test_alone_with_one_pass_two_steps_make_a_pair() -> None:
    model = net()
    probe = GradientProbe(workers=1)
    probe.watch(model.parameters())
    squares, both = [], None
    for rows in (slice(0, 4), slice(4, 8)):
        model.zero_grad()
        one = Pass(rows.start, 4, 0, 1, rows.start, rows.stop)
        probe.begin_pass(one, measured=True, chained=True, examples=4.0)
        backward(model, rows)
        probe.end_step()
        squares.append(norm_squared(model, lambda _: 1.0))
        flat = torch.cat([p.grad.flatten() for p in model.parameters()])
        both = flat.clone() if both is None else (both + flat) / 2
    (measured,) = probe.take()
    pair = measured.pair(float(measured.small), float(measured.big))
    assert pair.small_squared == pytest.approx(sum(squares) / 2, rel=1e-5)
    assert pair.big_squared == pytest.approx(float(both.square().sum()), rel=1e-5)
    assert (pair.small_size, pair.big_size) == (4.0, 8.0)


def test_steps_of_different_size_make_no_pair() -> None:
    model = net()
    probe = GradientProbe(workers=1)
    probe.watch(model.parameters())
    for stop in (8, 4):
        probe.begin_pass(Pass(0, stop, 0, 1, 0, stop), measured=True, chained=True, examples=8.0)
        backward(model, slice(0, stop))
        probe.end_step()
    assert probe.take() == []


def test_a_whole_pass_leaves_the_gradient_bit_for_bit() -> None:
    model, plain = net(), net()
    probe = GradientProbe(workers=1)
    probe.watch(model.parameters())
    probe.begin_pass(WHOLE, measured=True, chained=True, examples=8.0)
    backward(model, slice(0, 8))
    backward(plain, slice(0, 8))
    for one, other in zip(model.parameters(), plain.parameters(), strict=True):
        assert torch.equal(one.grad, other.grad)


def test_a_step_that_is_not_measured_calls_no_hook() -> None:
    """AdaptDL's hooks ran, with a CUDA event each, for every parameter in every step."""
    model = net()
    probe = GradientProbe(workers=1)
    probe.watch(model.parameters())
    hooked = []
    for measured in (False, True, False):
        probe.begin_pass(WHOLE, measured=measured, chained=False, examples=8.0)
        hooked.append([bool(p._backward_hooks) for p in model.parameters()])
        backward(model, slice(0, 8))
        probe.end_step()
    assert hooked == [[False] * 4, [True] * 4, [False] * 4]


@pytest.mark.parametrize("halved", [False, True])
def test_losses_of_different_parameters_make_one_gradient(halved: bool) -> None:
    """Two backward passes over two models: the whole was once taken after the first of them."""
    first, second = net(), net()
    probe = GradientProbe(workers=1)
    probe.watch([*first.parameters(), *second.parameters()])
    for index in range(2):
        one = Pass(0, 8, index, 2, 4 * index, 4 * index + 4, halved)
        probe.begin_pass(one, measured=True, chained=False, examples=8.0)
        backward(first, slice(one.start, one.stop))
        backward(second, slice(one.start, one.stop))
    probe.end_step()
    (measured,) = probe.take()
    both = norm_squared(first, lambda _: 1.0) + norm_squared(second, lambda _: 1.0)
    assert float(measured.big) == pytest.approx(both, rel=1e-5)
    assert measured.pair(float(measured.small), float(measured.big)).usable


def test_half_precision_is_measured_in_single() -> None:
    """With its 8 bits the difference of two norms would be noise."""
    model = net().bfloat16()
    probe = GradientProbe(workers=1)
    probe.watch(model.parameters())
    for index in range(2):
        one = Pass(0, 8, index, 2, 4 * index, 4 * index + 4)
        probe.begin_pass(one, measured=True, chained=False, examples=8.0)
        inputs, labels = data()
        rows = slice(one.start, one.stop)
        nn.functional.cross_entropy(model(inputs[rows].bfloat16()), labels[rows]).backward()
    probe.end_step()
    (measured,) = probe.take()
    exact = sum(float(p.grad.double().square().sum()) for p in model.parameters())
    assert measured.big.dtype == torch.float32
    assert float(measured.big) == pytest.approx(exact, rel=1e-6)


@pytest.mark.parametrize("set_to_none", [True, False])
@pytest.mark.parametrize("passes", [1, 2])
def test_however_the_script_zeroes_its_gradients(set_to_none: bool, passes: int) -> None:
    """AdaptDL's zero_grad knew no set_to_none. Zeroed in place, a gradient that is kept for the
    next step must be a copy."""
    model = net()
    probe = GradientProbe(workers=1)
    probe.watch(model.parameters())
    for _ in range(2):
        model.zero_grad(set_to_none=set_to_none)
        for index in range(passes):
            one = Pass(0, 8, index, passes, index * 4, 8 if passes == 1 else index * 4 + 4)
            probe.begin_pass(one, measured=True, chained=True, examples=8.0)
            backward(model, slice(one.start, one.stop))
        probe.end_step()
    measured = probe.take()[-1]  # the same samples twice: both halves are the whole
    assert float(measured.big) == pytest.approx(norm_squared(model, lambda _: 1.0), rel=1e-5)


class OnMeta(nn.Module):
    """Embedding, tied and plain weights on a device that has no numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(9, 4, device="meta")
        self.hidden = nn.Linear(4, 4, device="meta")
        self.out = nn.Linear(4, 9, bias=False, device="meta")

    def forward(self, inputs: Tensor) -> Tensor:
        outputs: Tensor = self.out(torch.tanh(self.hidden(self.table(inputs))))
        return outputs


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("passes", [1, 2])
@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "Adagrad", "RMSprop"])
def test_the_host_never_waits_for_the_device(name: str, passes: int, workers: int) -> None:
    """On the meta device nothing can be read back, nor be mixed with what is elsewhere. AdaptDL
    made the host wait three times a step."""
    model = OnMeta()
    optimizer = getattr(torch.optim, name)(model.parameters(), lr=0.1)
    probe = GradientProbe(workers)
    probe.watch_model(model)
    probe.precondition_by(optimizer)
    for step in range(3):
        optimizer.zero_grad()
        for index in range(passes):
            idle = step == 2 and index == 0 and workers > 1
            one = Pass(0, 8, index, passes, 0, 0 if idle else 8 // passes // workers)
            probe.begin_pass(one, measured=True, chained=True, examples=8.0)
            model(torch.zeros(4, dtype=torch.int64, device="meta")).sum().backward()
        optimizer.step()
        probe.end_step()
    taken = probe.take()
    assert len(taken) == (2 if workers == passes == 1 else 3)
    assert torch.stack([n for t in taken for n in (t.small, t.big, t.doubt)]).device.type == "meta"
