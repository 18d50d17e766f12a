"""Processes that nobody wants any more: found and killed, so that their slots are free."""

import os
import signal
from contextlib import suppress

import psutil

from headway.agent.crew import Crew, close, send


def see_off(crew: Crew, *, force: bool) -> bool:
    """Whether whoever has parted is gone, with all that they have started."""
    if force:
        send(crew.parted, signal.SIGKILL)
    left = _kill_strays(crew)
    if left or any(worker.code is None for worker in crew.parted):
        return False
    for worker in crew.parted:
        close(worker)
    crew.parted = []
    return True


def _kill_strays(crew: Crew) -> bool:
    """Kill what the agent has adopted from those who have left; whether there was anything.

    Whatever is in the session of a worker that lives is that worker's own affair.
    """
    alive = {worker.pid for worker in crew.everyone if worker.code is None}
    found = False
    for child in psutil.Process().children():
        with suppress(psutil.NoSuchProcess, ProcessLookupError):
            if child.pid in alive or os.getsid(child.pid) in alive:
                continue
            found = True
            for process in (*child.children(recursive=True), child):
                process.kill()
    return found


def kill_descendants() -> None:
    """Kill all that this process has started or adopted, whatever session they hide in."""
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            child.kill()
