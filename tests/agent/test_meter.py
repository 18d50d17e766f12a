"""The meter: its phi is the exact one, however it is measured, and no odd step spoils it."""

from collections.abc import Callable
from functools import partial

import pytest
import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from headway.agent.meter import Meter
from headway.agent.plan import Pass, Split, epoch_order, passes_from
from headway.agent.precondition import Preconditioners
from headway.agent.timing import Stopwatch

SAMPLES = 240
KINDS: dict[str, Callable[[nn.Module], Optimizer]] = {
    "sgd": lambda net: torch.optim.SGD(net.parameters(), lr=0.0, momentum=0.9),
    "adam": lambda net: torch.optim.Adam(net.parameters(), lr=0.0, betas=(0.9, 0.99)),
    "adamw": lambda net: torch.optim.AdamW(net.parameters(), lr=0.0, betas=(0.9, 0.99)),
    "adagrad": lambda net: torch.optim.Adagrad(net.parameters(), lr=0.0),
}
WAYS = {"differences": Split(16, 1, 16), "passes": Split(16, 1, 4), "halves": Split(16, 1, 16)}


def data() -> tuple[Tensor, Tensor]:
    """A linear regression."""
    rng = torch.Generator().manual_seed(1)
    inputs = torch.randn(SAMPLES, 12, generator=rng) * torch.logspace(0, 1, 12)
    noise = 3 * torch.randn(SAMPLES, 3, generator=rng)
    return inputs, inputs @ torch.randn(12, 3, generator=rng) + noise


def network() -> nn.Module:
    torch.manual_seed(0)
    return nn.Linear(12, 3)


def exact(net: nn.Module, optimizer: Optimizer) -> float:
    """phi counted out, from the gradient of every sample as the optimizer sees it."""
    preconditioners = Preconditioners()
    preconditioners.add(optimizer)
    preconditioners.refresh()
    gradients = []
    for inputs, targets in zip(*data(), strict=True):
        net.zero_grad()
        nn.functional.mse_loss(net(inputs), targets).backward()
        scaled = []
        for parameter in net.parameters():
            by, gradient = preconditioners.divisor(parameter), parameter.grad.flatten()
            scaled.append(gradient if by is None else gradient / by.of(slice(None)))
        gradients.append(torch.cat(scaled))
    net.zero_grad()
    every = torch.stack(gradients)
    mean = every.mean(0)
    return float((every - mean).square().sum() / (SAMPLES - 1) / mean.square().sum())


def run(
    meter: Meter,
    optimizer: Optimizer,
    split: Split,
    *,
    epochs: int,
    one_pass: Callable[[Pass, Tensor], None],
    exchange: bool = True,
) -> None:
    """What loop and script do together, on one worker; an exchange may follow an epoch."""
    for epoch in range(epochs):
        order = epoch_order(SAMPLES, epoch=epoch, seed=0, shuffled=True)
        for one in passes_from(
            0, SAMPLES, 0, split, halve_every=meter.halve_every, step=meter.steps
        ):
            if one.index == 0:
                optimizer.zero_grad()
            meter.begin_pass(one)
            one_pass(one, torch.from_numpy(order[one.start : one.stop]))
            if one.last and _all_finite(optimizer):  # as torch's GradScaler does
                optimizer.step()
            meter.end_pass(one)
        if exchange:
            meter.add(meter.sums())


def _all_finite(optimizer: Optimizer) -> bool:
    parameters = optimizer.param_groups[0]["params"]
    return all(p.grad.to_dense().isfinite().all() for p in parameters if p.grad is not None)


def made(way: str = "passes", size: int = 16) -> Meter:
    meter = Meter(workers=1, nodes=1, initial_batch_size=size, halves=way == "halves")
    meter.reads(SAMPLES)
    return meter


def watched(meter: Meter, kind: str) -> tuple[nn.Module, Optimizer]:
    net = network()
    optimizer = KINDS[kind](net)
    meter.probe.watch_model(net)
    meter.probe.precondition_by(optimizer)
    return net, optimizer


def timed(
    every: int, pass_s: Callable[[Meter], float] = lambda _: 1.0
) -> tuple[Meter, list[float], Callable[..., None]]:
    """A meter that measures so often, its clock, which passes move on, and a training under it."""
    meter, now_s = made("differences"), [0.0]
    net, optimizer = watched(meter, "sgd")
    learn = learning(net)
    meter.every = every
    meter._watch = Stopwatch(lambda: now_s[0], None)

    def one_pass(one: Pass, read: Tensor) -> None:
        learn(one, read)
        now_s[0] += pass_s(meter)

    return meter, now_s, partial(run, meter, optimizer, WAYS["differences"], one_pass=one_pass)


