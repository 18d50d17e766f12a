"""Identifiers are plain strings at run time, so any text format can carry them."""

from headway.core.ids import JobId, NodeId


def test_identifiers_cost_nothing_at_run_time() -> None:
    assert type(JobId("a")) is type(NodeId("n")) is str
    assert sorted([JobId("b"), JobId("a")]) == ["a", "b"]
