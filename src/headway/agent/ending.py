"""The end of a worker's process: all that a process owes, and then out at once.

The interpreter would also free every object and unload torch. That takes half a second, for which
the next generation waits; and a thread that torch still runs then ends the process with "terminate
called without an active exception", which turns a training that is done into one that has failed.
"""

import atexit
import gc
import io
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn

# what any kind of file may answer with
CLOSING = (OSError, ValueError, RuntimeError, TypeError, AttributeError)


def run_out(script: Callable[[], None]) -> None:
    """Run a script and end with the code that it would end with."""
    code = 1  # of whatever it may raise
    try:
        script()
        code = 0
    except SystemExit as leaving:
        code = _told(leaving)
    finally:
        error = sys.exception()
        if not isinstance(error, KeyboardInterrupt):  # the interpreter has a signal for that
            if error is not None:
                sys.excepthook(type(error), error, error.__traceback__)
            end(code)


def end(code: int) -> NoReturn:
    """Wait for threads, run what was registered for the end, write what is not written yet.

    As the children of ``multiprocessing`` end; the files that are still open beside.
    """
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError, ValueError):
            stream.flush()
    _close_files()
    os._exit(code)


def _told(leaving: SystemExit) -> int:
    if leaving.code is None or isinstance(leaving.code, int):
        return (leaving.code or 0) & 0xFF
    sys.stderr.write(f"{leaving.code}\n")
    return 1


def _close_files() -> None:
    """Those that a script left open, or the last lines of its log would be lost."""
    ours = (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__)
    streams = {id(layer) for stream in ours for layer in _layers(stream)}
    for one in reversed(gc.get_objects()):  # what wraps a file is younger than the file
        if issubclass(type(one), io.IOBase) and id(one) not in streams:
            with suppress(*CLOSING):
                one.close()


def _layers(stream: object) -> list[object]:
    """A stream of text, its buffer and its file."""
    buffer = getattr(stream, "buffer", None)
    return [stream, buffer, getattr(buffer, "raw", None)]
