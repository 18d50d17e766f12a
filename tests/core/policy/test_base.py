"""What holds for every policy that is registered, whatever it wants."""

import numpy as np
import pytest

from headway.core.policy import POLICIES, make
from headway.core.policy.base import Policy, Traits, contract_under
from headway.core.types import NOTHING, BatchContract, BatchMode, Node, Snapshot
from headway.testing.histories import NODE_IDS, Scattered

NAMES = sorted(POLICIES)


def empty(nodes: int) -> Snapshot:
    there = tuple(Node(node_id=node_id, gpus=4) for node_id in NODE_IDS[:nodes])
    return Snapshot(now_s=0.0, round_index=0, round_s=60.0, nodes=there, jobs=())


@pytest.mark.parametrize("nodes", [0, 2])
@pytest.mark.parametrize("name", NAMES)
def test_its_first_memory_is_valid_and_nobody_is_given_gpus_who_is_not_there(
    name: str, nodes: int
) -> None:
    policy = make(name)
    rng = np.random.default_rng(0)
    decision, memory = policy.decide(empty(nodes), policy.start(), rng)
    assert not any(allocation != NOTHING for allocation in decision.allocations.values())
    assert decision.reasons == ()
    again, _ = policy.decide(empty(nodes), memory, rng)
    assert again.allocations == decision.allocations


@pytest.mark.parametrize("name", NAMES)
def test_it_says_what_it_can_do(name: str) -> None:
    traits = make(name).traits
    assert isinstance(traits, Traits)
    assert traits.horizon_rounds >= 1
    assert traits.resizes or not traits.adapts_batch_size or traits.reads_reports


def test_a_policy_of_one_s_own_needs_no_base_class() -> None:
    policy: Policy[int] = Scattered()  # mypy checks the protocol here
    assert Scattered.__mro__ == (Scattered, object)
    assert policy.decide(empty(1), policy.start(), np.random.default_rng(0))[1] == 1


def test_a_batch_that_grows_with_the_gpus_is_split_into_passes_that_fit() -> None:
    batch = BatchContract(
        initial_batch_size=100, max_batch_size=900, max_batch_per_gpu=40, mode=BatchMode.ADAPTIVE
    )
    keeps = Traits(adapts_batch_size=True, batch_per_gpu=True)
    kept = contract_under(keeps, batch)
    assert (kept.min_batch_per_gpu, kept.max_batch_per_gpu, kept.max_accum_steps) == (34, 34, 2)
    assert contract_under(Traits(adapts_batch_size=True), batch) == batch
    fixed = BatchContract(initial_batch_size=100, max_batch_size=100, max_batch_per_gpu=40)
    assert contract_under(keeps, fixed) == fixed
