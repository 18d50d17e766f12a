"""Laws of allocations and of the sizes that a job may hold."""

from dataclasses import FrozenInstanceError, replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.ids import JobId, NodeId
from headway.core.types import (
    NOTHING,
    Allocation,
    BatchMode,
    Decision,
    GpuBounds,
    JobSpec,
    JobView,
    Node,
    Placement,
    Snapshot,
    total_gpus,
    work_examples,
)
from headway.testing.snapshots import job, report
from headway.testing.strategies import clusters, gpu_bounds, job_specs

N0, N1 = NodeId("n0"), NodeId("n1")
GPUS = st.dictionaries(st.sampled_from([NodeId(f"n{i}") for i in range(6)]), st.integers(0, 8))


@given(GPUS)
def test_an_allocation_counts_its_gpus_and_drops_empty_nodes(gpus: dict[NodeId, int]) -> None:
    allocation = Allocation.of(gpus)
    held = {node_id: count for node_id, count in gpus.items() if count}
    assert dict(allocation.per_node) == held
    assert allocation.placement == Placement(sum(held.values()), len(held))
    assert bool(allocation) == bool(allocation.gpus) == bool(held)
    assert all(allocation.on(node_id) == count for node_id, count in gpus.items())
    assert allocation.on(NodeId("elsewhere")) == 0


@given(GPUS, st.randoms())
def test_allocations_are_equal_whatever_order_they_were_written_in(
    gpus: dict[NodeId, int], random: Random
) -> None:
    """A decision is compared with what is held: an order of dictionary keys is no change."""
    items = list(gpus.items())
    random.shuffle(items)
    assert Allocation.of(dict(items)) == Allocation.of(gpus)


def test_nothing_is_no_allocation() -> None:
    assert not NOTHING
    assert Allocation.of({N0: 0}) == NOTHING
    assert Decision(allocations={JobId("a"): Allocation.of({N0: 1})}).of(JobId("b")) == NOTHING


@given(gpu_bounds(), st.integers(0, 20))
def test_allowed_sizes_ascend_inside_the_bounds(bounds: GpuBounds, at_most: int) -> None:
    sizes = bounds.allowed(at_most)
    assert list(sizes) == sorted(set(sizes))
    assert all(bounds.min_gpus <= size <= min(bounds.max_gpus, at_most) for size in sizes)
    assert bounds.sizes is None or set(sizes) <= set(bounds.sizes)
    everything = bounds.allowed(bounds.max_gpus)
    assert sizes == tuple(size for size in everything if size <= at_most)
    assert everything[0] == bounds.smallest
    assert bounds.elastic == (len(everything) > 1)


def test_a_range_and_a_list_of_sizes() -> None:
    assert GpuBounds(min_gpus=2, max_gpus=8).allowed(4) == (2, 3, 4)
    assert GpuBounds(min_gpus=2, max_gpus=8, sizes=(2, 4, 8)).allowed(7) == (2, 4)
    assert GpuBounds(min_gpus=4, max_gpus=4).elastic is False
    assert GpuBounds().allowed(64) == (1,)


def test_the_smallest_size_is_one_that_may_be_held() -> None:
    """Past bug: the first of the sizes, even where the job may not hold so few."""
    assert GpuBounds(min_gpus=3, max_gpus=8, sizes=(2, 4, 8)).smallest == 4


@given(clusters())
def test_a_cluster_has_the_gpus_of_its_nodes(cluster: tuple[Node, ...]) -> None:
    snapshot = Snapshot(now_s=0.0, round_index=0, round_s=60.0, nodes=cluster, jobs=())
    assert snapshot.gpus == total_gpus(cluster) == sum(node.gpus for node in cluster)


@given(job_specs(submitted_s=100.0))
def test_a_job_ages_from_its_submission_and_cannot_be_altered(spec: JobSpec) -> None:
    view = JobView(
        spec=spec,
        allocation=NOTHING,
        attained_gpu_s=0.0,
        restarts=0,
        max_gpus_held=0,
        first_started_s=None,
        report=None,
    )
    assert view.age_s(160.0) == 60.0
    assert spec.batch.adapts == (spec.batch.mode is BatchMode.ADAPTIVE)
    with pytest.raises(FrozenInstanceError):
        spec.weight = 2.0  # type: ignore[misc]


@pytest.mark.parametrize("told", [None, 0.0, -5.0, 1e24, 1e308])
def test_a_length_that_is_none_leaves_what_was_declared(told: float | None) -> None:
    """Below 0 a job was -2,000 % done; ``job.epochs(sys.maxsize)`` says that it never ends."""
    spec = replace(job("a").spec, work_examples=7.0)
    assert work_examples(spec, replace(report(), total_examples=told)) == 7.0
    assert work_examples(spec, replace(report(), total_examples=9.0)) == 9.0
