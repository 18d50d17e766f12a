"""The one exception tree. Misuse raises; expected failure is a value.

::

    HeadwayError
    ├── InvalidInputError        a file, an option or a field that the user can mend   (exit code 2)
    │   └── IllegalMoveError     an event that the lifecycle of its job forbids
    └── UnavailableError         something outside failed: disk, port, engine          (exit code 1)
"""


class HeadwayError(Exception):
    """Headway cannot go on; the message says why in one line."""


class InvalidInputError(HeadwayError):
    """What the user gave is wrong; the message names the field and the fix."""


class IllegalMoveError(InvalidInputError):
    """A job cannot make this move from the phase it is in."""


class UnavailableError(HeadwayError):
    """Something that Headway needs (a disk, a port, an engine) is not there."""
