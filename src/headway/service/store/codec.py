"""Commands as JSON and back, for the outbox."""

import msgspec

from headway.core.control.commands import Command, RunJob, ScaleCluster, StopJob

_KINDS: dict[str, type[Command]] = {
    "RunJob": RunJob,
    "StopJob": StopJob,
    "ScaleCluster": ScaleCluster,
}


def encode(command: Command) -> str:
    """One command as one line."""
    fields = msgspec.to_builtins(command)
    return msgspec.json.encode({"command": type(command).__name__, **fields}).decode()


def decode(line: str) -> Command:
    """The command that ``encode`` wrote."""
    fields = msgspec.json.decode(line)
    return msgspec.convert(fields, _KINDS[fields.pop("command")])
