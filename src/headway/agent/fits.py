"""``python -m headway.agent.fits -- train.py``: the largest batch that fits in the memory of a GPU.

Twice as many samples until it does not fit, then bisection. Each size is tried by two steps of the
script itself in processes of their own, one a worker, so running out of memory kills nothing else;
a size fits if it fits every worker.
"""

import argparse
import json
import os
import resource
import signal
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from headway.agent.forkserver import warm
from headway.agent.program import Program, run
from headway.agent.trial import NO_ROOM, ROOM, fingerprint, is_exhaustion
from headway.core.errors import InvalidInputError
from headway.protocol.environment import NEWS_FD, RENDEZVOUS, TRIAL

_AT_FIRST = 2  # normalisation needs two


def largest(fits: Callable[[int], bool], most: int, known: int = 0) -> int:
    """The largest of 1 to ``most`` that fits, if smaller ones fit wherever a larger one does.

    ``known`` to fit already; 0: not even one does.
    """
    least, size = known, min(max(2 * known, _AT_FIRST), most)
    while least < most and fits(size):
        least, size = size, min(2 * size, most)
    if least == most:
        return most
    too_many = size
    while too_many - least > 1:
        middle = (least + too_many) // 2
        least, too_many = (middle, too_many) if fits(middle) else (least, middle)
    return least


@dataclass(frozen=True, slots=True)
class Cache:
    """What was found before, by fingerprint."""

    path: Path

    def known(self, key: str) -> tuple[int, int] | None:
        """(what fits, the most that was tried)."""
        found = self._all().get(key)
        return None if found is None else (int(found[0]), int(found[1]))

    def keep(self, key: str, found: int, most: int) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        part = self.path.with_suffix(f".{os.getpid()}")
        part.write_text(json.dumps({**self._all(), key: [found, most]}), encoding="utf-8")
        part.replace(self.path)

    def _all(self) -> dict[str, list[int]]:
        try:
            found: Any = json.loads(self.path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}


@dataclass(slots=True)
class Trials:
    """Tries sizes of one script."""

    program: Program
    workers: int
    limit_bytes: int | None
    spare_share: float
    identity: str | None = None  # of the last size that fitted

    def fits(self, samples: int) -> bool:
        """Whether every worker has room for so many samples in a pass.

        Raises:
            InvalidInputError: the script fails for another reason.
        """
        read_end, write_end = os.pipe()
        meeting = f"file:///tmp/headway-trial-{os.getpid()}-{samples}"
        pids = [self._fork(samples, rank, write_end, meeting) for rank in range(self.workers)]
        os.close(write_end)
        codes = _codes(pids)
        with os.fdopen(read_end) as pipe:
            lines = pipe.read().splitlines()
        Path(meeting.removeprefix("file://")).unlink(missing_ok=True)
        if all(code == ROOM for code in codes) and lines:
            self.identity = lines[0]
            return True
        if any(code in {NO_ROOM, -signal.SIGKILL} for code in codes):
            return False
        raise InvalidInputError(f"{self.program.script or self.program.module}: it does not train")

    def _fork(self, samples: int, rank: int, tell: int, meeting: str) -> int:
        child = os.fork()
        if child:
            return child
        code = 1
        try:
            os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank), RENDEZVOUS: meeting}
            os.environ |= {"WORLD_SIZE": str(self.workers), TRIAL: str(samples), NEWS_FD: str(tell)}
            self._bound()
            code = _run(self.program)
        finally:
            if sys.exc_info()[0] is not None:
                traceback.print_exc()
            os._exit(code)

    def _bound(self) -> None:
        """Leave some memory to what a longer run needs on top: fragments, longer samples."""
        if self.limit_bytes is not None:
            resource.setrlimit(resource.RLIMIT_AS, (self.limit_bytes, self.limit_bytes))
        if torch.cuda.is_available():
            torch.cuda.set_per_process_memory_fraction(1 - self.spare_share)


def _run(program: Program) -> int:
    """The script's exit code, or what became of its memory."""
    try:
        run(program)
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
    except (MemoryError, OSError, RuntimeError) as error:
        if is_exhaustion(error):
            return NO_ROOM
        raise
    return 1  # it ended without a step


def _codes(pids: list[int]) -> list[int]:
    """Of all; once one has failed, the others would wait for it for ever."""
    codes: dict[int, int] = {}
    while len(codes) < len(pids):
        pid, status = os.wait()
        codes[pid] = os.waitstatus_to_exitcode(status)
        if codes[pid] != ROOM:
            for other in set(pids) - codes.keys():
                os.kill(other, signal.SIGTERM)
    return [codes[pid] for pid in pids]


def find(trials: Trials, most: int, cache: Cache) -> int:
    """The largest batch that fits, found before or now.

    Raises:
        InvalidInputError: not even one sample fits, or the script does not train.
    """
    first = min(_AT_FIRST, most)
    if not trials.fits(first) and not (first > 1 and trials.fits(first := 1)):
        raise InvalidInputError("not even one sample fits")
    key = fingerprint(trials.identity or "", trials.limit_bytes)
    before = cache.known(key)
    if before is not None and (before[0] < before[1] or before[1] >= most):
        return min(before[0], most)
    known = first if before is None else max(before[0], first)
    found = known if first == 1 else largest(trials.fits, most, known)
    cache.keep(key, found, most)
    return found


def main() -> None:
    options = _options()
    command = options.command[1:] if options.command[:1] == ["--"] else options.command
    program = Program.of(tuple(command))
    try:
        problem = program.problem(os.getcwd())
        if program.script is None and program.module is None:
            problem = "give the script after --, as in: -- train.py --lr 0.1"
        if problem is not None:
            raise InvalidInputError(problem)
        warm(("headway.agent.start", *program.preloads(os.getcwd())))
        trials = Trials(program, options.workers, options.memory_bytes, options.spare)
        found = find(trials, options.most, Cache(options.cache))
    except InvalidInputError as error:
        sys.stderr.write(f"headway: {error}\n")
        raise SystemExit(2) from None
    sys.stdout.write(f"max_per_gpu: {found}\n")


def _options() -> argparse.Namespace:
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    parser = argparse.ArgumentParser(prog="python -m headway.agent.fits", description=__doc__)
    parser.add_argument("--most", type=int, default=4096, help="samples to try at most")
    parser.add_argument("--workers", type=int, default=1, help="GPUs to try on together")
    parser.add_argument("--spare", type=float, default=0.1, help="share of a GPU to leave free")
    parser.add_argument("--memory-bytes", type=int, help="address space of a worker; for CPUs")
    parser.add_argument("--cache", type=Path, default=home / "headway" / "fits.json")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    return parser.parse_args()


if __name__ == "__main__":
    main()
