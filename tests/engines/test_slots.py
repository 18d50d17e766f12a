"""Who holds which slot."""

from hypothesis import given
from hypothesis import strategies as st

from headway.core.ids import JobId
from headway.engines.slots import Slots, SlotTable

JOBS = [JobId(name) for name in "abc"]


@given(
    st.lists(
        st.tuples(st.sampled_from(JOBS), st.integers(1, 5), st.booleans()), min_size=1, max_size=30
    )
)
def test_no_slot_has_two_holders_whatever_the_order(moves: list[tuple[JobId, int, bool]]) -> None:
    table = SlotTable(5)
    for job_id, gpus, confirmed in moves:
        before = table.held(job_id)
        chosen = table.choose(job_id, gpus, before)
        if chosen is None:
            assert gpus > len(before) + len(table.free())
            continue
        assert set(before) <= set(chosen) or set(chosen) <= set(before)
        table.add(job_id, chosen)
        if confirmed:
            table.keep(job_id, chosen)
        taken = [slot for slots in table.holds().values() for slot in slots]
        assert sorted([*taken, *table.free()]) == [0, 1, 2, 3, 4]


def test_slots_in_use_are_kept_before_others() -> None:
    table = SlotTable(4)
    table.keep(JOBS[0], (0, 1, 3))
    assert table.choose(JOBS[0], 1, (3,)) == (3,)
    assert table.choose(JOBS[0], 4, (3,)) == (0, 1, 2, 3)


def test_who_holds_nothing_is_not_listed() -> None:
    table = SlotTable(2)
    table.keep(JOBS[0], (1,))
    table.keep(JOBS[0], ())
    assert table.holds() == {}


def test_no_gpu_may_be_used_where_none_is_visible() -> None:
    assert Slots.found(cpu_slots=3, env={"CUDA_VISIBLE_DEVICES": ""}) == Slots(count=3)
    assert Slots.found(cpu_slots=3, env={"CUDA_VISIBLE_DEVICES": "-1,0"}) == Slots(count=3)
