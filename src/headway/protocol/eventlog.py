"""Events as lines of JSON and back: the format of every event log, simulated or real.

A line is ``{"event": NAME, "at_s": SECONDS, ...}``. Numbers must be finite: JSON has no infinity.
"""

from collections.abc import Iterable, Iterator
from typing import get_args

import msgspec

from headway.core.control.events import Event
from headway.core.errors import InvalidInputError

_KINDS: dict[str, type[Event]] = {kind.__name__: kind for kind in get_args(Event)}
# what a node or a job does not say about CPUs and memory is not written, as by earlier versions
_UNSAID: dict[str, dict[str, float | None]] = {
    "node": {"cpus": None, "memory_gb": None},
    "job": {"cpus_per_gpu": 0.0, "memory_gb_per_gpu": 0.0},
}
_encoder = msgspec.json.Encoder(order="deterministic")


def encode(event: Event) -> bytes:
    """One event as one line, without its line end; equal events give equal bytes."""
    fields = msgspec.to_builtins(event)
    for part, unsaid in _UNSAID.items():
        for name, value in unsaid.items() if part in fields else ():
            if fields[part][name] == value:
                del fields[part][name]
    return _encoder.encode({"event": type(event).__name__, **fields})


def decode(line: bytes) -> Event:
    """One line as an event.

    Raises:
        InvalidInputError: not JSON, an unknown kind of event, a field missing or of another type.
    """
    try:
        return convert(msgspec.json.decode(line))
    except (msgspec.DecodeError, RecursionError) as error:  # nested as deep as no event is
        raise InvalidInputError(f"not an event: {error}") from None


def convert(fields: object) -> Event:
    """An event from the JSON object of its line; raises InvalidInputError as ``decode`` does."""
    kind = fields.get("event") if isinstance(fields, dict) else None
    if not isinstance(kind, str) or kind not in _KINDS:
        raise InvalidInputError(f"not an event: {kind!r} is no kind of event")
    try:
        return msgspec.convert(fields, _KINDS[kind])
    except msgspec.MsgspecError as error:
        raise InvalidInputError(f"not an event: {error}") from None


def read(lines: Iterable[bytes]) -> Iterator[Event]:
    """The events of a log.

    Raises:
        InvalidInputError: with the number of the line that cannot be read.
    """
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                yield decode(line)
            except InvalidInputError as error:
                raise InvalidInputError(f"line {number}: {error}") from None
