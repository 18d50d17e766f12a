"""The one exception tree. Misuse raises; expected failure is a value.

::

    HeadwayError
    ├── InvalidInput        a file, an option or a field that the user can mend   (exit code 2)
    │   └── IllegalMove     an event that the lifecycle of its job forbids
    └── Unavailable         something outside failed: disk, port, engine          (exit code 1)
"""


class HeadwayError(Exception):
    """Headway cannot go on; the message says why in one line."""


class InvalidInput(HeadwayError):
    """What the user gave is wrong; the message names the field and the fix."""


class IllegalMove(InvalidInput):
    """A job cannot make this move from the phase it is in."""


class Unavailable(HeadwayError):
    """Something that Headway needs (a disk, a port, an engine) is not there."""
