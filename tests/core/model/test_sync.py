"""T_sync by hand and by law, for each model of it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.model.sync import HOP, KINDS, MODELS, TREE, WIDTH
from headway.core.model.throughput import stack, sync_time_s
from headway.core.types import Locality, ThroughputKind, ThroughputParams
from headway.testing.strategies import throughput_params


def params(kind: ThroughputKind) -> ThroughputParams:
    return ThroughputParams(
        alpha_grad_s=1.0,
        beta_grad_s=0.0,
        alpha_local_s=0.1,
        beta_local_s=0.01,
        alpha_node_s=0.5,
        beta_node_s=0.02,
        gamma=1.0,
        kind=kind,
        alpha_rack_s=2.0,
        beta_rack_s=0.3,
        tree_s=0.04,
        hop_s=0.003,
    )


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (ThroughputKind.LINEAR, [0, 0.1, 0.12, 0.5, 0.62, 0.62, 0.62]),
        (ThroughputKind.RACKED, [0, 0.1, 0.12, 0.5, 0.62, 0.62, 2.0 + 6 * 0.3]),
        # a ring on two nodes; on four a tree, two doublings above two GPUs, two nodes above two
        (ThroughputKind.COLLECTIVE, [0, 0.1, 0.12, 0.5, 0.62, 0.586, 0.586]),
    ],
)
def test_synchronisation_by_hand(kind: ThroughputKind, expected: list[float]) -> None:
    gpus = [1, 2, 4, 2, 8, 8, 8]
    nodes = [1, 1, 1, 2, 2, 4, 4]
    locality = [0, 0, 0, 1, 1, 1, Locality.SEVERAL_RACKS]
    took_s = sync_time_s(stack([params(kind)]), gpus, locality, nodes)
    assert took_s == pytest.approx(expected)


@given(one=throughput_params(), gpus=st.integers(2, 512))
def test_a_bool_means_one_node_or_several_without_racks(one: ThroughputParams, gpus: int) -> None:
    theta = stack([one])
    for several in (False, True):
        by_bool = sync_time_s(theta, gpus, np.array([several]))
        assert by_bool == sync_time_s(theta, gpus, int(several), 1 + several)


@given(one=throughput_params(), gpus=st.integers(2, 512), nodes=st.integers(1, 64))
def test_more_gpus_on_as_many_nodes_never_synchronise_faster(
    one: ThroughputParams, gpus: int, nodes: int
) -> None:
    locality = [int(nodes > 1), 2 * int(nodes > 1)]
    fewer, more = (sync_time_s(stack([one]), count, locality, nodes) for count in (gpus, gpus + 1))
    assert np.all(more >= fewer)


@given(ones=st.lists(throughput_params(), min_size=1, max_size=6))
def test_jobs_of_several_kinds_at_once_are_as_each_alone(ones: list[ThroughputParams]) -> None:
    gpus, nodes = np.array([1, 2, 4, 8, 8, 16]), np.array([1, 1, 1, 2, 3, 8])
    locality = np.array([0, 0, 0, 1, 1, 2])
    together = sync_time_s(stack(ones)[:, None, :], gpus, locality, nodes)
    alone = [sync_time_s(stack([one]), gpus, locality, nodes) for one in ones]
    assert together.tolist() == np.array(alone).tolist()


def test_pollux_s_seven_columns_alone_are_linear() -> None:
    theta = stack([params(ThroughputKind.LINEAR)])
    assert sync_time_s(theta[:, :7], 8, True) == sync_time_s(theta, 8, True)


@pytest.mark.parametrize("kind", KINDS)
def test_columns_that_a_model_does_not_use_are_nothing_to_it(kind: ThroughputKind) -> None:
    model, one = MODELS[kind], params(kind)
    used = {column for chain in model.ties for column in chain}
    theta = stack([one])
    at = (np.array([16.0]), np.array([2]), np.array([4]))
    for column in set(range(2, WIDTH - 1)) - {6} - used:
        other = theta.copy()
        other[:, column] += 1
        assert model.sync_s(other, *at) == model.sync_s(theta, *at)


def test_kinds_are_tried_only_where_their_parameters_can_be_told() -> None:
    gpus = np.array([1.0, 2, 4, 8])
    one_rack, two_nodes = np.array([0, 0, 1, 1]), np.array([1, 1, 2, 2])
    assert MODELS[ThroughputKind.LINEAR].told_by(gpus, one_rack, two_nodes)
    assert not MODELS[ThroughputKind.RACKED].told_by(gpus, one_rack, two_nodes)
    assert not MODELS[ThroughputKind.COLLECTIVE].told_by(gpus, one_rack, two_nodes)
    more = np.concatenate([gpus, [4.0, 8]])
    assert MODELS[ThroughputKind.RACKED].told_by(more, np.array([0, 0, 1, 1, 2, 2]), more)
    assert MODELS[ThroughputKind.COLLECTIVE].told_by(
        more, np.ones(6, np.int64), np.array([1, 1, 2, 2, 3, 4])
    )


def test_the_columns_are_where_they_are_said_to_be() -> None:
    theta = stack([params(ThroughputKind.COLLECTIVE)])[0]
    assert (theta[TREE], theta[HOP], theta[-1]) == (0.04, 0.003, 2)
