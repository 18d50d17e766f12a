"""A model as a short vector: priors that hold by construction, kinds, types of GPUs."""

from dataclasses import replace

import numpy as np
import pytest

from headway.core.model.observations import Observations
from headway.core.model.parameters import Parametrisation, parametrise
from headway.core.model.throughput import grad_time_s, stack, step_time_s
from headway.core.types import GradTime, ThroughputKind

TRUE = np.array([0.018, 0.0007, 0.030, 0.005, 0.128, 0.003, 2.2])


def observed(gpus: list[int], nodes: list[int], batch: list[int]) -> Observations:
    k, n, m = np.array(gpus), np.array(nodes), np.array(batch, dtype=np.float64)
    return Observations(
        gpus=k,
        nodes=n,
        batch_per_gpu=m,
        accum_steps=np.zeros(m.size),
        grad_s=grad_time_s(TRUE, m),
        step_s=step_time_s(TRUE, k, n > 1, m, 0.0),
        weight=np.linspace(1, 2, m.size),
    )


def row(by: Parametrisation, x: np.ndarray) -> np.ndarray:
    return stack([by.params(x)[0]])[0]


MANY = observed(
    gpus=[1, 1, 2, 2, 4, 3, 8, 16, 8],
    nodes=[1, 1, 1, 2, 1, 1, 2, 4, 4],
    batch=[32, 64, 100, 128, 32, 512, 64, 32, 256],
)


@pytest.mark.parametrize(
    ("seen", "zero", "tied"),
    [
        (observed([1, 1], [1, 1], [32, 64]), [2, 3, 4, 5], []),
        (observed([1, 2], [1, 1], [32, 64]), [3, 5], [(2, 4)]),
        (observed([1, 2], [1, 2], [32, 64]), [2, 3, 5], []),
        (observed([1, 4], [1, 1], [32, 64]), [], [(2, 4), (3, 5)]),
        (observed([2, 4, 2], [1, 1, 2], [32, 64, 32]), [], [(3, 5)]),
        (observed([2, 4], [1, 2], [32, 64]), [3], []),
        (MANY, [], []),
    ],
    ids=["alone", "a pair", "a pair apart", "one node", "apart as a pair", "apart", "all"],
)
def test_what_was_never_tried_has_its_prior(
    seen: Observations, zero: list[int], tied: list[tuple[int, int]]
) -> None:
    """Zero until tried; the node pair is the local pair until several nodes."""
    by = parametrise(seen)
    theta = row(by, np.linspace(1, 3, by.lead.size))
    assert [row for row in range(6) if theta[row] == 0] == zero
    for local, node in tied:
        assert theta[local] == theta[node]
    assert theta[6] >= 1


def test_a_single_batch_size_makes_half_of_the_pass_a_fixed_cost() -> None:
    seen = observed([1, 2], [1, 1], [64, 64])
    theta = row(parametrise(seen), np.ones(3))
    assert theta[0] == pytest.approx(theta[1] * 64)
    assert theta[0] + theta[1] * 64 == pytest.approx(seen.grad_s[0])


@pytest.mark.parametrize(
    ("racks", "equal"), [([1] * 9, True), ([1] * 7 + [2, 2], False)], ids=["one", "two"]
)
def test_several_racks_cost_what_several_nodes_cost_until_they_were_seen(
    racks: list[int], equal: bool
) -> None:
    by = parametrise(replace(MANY, racks=np.array(racks)), ThroughputKind.RACKED)
    params, _ = by.params(np.linspace(1, 3, by.lead.size))
    assert params.kind is ThroughputKind.RACKED
    assert (params.alpha_rack_s == params.alpha_node_s) == equal
    assert params.alpha_rack_s > 0


def test_the_collective_model_has_a_tree_once_there_were_three_nodes() -> None:
    two_nodes = MANY.only(MANY.nodes < 3)
    for seen, tells in ((MANY, True), (two_nodes, False)):
        by = parametrise(seen, ThroughputKind.COLLECTIVE)
        params, _ = by.params(np.ones(by.lead.size))
        assert (params.tree_s > 0) == (params.hop_s > 0) == tells
        assert params.beta_node_s > 0


@pytest.mark.parametrize("kind", ThroughputKind)
def test_each_type_of_gpu_has_a_pair_and_the_rest_is_shared(kind: ThroughputKind) -> None:
    seen = replace(MANY, gpu_type=("a", "b", "a", "b", "b", "b", "b", "b", "b"))
    by = parametrise(seen, kind)
    x = np.linspace(1, 2, by.lead.size)
    params, grads = by.params(x)
    assert [one.gpu_type for one in grads] == ["b", "a"]
    assert (params.alpha_grad_s, params.beta_grad_s) == (
        grads[0].alpha_grad_s,
        grads[0].beta_grad_s,
    )
    assert by.x(params, grads) == pytest.approx(x)
    assert by.lead.size == parametrise(MANY, kind).lead.size + 2


def test_a_type_that_a_model_does_not_know_starts_as_the_one_it_ran_on_most() -> None:
    old = parametrise(replace(MANY, gpu_type=("a",) * 9))
    params, grads = old.params(np.ones(old.lead.size))
    new = parametrise(replace(MANY, gpu_type=("a",) * 4 + ("b",) * 5))
    _, both = new.params(new.x(params, grads))
    assert both[0] == GradTime(
        gpu_type="b", alpha_grad_s=params.alpha_grad_s, beta_grad_s=params.beta_grad_s
    )
