"""A state told to others: what is sent to whom, and that a single bit tells two states apart."""

import copy
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from headway.agent.exchange import LETTER_BYTES, Exchange, meet
from headway.agent.share import Group, checksum, checksums, fingerprint, share
from headway.agent.tree import at_paths, snapshot
from headway.protocol.environment import RENDEZVOUS

if TYPE_CHECKING:
    from conftest import Stage

Maker = Callable[..., "Stage"]


def a_state(seed: int) -> dict[str, Any]:
    """Of every kind: large and small, scalars, half precision, not contiguous, numbers as keys."""
    rng = torch.Generator().manual_seed(seed)
    return {
        "model": {
            "weight": torch.randn(1500, 1024, generator=rng),  # travels alone
            "view": torch.randn(6, 4, generator=rng).t(),
            "half": torch.randn(3, generator=rng).to(torch.bfloat16),
            "mask": torch.rand(5, generator=rng) > 0.5,
            "count": torch.tensor(seed),
        },
        "optimizer": {"state": {0: {"step": torch.tensor(1.0 * seed)}}, "groups": [(0.1, seed)]},
    }


def equal(one: Any, other: Any) -> bool:
    both = at_paths(one), at_paths(other)
    same = all(torch.equal(both[0][path], both[1][path]) for path in both[0])
    return both[0].keys() == both[1].keys() and same


def test_newcomers_get_all_and_others_what_they_lack(stage: Maker) -> None:
    """Workers 0 and 1 were there before; a buffer of worker 1 has gone its own way."""

    def script(_: Callable[[], None]) -> None:
        worker = int(os.environ["RANK"])
        meet(os.environ[RENDEZVOUS], worker, 4)
        own = a_state(7)
        if worker == 1:
            own["model"]["count"] += 1
        if worker >= 2:
            own = a_state(worker)
            del own["optimizer"]["state"][0]
        place = own["model"]["weight"]
        group = Group(Exchange(worker, 4), worker, 4, settled=2)
        shared = share(own, group, {"why": "told"} if worker == 0 else {})
        assert shared.told == {"why": "told"}
        assert equal(shared.state, a_state(7))
        assert shared.state["optimizer"]["groups"] == [(0.1, 7)]
        assert shared.state["model"]["weight"] is place, "in place"
        lacked = {("model", "count")}
        changed = [name for name in own if shared.differs(name, shared.state[name])]
        assert changed == [["model"], ["model", "optimizer"]][worker >= 2]
        assert set(shared.kept) == (set() if worker >= 2 else set(at_paths(own)) - lacked)
        spoiled = copy.deepcopy(shared.state["model"])
        spoiled["half"][worker % 3] += worker == 3
        marks = [fingerprint("model", part, {}) for part in (shared.state["model"], spoiled)]
        assert group.exchange.equal(marks) == [True, False]

    assert stage().run(script, 4).codes == [0] * 4


def test_how_a_tensor_lies_in_memory_is_each_workers_own_affair(stage: Maker) -> None:
    """A newcomer has no momentum yet. It made room for that as for any tensor; where worker 0's
    was in the order of channels, the two took turns in another order, and no switch went well."""

    def script(_: Callable[[], None]) -> None:
        worker = int(os.environ["RANK"])
        meet(os.environ[RENDEZVOUS], worker, 2)
        rng = torch.Generator().manual_seed(0)
        sizes = {"a": (3,), "b": (512, 256, 3, 3), "c": (5, 7), "d": (0,), "e": (2, 3, 2, 2)}
        whole = {name: torch.randn(size, generator=rng) for name, size in sizes.items()}
        for name in ("b", "e"):
            whole[name] = whole[name].to(memory_format=torch.channels_last)
        group = Group(Exchange(worker, 2), worker, 2, settled=1)
        shared = share(whole if worker == 0 else {}, group, {})
        assert equal(shared.state, whole)

    assert stage().run(script, 2).codes == [0, 0]


def test_what_worker_0_says_arrives_whatever_its_length(stage: Maker) -> None:
    lengths = (0, 1, LETTER_BYTES - 9, LETTER_BYTES - 8, LETTER_BYTES - 7, 3 * LETTER_BYTES)

    def script(_: Callable[[], None]) -> None:
        worker = int(os.environ["RANK"])
        meet(os.environ[RENDEZVOUS], worker, 2)
        exchange = Exchange(worker, 2)
        for length in lengths:
            body = bytes(range(256)) * (length // 256 + 1)
            own = body[:length] if worker == 0 else b"not asked"
            assert exchange.tell(own) == body[:length]

    assert stage().run(script, 2).codes == [0, 0]


def by_place(tensor: torch.Tensor) -> int:
    """The checksum that a device makes of it."""
    return int(checksum(tensor.view(torch.uint8)))


def of_host(tensor: torch.Tensor) -> int:
    return checksums([tensor])[0]


both = pytest.mark.parametrize("total", [of_host, by_place])


@both
@given(place=st.integers(0, 69), bit=st.integers(0, 7), size=st.sampled_from([70, 71, 72, 73]))
def test_one_bit_makes_another_checksum(
    total: Callable[[torch.Tensor], int], place: int, bit: int, size: int
) -> None:
    tensor = torch.arange(size, dtype=torch.uint8)
    other = tensor.clone()
    other[place] ^= 1 << bit
    assert total(tensor) != total(other)


@both
def test_numbers_that_change_places_are_seen_also_far_apart(
    total: Callable[[torch.Tensor], int],
) -> None:
    tensor = torch.arange(2_000_000, dtype=torch.int32)
    for one, other in ((0, 1), (3, 70_000), (5, 1_048_581)):
        swapped = tensor.clone()
        swapped[[one, other]] = tensor[[other, one]]
        assert total(swapped) != total(tensor)


@both
def test_a_slice_has_a_checksum_wherever_it_begins(
    total: Callable[[torch.Tensor], int],
) -> None:
    """No switch went well where a parameter was an odd slice of one flat tensor in half
    precision: its bytes do not begin where a whole number may."""
    flat = torch.randn(101).to(torch.bfloat16)
    for start in range(4):
        assert total(flat[start:]) == total(flat[start:].clone())


@pytest.mark.parametrize(
    "change",
    [
        lambda s: s["optimizer"]["groups"].append(1),
        lambda s: s["optimizer"].update(extra=None),
        lambda s: s["model"].update(half=s["model"]["half"].float()),
        lambda s: s["model"].update(view=s["model"]["view"].reshape(-1)),
        lambda s: s["optimizer"]["state"][0]["step"].add_(1),
    ],
)
def test_another_state_has_another_fingerprint(change: Callable[[dict[str, Any]], Any]) -> None:
    state, other = a_state(1), a_state(1)
    assert fingerprint("all", state, {}) == fingerprint("all", other, {})
    change(other)
    assert fingerprint("all", state, {}) != fingerprint("all", other, {})


def test_the_order_of_a_dictionary_does_not_count() -> None:
    state = a_state(1)
    turned = {key: state[key] for key in reversed(state)}
    assert fingerprint("all", state, {}) == fingerprint("all", turned, {})
    assert equal(snapshot(state), turned)
