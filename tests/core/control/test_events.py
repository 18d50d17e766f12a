"""The union of events is complete, and every event is a frozen value with a time."""

import inspect
from dataclasses import FrozenInstanceError, fields, is_dataclass
from typing import get_args

import pytest
from hypothesis import given

from headway.core.control import events
from headway.core.control.events import Change, Event
from headway.testing.strategies import events as any_event

KINDS = get_args(Event)


def test_no_kind_of_event_is_missing_from_the_union() -> None:
    """The log's reader knows the kinds by this union: one left out could be written, not read."""
    defined = {
        kind
        for _, kind in inspect.getmembers(events, is_dataclass)
        if kind.__module__ == events.__name__
    }
    assert defined - {Change} == set(KINDS)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_event_says_when_first_and_what_it_is(kind: type[Event]) -> None:
    assert fields(kind)[0].name == "at_s"
    assert kind.__doc__


@given(any_event())
def test_events_are_facts_that_nobody_alters(event: Event) -> None:
    with pytest.raises(FrozenInstanceError):
        event.at_s = 0.0  # type: ignore[misc]