def learning(net: nn.Module) -> Callable[[Pass, Tensor], None]:
    inputs, targets = data()

    def one_pass(_: Pass, read: Tensor) -> None:
        nn.functional.mse_loss(net(inputs[read]), targets[read]).backward()

    return one_pass


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", WAYS)
def test_it_is_the_exact_noise_scale_of_the_data_set(kind: str, way: str) -> None:
    """Every optimizer, every way, a rate of 0: the truth can be counted out and does not move."""
    meter = made(way)
    net, optimizer = watched(meter, kind)
    run(meter, optimizer, WAYS[way], epochs=60, one_pass=learning(net))
    phi, error = meter.noise.estimate(), meter.noise.error()
    assert phi is not None
    assert error is not None
    truth = exact(net, optimizer)
    assert abs(phi - truth) < 3 * error
    assert error < 0.35 * truth
    assert meter.noise.reliable


def test_the_data_set_is_read_without_replacement() -> None:
    """As if it were infinite, phi near its size came out many times too large: 4,549 for 210."""
    meter = made()
    meter.every, meter.noise.horizon_examples = 1, 1e9  # all that there is, for a small error
    net, optimizer = watched(meter, "sgd")
    inputs, targets = data()
    with torch.no_grad():  # near the optimum: the gradient is small against its noise
        solution = torch.linalg.lstsq(torch.cat([inputs, torch.ones(SAMPLES, 1)], 1), targets)
        net.weight.copy_(solution.solution[:-1].T)
        net.bias.copy_(solution.solution[-1] + 2.5)
    truth = exact(net, optimizer)
    assert truth == pytest.approx(210, rel=0.01)
    run(meter, optimizer, Split(16, 1, 2), epochs=40, one_pass=learning(net))
    phi, error, noise = meter.noise.estimate(), meter.noise.error(), meter.noise
    assert phi is not None
    assert error is not None
    assert abs(phi - truth) < 2 * error
    assert error < 0.4 * truth
    assert noise.variance > 3 * truth * noise.gradient


