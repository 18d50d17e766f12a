"""What a worker has read of an epoch: counted or not, it is the same."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headway.agent.plan import epoch_order
from headway.agent.reads import Counts, Reads


def once(counts: Counts) -> Counts:
    return counts


@given(
    everything=st.integers(1, 40),
    dropped=st.integers(0, 3),
    cuts=st.lists(st.integers(0, 40), max_size=6),
    asked=st.lists(st.booleans(), min_size=7, max_size=7),
    skipped=st.integers(-1, 6),
)
def test_one_worker_needs_no_counting_to_know_what_counting_tells(
    everything: int, dropped: int, cuts: list[int], asked: list[bool], skipped: int
) -> None:
    """Any ranges, one perhaps left away, some counted on the way as for a checkpoint."""
    samples = max(everything - dropped, 1)
    order = epoch_order(everything, epoch=0, seed=1, shuffled=True)[:samples]
    edges = sorted({0, samples, *(cut for cut in cuts if cut < samples)})
    counted, alone = Reads(everything, lambda: order), Reads(everything, lambda: order)
    for epoch in range(2):
        read = np.zeros(everything, dtype=np.int64)
        for index, (start, stop) in enumerate(pairwise(edges)):
            if index != skipped:
                counted.add(start, stop)
                alone.add(start, stop)
                read[order[start:stop]] += 1
            if asked[index]:
                assert np.array_equal(alone.counts, read)
        assert alone.of_epoch_alone(epoch, samples) == counted.of_epoch(epoch, samples, once)
        assert np.array_equal(counted.counts, read)
        counted.begin_epoch()
        alone.begin_epoch()
        assert not alone.counts.any()


def test_what_others_have_read_counts() -> None:
    """After a resize a worker begins with the counts of all who were there before."""
    reads = Reads(4, lambda: np.arange(4))
    reads.counts[:] = [1, 1, 0, 0]
    reads.add(2, 4)
    assert reads.of_epoch_alone(3, 4).read_least == 1
    reads.add(0, 4)
    assert reads.of_epoch_alone(3, 4).read_most == 2
