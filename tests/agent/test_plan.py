"""Laws of the plan: every sample exactly once an epoch, whatever the sizes and the yields."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.agent.plan import Orders, Split, epoch_order, micro_batches, part, passes_from

generations = st.lists(
    st.tuples(
        st.integers(1, 6),  # workers
        st.integers(1, 40),  # batch size
        st.integers(1, 40),  # samples in a pass at most
        st.integers(0, 9),  # steps until the next yield or change
    ),
    max_size=12,
)


@given(samples=st.integers(0, 200), sequence=generations)
def test_any_sequence_of_sizes_and_yields_reads_each_sample_once(
    samples: int, sequence: list[tuple[int, int, int, int]]
) -> None:
    order = epoch_order(samples, epoch=3, seed=7, shuffled=True)
    counts, position = np.zeros(samples, dtype=np.int64), 0
    for workers, batch_size, per_pass, steps in [*sequence, (2, 8, 4, 10**6)]:
        split, start = Split(batch_size, workers, per_pass), position
        for worker in range(workers):
            made = 0
            for one in passes_from(start, samples, worker, split):
                if made == steps:
                    break
                assert one.samples <= per_pass
                np.add.at(counts, order[one.start : one.stop], 1)
                made += one.last
                position = max(position, one.step_start + one.step_size)
    assert position == samples
    assert np.all(counts == 1)


@given(
    samples=st.integers(1, 200),
    workers=st.integers(1, 6),
    batch_size=st.integers(1, 40),
    per_pass=st.integers(1, 40),
)
def test_workers_make_the_same_passes_of_nearly_equal_size(
    samples: int, workers: int, batch_size: int, per_pass: int
) -> None:
    """Otherwise a worker would wait in a collective that another never enters."""
    split = Split(batch_size, workers, per_pass)
    plans = [list(passes_from(0, samples, worker, split)) for worker in range(workers)]
    for together in zip(*plans, strict=True):
        assert (
            len({(one.step_start, one.step_size, one.index, one.passes) for one in together}) == 1
        )
    for plan in plans:
        assert all(one.passes <= split.accum_steps + 1 for one in plan)
    sizes = [sum(one.samples for one in plan if one.step_start == 0) for plan in plans]
    assert max(sizes) - min(sizes) <= 1
    assert plans[0][0].samples > 0  # worker 0 reports losses: it is never idle


def test_the_order_depends_on_seed_and_epoch_alone() -> None:
    first = epoch_order(100, epoch=0, seed=1, shuffled=True)
    assert np.array_equal(first, epoch_order(100, epoch=0, seed=1, shuffled=True))
    assert not np.array_equal(first, epoch_order(100, epoch=1, seed=1, shuffled=True))
    assert not np.array_equal(first, epoch_order(100, epoch=0, seed=2, shuffled=True))
    assert np.array_equal(epoch_order(5, epoch=9, seed=1, shuffled=False), np.arange(5))


@pytest.mark.parametrize("seed", [0, 7, (1 << 32) - 1, 1 << 32])
def test_the_order_is_that_of_a_list_of_both_numbers(seed: int) -> None:
    """A checkpoint of before goes on in the order that it began; a larger seed is no exception."""
    drawn = np.random.default_rng([seed, 3]).permutation(20)
    assert np.array_equal(epoch_order(20, epoch=3, seed=seed, shuffled=True), drawn)


def test_a_fixed_batch_that_does_not_divide_stays_whole() -> None:
    sizes = [stop - start for start, stop in (part(10, 42, 3, index) for index in range(3))]
    assert sizes == [11, 11, 10]


def test_the_small_batch_is_the_harmonic_mean_of_what_was_read() -> None:
    """E|g_i|^2 = |G|^2 + tr Sigma / b_i, so the mean over passes is at the mean of 1 / b_i."""
    assert micro_batches(32, 1, 2) == (2, 16.0)
    passes, size = micro_batches(3, 2, 1)
    assert passes == 2
    assert np.isclose(1 / size, (1 / 2 + 1 / 1) / 2)
    assert micro_batches(1, 4, 1) == (1, 1.0)


@pytest.mark.parametrize("samples", [0, 1, 100, 20_000])
@pytest.mark.parametrize("shuffled", [True, False])
def test_orders_that_are_drawn_ahead_are_those_of_each_epoch(samples: int, shuffled: bool) -> None:
    orders = Orders(samples, seed=7, shuffled=shuffled)
    for epoch in (0, 1, 2, 40, 3):  # a worker that joins others begins anywhere
        wanted = epoch_order(samples, epoch=epoch, seed=7, shuffled=shuffled)
        assert np.array_equal(orders.of(epoch), wanted)


@pytest.mark.parametrize("shuffled", [True, False])
def test_of_a_huge_data_set_one_order_is_kept_at_a_time(shuffled: bool) -> None:
    """The next one was drawn beside it, and then copied: of a billion samples 24 GB."""
    samples = 1 << 18
    orders = Orders(samples, seed=1, shuffled=shuffled)
    tracemalloc.start()
    try:
        for epoch in range(3):
            orders.of(epoch)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 1.5 * 8 * samples
