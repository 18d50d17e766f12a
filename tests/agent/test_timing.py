"""Step times: what is dropped, averaged and aged."""

from math import inf, nan

import pytest

from headway.agent.timing import (
    HALF_LIFE_S,
    MOST_KINDS,
    TIMED_ON_DEVICE,
    WARM_UP_STEPS,
    History,
    Shape,
    Stopwatch,
)

SHAPE = Shape(gpus=2, nodes=1, batch_per_gpu=16, accum_steps=1)


class Clock:
    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def passes(watch: Stopwatch, clock: Clock, *took_s: float) -> None:
    for index, seconds in enumerate(took_s):
        watch.begin_pass(index)
        clock.now_s += seconds
        watch.end_pass(last=index == len(took_s) - 1)


def test_the_first_steps_after_a_change_are_dropped() -> None:
    clock = Clock()
    watch = Stopwatch(clock, wait=None)
    taken = []
    for _ in range(WARM_UP_STEPS + 1):
        passes(watch, clock, 1.0, 1.0)
        taken.append(watch.step(alone=True, last_gradient_s=clock.now_s))
    assert taken == [None] * WARM_UP_STEPS + [(1.0, 2.0)]
    watch.restart()
    passes(watch, clock, 1.0)
    assert watch.step(alone=True, last_gradient_s=clock.now_s) is None


def test_waiting_for_the_others_is_not_part_of_a_pass() -> None:
    clock = Clock()
    watch = Stopwatch(clock, wait=None)
    for _ in range(WARM_UP_STEPS + 1):
        passes(watch, clock, 1.0, 3.0)
        taken = watch.step(alone=False, last_gradient_s=clock.now_s - 2.0)
    assert taken == (1.0, 4.0)


def test_the_host_waits_for_the_device_in_few_steps_only() -> None:
    clock, waits = Clock(), []
    watch = Stopwatch(clock, wait=lambda: waits.append(1))
    timed = 0
    for _ in range(4 * TIMED_ON_DEVICE):
        passes(watch, clock, 1.0)
        timed += watch.step(alone=True, last_gradient_s=clock.now_s) is not None
    assert len(waits) == 2 * 4
    assert timed == 3  # the first of the four is warming up


def test_observations_average_the_steps_of_a_shape() -> None:
    history = History()
    assert history.observations() is None
    for step_s in (1.0, 3.0):
        history.add(SHAPE, grad_s=step_s / 4, step_s=step_s)
    history.add(Shape(1, 1, 32, 0), grad_s=5.0, step_s=5.0)
    seen = history.observations()
    assert seen is not None
    assert list(seen.gpus) == [2, 1]
    assert list(seen.accum_steps) == [1, 0]
    assert list(seen.step_s) == pytest.approx([2.0, 5.0], rel=0.01)
    assert list(seen.grad_s) == pytest.approx([0.5, 5.0], rel=0.01)
    assert list(seen.weight) == pytest.approx([2.0, 1.0], rel=0.05)


def test_gpu_types_are_told_apart_once_all_are_known() -> None:
    """A checkpoint of an older version knows none, and it might have been any."""
    history = History()
    for gpu_type in ("t4", "a100"):
        history.add(Shape(1, 1, 32, 0, gpu_type), grad_s=1.0, step_s=1.0)
    seen = history.observations()
    assert seen is not None
    assert seen.gpu_type == ["t4", "a100"]
    history.add(Shape(1, 1, 32, 0), grad_s=1.0, step_s=1.0)
    seen = history.observations()
    assert seen is not None
    assert seen.gpu_type is None


def test_what_is_old_weighs_less() -> None:
    """AdaptDL's profile was never aged: one slow node stayed in the model for ever."""
    history = History()
    history.add(SHAPE, grad_s=1.0, step_s=1.0)
    history.add(Shape(1, 1, 32, 0), grad_s=HALF_LIFE_S, step_s=HALF_LIFE_S)
    seen = history.observations()
    assert seen is not None
    assert seen.weight[0] == pytest.approx(0.5, rel=0.01)
    for _ in range(20):
        history.add(SHAPE, grad_s=3.0, step_s=HALF_LIFE_S)
    seen = history.observations()
    assert seen is not None
    assert seen.step_s[0] == pytest.approx(HALF_LIFE_S, rel=0.01)


def test_it_is_bounded_and_takes_no_nonsense() -> None:
    history = History()
    for batch in range(1, 3 * MOST_KINDS):
        history.add(Shape(1, 1, batch, 0), grad_s=2.0, step_s=1.0)
    for nonsense in (0.0, -1.0, inf, nan):
        history.add(SHAPE, grad_s=1.0, step_s=nonsense)
    seen = history.observations()
    assert seen is not None
    assert seen.gpus.size == MOST_KINDS
    assert (seen.grad_s <= seen.step_s).all()
    assert seen.batch_per_gpu.max() == 3 * MOST_KINDS - 1


def test_it_goes_on_from_its_saved_state() -> None:
    history, restored = History(), History()
    history.add(SHAPE, grad_s=1.0, step_s=2.0)
    restored.load_state_dict(history.state_dict())
    assert restored.state_dict() == history.state_dict()
    assert restored.news  # there is something to fit


@pytest.mark.parametrize("row", [1, 7, 64, 300])
def test_steps_that_are_told_together_count_as_if_told_one_by_one(row: int) -> None:
    """Odd ones too, and a row that is longer than all that an average remembers."""
    together, apart = History(), History()
    laps_s = [0.002 + 0.0001 * (step % 5) for step in range(2400)]
    laps_s[1000:1003] = [inf, -1.0, 40.0]
    for start in range(0, len(laps_s), row):
        together.add_row(SHAPE, laps_s[start : start + row])
    for lap_s in laps_s:
        apart.add(SHAPE, grad_s=lap_s, step_s=lap_s)
    seen, known = together.observations(), apart.observations()
    assert seen is not None
    assert known is not None
    assert seen.step_s[0] == pytest.approx(known.step_s[0], rel=0.01)
    assert seen.grad_s[0] == seen.step_s[0]
    assert seen.weight[0] == pytest.approx(known.weight[0], rel=0.01)
    assert seen.error[0] == pytest.approx(known.error[0], rel=0.25)  # blocks end elsewhere


def test_of_nothing_nothing_is_kept() -> None:
    history = History()
    history.add_row(SHAPE, [nan, 0.0])
    history.add(SHAPE, grad_s=1.0, step_s=inf)
    assert history.observations() is None


def test_steps_that_no_one_times_on_a_device_leave_the_timed_ones_where_they_are() -> None:
    watch = Stopwatch(Clock(), wait=lambda: None)
    assert watch.untimed_ahead() == 0  # warming up
    for _ in range(WARM_UP_STEPS):
        passes(watch, watch.now_s, 1.0)
        watch.step(alone=True, last_gradient_s=0.0)
    ahead = watch.untimed_ahead()
    assert ahead == TIMED_ON_DEVICE - WARM_UP_STEPS
    assert watch.passed([5.0] * ahead) == []  # the host's seconds say nothing
    assert watch.untimed_ahead() == 0  # the next is timed
