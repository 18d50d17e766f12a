"""Laws of a trajectory: epochs are preserved exactly, whatever the batch sizes."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.traces.trajectory import Trajectory


@given(
    sizes=st.lists(st.sampled_from([16, 32, 256]), min_size=1, max_size=40),
    part=st.floats(0.01, 1.0),
    samples=st.integers(1, 100_000),
)
def test_the_stages_sum_to_the_epochs(sizes: list[int], part: float, samples: int) -> None:
    epochs = len(sizes) - 1 + part
    trajectory = Trajectory.of(sizes, epochs=epochs, samples_per_epoch=samples)
    assert sum(trajectory.stage_epochs) == pytest.approx(epochs)
    assert min(trajectory.stage_epochs) > 0
    assert trajectory.stage_ends[-1] == trajectory.work_examples == epochs * samples
    assert [size for epoch, size in enumerate(sizes) if epoch in dict(trajectory.stages)] == [
        *trajectory.batch_sizes
    ]
    assert all(left != right for left, right in pairwise(trajectory.batch_sizes))


@given(samples=st.integers(1, 10_000), size=st.integers(1, 20_000), step_s=st.floats(1e-3, 10))
def test_an_epoch_takes_a_whole_number_of_steps(samples: int, size: int, step_s: float) -> None:
    """The published simulator rounds completed epochs up at a batch change: one job of 720 s ended
    with a JCT of 18,622 s, because it counted as done and was not removed."""
    trajectory = Trajectory.of([size], epochs=1.0, samples_per_epoch=samples)
    steps = samples / (trajectory.rate_per_s(size, step_s) * step_s)
    assert steps == pytest.approx(round(steps))
    assert (round(steps) - 1) * size < samples <= round(steps) * size
