"""Batch sizes on a noisy machine: they change for what is certain, and then stay."""

from math import exp

import numpy as np
import pytest

from headway.agent.plan import Split
from headway.agent.timing import WARM_UP_STEPS, History, Shape
from headway.agent.tuner import Tuner
from headway.core.model.retune import LEAST_STEPS
from headway.core.types import BatchContract, BatchMode

CONTRACT = BatchContract(
    initial_batch_size=16, max_batch_size=256, max_batch_per_gpu=256, mode=BatchMode.ADAPTIVE
)
NOISE_SCALE = 220.0
SECONDS = 240.0
PHASE_S = 8.0  # that one load lasts, on average


def step_s(batch: int, ripple: float) -> float:
    """What no model of seven parameters meets: up and down with the batch size."""
    return float((0.004 + 0.0004 * batch) * (1 + ripple * np.sin(5 * np.log(batch))))


def goodput_per_s(batch: int, ripple: float) -> float:
    return batch / step_s(batch, ripple) * (NOISE_SCALE + 16) / (NOISE_SCALE + batch)


def batches(seed: int, *, each: float, load: float, ripple: float) -> list[int]:
    """The batch sizes of one job whose steps take long by chance, singly and for phases."""
    rng, now = np.random.default_rng(seed), [0.0]
    tuner = Tuner(CONTRACT, tunes=True, workers=1, nodes=1, clock=lambda: now[0])
    history, split, steps, changed = History(), Split(16, 1, 16), 0, [16]
    looks_s, phase_ends_s, slower = 1.0, 0.0, 1.0
    while now[0] < SECONDS:
        if now[0] >= phase_ends_s:
            slower = exp(load * abs(rng.standard_normal()))
            phase_ends_s = now[0] + rng.exponential(PHASE_S)
        took_s = step_s(split.batch_per_gpu, ripple) * slower * exp(each * rng.standard_normal())
        now[0] += took_s
        steps += 1
        if steps > WARM_UP_STEPS:
            shape = Shape(1, 1, split.batch_per_gpu, split.accum_steps)
            history.add(shape, grad_s=took_s, step_s=took_s)
        if now[0] < looks_s:
            continue
        looks_s += 1.0
        tuner.refit(history)
        noise_scale = NOISE_SCALE * exp(0.1 * rng.standard_normal())
        better = tuner.choose(split, noise_scale, noise_scale_error=0.1 * noise_scale)
        if better is not None and steps >= LEAST_STEPS:
            split, steps = better.split, 0
            changed.append(split.batch_size)
    return changed


def best_per_s(ripple: float) -> float:
    return max(goodput_per_s(batch, ripple) for batch in range(16, 257))


@pytest.mark.parametrize(("ripple", "least"), [(0.0, 0.97), (0.05, 0.9)])
@pytest.mark.parametrize("seed", range(3))
def test_steps_that_differ_lead_to_few_changes_and_to_a_good_batch(
    seed: int, ripple: float, least: float
) -> None:
    """A demo job went 16, 26, 16, 26 and so on for as long as it ran."""
    changed = batches(seed, each=0.2, load=0.0, ripple=ripple)
    assert len(changed) <= 4
    assert goodput_per_s(changed[-1], ripple) >= least * best_per_s(ripple)


@pytest.mark.parametrize("seed", range(3))
def test_load_that_comes_and_goes_changes_little(seed: int) -> None:
    changed = batches(seed, each=0.2, load=0.4, ripple=0.05)
    assert len(changed) <= 8  # one in half a minute
    assert goodput_per_s(changed[-1], 0.05) >= 0.85 * best_per_s(0.05)
