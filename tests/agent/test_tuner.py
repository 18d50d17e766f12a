"""The choice of (m, s): inside the owner's bounds, for a gain worth having, never for `fixed`."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.agent.plan import Split
from headway.agent.timing import History, Shape
from headway.agent.tuner import GROWTH, Tuner, wanted_batch_size
from headway.core.errors import InvalidInputError
from headway.core.model.fit import StepErrors
from headway.core.model.observations import Observations
from headway.core.types import BatchContract, BatchMode, Placement

CONTRACT = BatchContract(
    initial_batch_size=32, max_batch_size=512, max_batch_per_gpu=128, mode=BatchMode.ADAPTIVE
)
FIXED = replace(CONTRACT, max_batch_size=32, mode=BatchMode.FIXED)


class Clock:
    now_s = 0.0

    def __call__(self) -> float:
        self.now_s += 0.01
        return self.now_s


def tuner(contract: BatchContract, workers: int = 1, *, tunes: bool = True) -> Tuner:
    made = Tuner(contract, tunes=tunes, workers=workers, nodes=1, clock=Clock())
    made.refit(tuner_history())
    return made


def tuner_history() -> History:
    history = History()
    for batch in (16, 32, 64):  # 0.1 s to start a pass, 1 ms an example, 0.2 s to synchronise
        grad_s = 0.1 + 1e-3 * batch
        for _ in range(400):
            history.add(Shape(1, 1, batch, 0), grad_s=grad_s, step_s=grad_s)
            history.add(Shape(2, 1, batch, 0), grad_s=grad_s, step_s=grad_s + 0.2)
    return history


def test_a_large_noise_scale_makes_a_large_batch_worth_it_in_bounded_strides() -> None:
    made, split = tuner(CONTRACT), Split(32, 1, 32)
    sizes = []
    while change := made.choose(split, 1e5):
        assert change.gain >= 1.05
        assert change.split.batch_size <= GROWTH * split.batch_size
        split = change.split
        sizes.append(split.batch_size)
    # memory holds 128; more passes would only cost more starts of a pass
    assert sizes == [128]


def test_no_step_is_larger_than_an_epoch() -> None:
    change = tuner(CONTRACT).choose(Split(32, 1, 32), 1e5, samples=50)
    assert change is not None
    assert 46 <= change.split.batch_size <= 50  # sizes are tried in equal ratios


@pytest.mark.parametrize("noise_scale", [None, 0.0])
def test_without_a_noise_scale_the_batch_stays(noise_scale: float | None) -> None:
    assert tuner(CONTRACT).choose(Split(32, 1, 32), noise_scale) is None


def test_a_gain_below_one_percent_changes_nothing() -> None:
    made = tuner(CONTRACT)
    best = made.choose(Split(32, 1, 32), 300.0)
    assert best is not None
    near = replace(best.split, batch_per_gpu=best.split.batch_per_gpu - 6)
    near = replace(near, batch_size=near.batch_per_gpu)
    assert made.choose(near, 300.0) is None


def test_a_fixed_batch_is_never_changed_nor_one_the_policy_keeps() -> None:
    assert tuner(FIXED).choose(Split(32, 1, 32), 1e5) is None
    assert tuner(CONTRACT, tunes=False).choose(Split(32, 1, 32), 1e5) is None


@given(workers=st.integers(1, 64), wanted=st.integers(1, 4096), adapts=st.booleans())
def test_a_start_keeps_the_contract(workers: int, wanted: int, adapts: bool) -> None:
    contract = CONTRACT if adapts else FIXED
    made = Tuner(contract, tunes=True, workers=workers, nodes=1, clock=Clock())
    split = made.start(wanted if adapts else 32)
    assert split.workers == workers
    assert split.batch_per_gpu <= contract.max_batch_per_gpu
    assert split.accum_steps <= contract.max_accum_steps
    if adapts:
        assert 32 <= split.batch_size <= 512
    else:
        assert split.batch_size == 32


def test_a_fixed_batch_that_cannot_fit_is_refused_in_words() -> None:
    contract = replace(FIXED, initial_batch_size=64, max_batch_size=64, max_batch_per_gpu=3)
    made = Tuner(contract, tunes=True, workers=1, nodes=1, clock=Clock())
    with pytest.raises(InvalidInputError, match="batch of 64 needs more than 15 accumulation"):
        made.start(64)


def test_a_fit_is_made_for_news_only_and_takes_a_bounded_share_of_the_time() -> None:
    clock = Clock()
    made = Tuner(CONTRACT, tunes=True, workers=1, nodes=1, clock=clock)
    history = History()
    made.refit(history)
    assert made.fit.message == "never fitted"
    history.add(Shape(1, 1, 32, 0), grad_s=1.0, step_s=1.0)
    made.refit(history)
    first = made.fit
    history.add(Shape(1, 1, 64, 0), grad_s=9.0, step_s=9.0)
    made.refit(history)
    assert made.fit is first  # too early
    clock.now_s += 100.0
    made.refit(history)
    second = made.fit
    assert second is not first
    clock.now_s += 100.0
    made.refit(history)
    assert made.fit is second  # nothing new


def test_refits_follow_changes_and_not_steps() -> None:
    """A thousand steps that say the same are worth a few fits, each from twice as many."""
    clock = Clock()
    made, history = Tuner(CONTRACT, tunes=True, workers=1, nodes=1, clock=clock), History()
    fits = []
    for step in range(1200):
        took_s = 1.0 if step < 1000 else 2.0
        history.add(Shape(1, 1, 32, 0), grad_s=took_s, step_s=took_s)
        clock.now_s += 10.0
        made.refit(history)
        fits.append(made.fits)
    assert fits[0] == 1
    assert fits[999] <= 9  # 1, 2, 4 ... 200 steps, as many as are remembered
    assert fits[1199] > fits[999]  # the steps became longer
    at_rest = made.fits
    history.add(Shape(2, 1, 32, 0), grad_s=1.0, step_s=1.1)
    made.refit(history)
    assert made.fits == at_rest + 1  # another shape


def test_a_fit_that_fails_keeps_the_last_and_says_so() -> None:
    class Broken(History):
        def observations(self) -> Observations | None:
            seen = super().observations()
            return None if seen is None else replace(seen, step_s=seen.step_s * np.nan)

    made = tuner(CONTRACT)
    last, clock = made.fit, made._clock
    assert isinstance(clock, Clock)
    clock.now_s += 1000.0
    broken = Broken()
    broken.add(Shape(1, 1, 32, 0), grad_s=1.0, step_s=1.0)
    made.refit(broken)
    assert made.fit.params == last.params
    assert made.fit.trouble == "a measured time or batch is not a positive number"
    assert made.step_errors(Split(32, 1, 32)) == StepErrors(
        last.step_errors(Placement(1, 1), batch_per_gpu=32, accum_steps=0).here,
        last.step_errors(Placement(2, 1), batch_per_gpu=32, accum_steps=0).here,
    )
    fits = made.fits
    clock.now_s += 1000.0
    made.refit(broken)
    assert made.fits == fits  # not again for the same
    broken.add(Shape(2, 1, 32, 0), grad_s=1.0, step_s=1.0)
    made.refit(tuner_history())
    assert made.fit.trouble == ""


def test_the_batch_to_start_with() -> None:
    assert wanted_batch_size(CONTRACT, tunes=True, requested=128) == 32
    assert wanted_batch_size(CONTRACT, tunes=False, requested=128) == 128
    assert wanted_batch_size(FIXED, tunes=False, requested=32) == 32


def test_the_fit_survives_a_checkpoint() -> None:
    made = tuner(CONTRACT)
    restored = Tuner(CONTRACT, tunes=True, workers=1, nodes=1, clock=Clock())
    restored.load_state_dict(made.state_dict())
    then, now = made.choose(Split(32, 1, 32), 1e5), restored.choose(Split(32, 1, 32), 1e5)
    assert then is not None
    assert now is not None
    assert now.split == then.split
    assert now.gain == pytest.approx(then.gain)


def test_a_pass_is_known_for_each_gpu_type_that_the_job_has_run_on() -> None:
    """Three times as fast on the other type: the report says so, and the choice is made there."""
    made = Tuner(CONTRACT, tunes=True, workers=1, nodes=1, clock=Clock(), gpu_type="a100")
    history = History()
    for batch in (16, 32, 64):
        for gpu_type, factor in (("t4", 1.0), ("a100", 1 / 3)):
            grad_s = (0.1 + 1e-3 * batch) * factor
            for _ in range(40):
                history.add(Shape(1, 1, batch, 0, gpu_type), grad_s=grad_s, step_s=grad_s)
    made.refit(history)
    pairs = {one.gpu_type: one.beta_grad_s for one in made.fit.grad_by_type}
    assert pairs["t4"] == pytest.approx(3 * pairs["a100"], rel=0.05)
    assert pairs["t4"] == pytest.approx(1e-3, rel=0.05)
    assert made.choose(Split(32, 1, 32), 1e5) is not None