def test_adam_goes_through_a_change_of_batch() -> None:
    """AdaptDL wrote an int over Adam's step tensor, and reset its moments: every later step raised.
    Here phi is at the truth before and after, since both sides of a pair have the same P."""
    meter = made(size=8)
    net, optimizer = watched(meter, "adam")
    for split in (Split(8, 1, 4), Split(48, 1, 24)):
        meter.restart()
        run(meter, optimizer, split, epochs=50, one_pass=learning(net))
        phi, error = meter.noise.estimate(), meter.noise.error()
        assert phi is not None
        assert error is not None
        assert abs(phi - exact(net, optimizer)) < 3 * error
    state = optimizer.state[next(net.parameters())]
    assert isinstance(state["step"], Tensor)
    assert float(state["step"]) == 50 * (SAMPLES // 8 + SAMPLES // 48)


@pytest.mark.parametrize("odd", ["overflow", "nan", "no gradient", "zero"])
@pytest.mark.parametrize("way", ["passes", "differences"])
def test_odd_steps_are_left_out(odd: str, way: str) -> None:
    """One scaled loss that overflows must not end the estimate for the rest of the run."""
    meter = made(way)
    net, optimizer = watched(meter, "sgd")
    usual = learning(net)

    def one_pass(one: Pass, read: Tensor) -> None:
        if meter.steps % 20 not in {4, 5, 8}:
            usual(one, read)
        elif odd != "no gradient":
            factor = {"overflow": 1e30, "nan": torch.nan, "zero": 0.0}[odd]
            (net(data()[0][read] * factor).square().sum() * factor).backward()

    run(meter, optimizer, WAYS[way], epochs=40, one_pass=one_pass)
    phi, error = meter.noise.estimate(), meter.noise.error()
    assert phi is not None
    assert error is not None
    net.zero_grad()
    assert abs(phi - exact(net, optimizer)) < 3 * error


def test_zero_gradients_alone_are_no_estimate() -> None:
    meter = made()
    net, optimizer = watched(meter, "adam")
    run(
        meter,
        optimizer,
        WAYS["passes"],
        epochs=20,
        one_pass=lambda one, read: (net(data()[0][read]).sum() * 0.0).backward(),
    )
    assert meter.noise.estimate() is None
    assert meter.noise.error() is None


def test_an_embedding_whose_rows_are_rarely_looked_up_is_flagged() -> None:
    """Ratings of films by matrix factorisation: phi said 23,640 and then a million, and batches as
    large as that never reached the target."""
    meters = {}
    for rows in (4, 4000):
        meter, net = made(), nn.Sequential(nn.Embedding(rows, 3), nn.Linear(3, 1))
        optimizer = torch.optim.Adam(net.parameters(), lr=0.0)
        meter.probe.watch_model(net)
        meter.probe.precondition_by(optimizer)

        def one_pass(_: Pass, read: Tensor, net: nn.Module = net, rows: int = rows) -> None:
            net(read * 7919 % rows).square().mean().backward()

        run(meter, optimizer, WAYS["passes"], epochs=10, one_pass=one_pass)
        assert meter.noise.pairs > 8
        meters[rows] = meter
    assert meters[4].noise.reliable
    assert not meters[4000].noise.reliable


@pytest.mark.parametrize("way", ["passes", "halves"])
def test_sparse_gradients_are_left_out_and_flagged(way: str) -> None:
    meter = made(way)
    net = nn.Sequential(nn.Embedding(50, 3, sparse=True), nn.Linear(3, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.0)
    meter.probe.watch_model(net)
    meter.probe.precondition_by(optimizer)

    def one_pass(_: Pass, read: Tensor) -> None:
        net(read % 50).square().mean().backward()

    run(meter, optimizer, WAYS[way], epochs=20, one_pass=one_pass)
    assert meter.noise.estimate() is not None
    assert not meter.noise.reliable
    assert net[0].weight.grad.is_sparse


def test_where_measuring_is_dear_it_is_done_rarely() -> None:
    meter = made("differences")
    net, optimizer = watched(meter, "sgd")
    run(meter, optimizer, WAYS["differences"], epochs=40, one_pass=learning(net))
    meter.step_s, meter.every = 1.0, 2
    asked = []
    for cost_s in (1e-4, 0.03, 0.3, 100.0):
        meter._cost_s = cost_s
        asked.append(meter.wanted_every())
    assert asked == [2, 8, 64, 128]


def test_all_that_a_measured_step_takes_longer_counts() -> None:
    """Only the hooks were counted, and not that they come and go, nor that caches are full of other
    things then: half as much again."""
    meter, _, training = timed(8, lambda meter: 3.0 if meter.steps % meter.every < 2 else 1.0)
    training(epochs=20)
    assert meter._cost_s is not None
    assert 2.0 < meter._cost_s <= 4.0  # of two steps that are 2 s longer each


def test_what_tidies_up_after_a_measured_step_counts() -> None:
    """Hooks go, and the next row of plain steps is reckoned: a fifth of what a pair costs a small
    network, and nobody's."""
    meter, now_s, training = timed(8)

    def tidies(end_pass: Callable[[Pass], None]) -> Callable[[Pass], None]:
        def ended(one: Pass) -> None:
            measured = meter._measured
            end_pass(one)
            now_s[0] += 0.5 if measured else 0.0

        return ended

    meter.end_pass = tidies(meter.end_pass)  # type: ignore[method-assign]
    training(epochs=20)
    assert meter._cost_s == pytest.approx(1.0, rel=0.2)  # of two steps with 0.5 s after each


def test_what_the_script_does_between_two_epochs_is_no_cost_of_measuring() -> None:
    """A look at the test set after a measured step seemed to cost as much as it took."""
    meter, now_s, training = timed(2)
    for epoch in range(20):
        training(epochs=1, exchange=bool(epoch % 2))
        now_s[0] += 50.0
    assert meter._cost_s is not None
    assert meter._cost_s < 0.01  # of a step


def test_halving_is_never_taken_for_free() -> None:
    """The cost is a difference of two times. On a busy machine it came out below 0, every other
    step was halved, and training took a fifth longer."""
    meter = made("halves")
    net, optimizer = watched(meter, "sgd")
    run(meter, optimizer, WAYS["halves"], epochs=40, one_pass=learning(net))
    meter.step_s, meter._cost_s = 1.0, -0.5
    assert meter.wanted_every() == 64


def test_at_first_it_is_done_often_enough_to_have_an_estimate_soon() -> None:
    meter = made("differences")
    assert meter.wanted_every() == 4
    meter.step_s, meter._cost_s = 1.0, 100.0
    assert meter.wanted_every() == 8


def test_what_measuring_may_take_fades_as_more_is_known() -> None:
    """It fell from a twentieth of the time to a two-hundredth at one moment: thirty pairs in the
    first two epochs of a short training, and ten in the other twenty-eight."""
    meter = made("differences")
    meter.step_s = 1.0
    for cost_s, apart in (
        (0.2, [4, 4, 8, 16, 64, 64, 64]),  # the share of the time
        (100.0, [8, 8, 16, 32, 128, 128, 128]),  # the most steps apart
    ):
        meter._cost_s, asked = cost_s, []
        for taken in (1, 16, 20, 32, 64, 128, 10_000):
            meter.noise.taken, meter.every = taken, 2
            asked.append(meter.wanted_every())
        assert asked == apart


def test_it_goes_on_from_its_saved_state() -> None:
    meter, again = made(), made()
    net, optimizer = watched(meter, "adam")
    run(meter, optimizer, WAYS["passes"], epochs=20, one_pass=learning(net))
    again.load_state_dict(meter.state_dict())
    assert again.noise.estimate() == meter.noise.estimate()
    assert again.noise.error() == meter.noise.error()
