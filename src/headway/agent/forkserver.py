"""The warm parent of a job's workers: import once, fork often.

A fork of a process with torch imported makes its first step within a second; a fresh process pays
1.5 CPU seconds for the import and 1.2 more at its first optimizer, each time.
"""

import ctypes
import gc
import importlib
import io
import os
import signal
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np

from headway.agent.program import Program, Start

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
NO_SUCH_PROGRAM = 127  # as shells have it


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """Everything that one process is given at its start."""

    rank: int
    env: Mapping[str, str]
    stderr: int  # where it writes
    news: int | None = None  # where worker 0 writes
    close: tuple[int, ...] = field(default=())  # the agent's ends, and those of other seats


def warm(modules: Iterable[str]) -> None:
    """Import torch as far as a first optimizer step goes, and these; no thread, no CUDA.

    No backward pass: autograd refuses to work in the children of a process that has made one.
    """
    os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"  # else a mere question initialises CUDA
    import torch

    torch.set_num_threads(1)
    weight = torch.nn.Parameter(torch.zeros(1))
    weight.grad = torch.zeros(1)
    torch.optim.AdamW([weight]).step()
    for module in modules:
        with suppress(ImportError):  # the script will say so itself, or need it elsewhere
            importlib.import_module(module)
    gc.collect()
    gc.freeze()  # so that no collection in a worker copies the pages it shares with the others


def adopt_orphans() -> None:
    """Become the parent of whatever a worker leaves behind, so that it can be found and killed."""
    _prctl(PR_SET_CHILD_SUBREAPER, 1)


def fork(seat: Seat, program: Program, workdir: str) -> int:
    """The new process's identifier; 0 in the new process, which is then all set up."""
    agent = os.getpid()
    pid = os.fork()
    if pid == 0:
        _settle(seat, agent, workdir)
        if program.start is not Start.FORK:
            _execute(program)
    return pid


def _settle(seat: Seat, agent: int, workdir: str) -> None:
    """In the child: a session of its own, dead with the agent, in its place."""
    os.setsid()
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != agent:  # it died before the kernel knew that we care
        os.kill(os.getpid(), signal.SIGKILL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for end in seat.close:
        os.close(end)
    os.dup2(seat.stderr, 2)
    os.close(seat.stderr)
    if seat.news is not None:
        os.set_inheritable(seat.news, True)
    os.environ.update(seat.env)
    os.chdir(workdir)
    np.random.seed()  # noqa: NPY002 - else all workers share the state they were forked with
    if isinstance(sys.stdout, io.TextIOWrapper):
        # whole lines, also where PYTHONUNBUFFERED is set: workers share one log
        sys.stdout.reconfigure(line_buffering=True, write_through=False)


def _execute(program: Program) -> None:
    try:
        os.execvp(program.command[0], program.command)
    except OSError as error:
        os.write(2, f"{program.command[0]}: {error.strerror}\n".encode())
        os._exit(NO_SUCH_PROGRAM)


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
