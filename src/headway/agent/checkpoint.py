"""Checkpoints of a job: atomic, verified, the last two kept.

``NUMBER.pt`` is the state; ``NUMBER.json`` is written before it and says how many bytes it has and
their checksum. A state that is there is whole, then, whenever a writer was killed; one that has no
manifest or does not match it was damaged later, and does not exist.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from types import NoneType
from typing import IO, Any, final

import torch

from headway.agent.job import MisuseError

KEPT = 2
PIECE_BYTES = 1 << 20
_PLAIN = (str, bytes, bool, int, float, NoneType, torch.dtype, torch.device)


@dataclass(frozen=True, slots=True)
class _Saved:
    number: int
    state: Path
    manifest: Path


@final
class CheckpointStore:
    """A folder of checkpoints; written by worker 0, read by every worker at its start."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def save(self, state: dict[str, Any], *, mark: str = "") -> bool:
        """Write a new checkpoint durably, then forget all but the last two.

        False: the newest one has the same mark, so somebody has saved this moment already.
        """
        with self._locked():
            if mark and self._mark() == mark:
                return False
            self._save(state, mark)
            return True

    def _save(self, state: dict[str, Any], mark: str) -> None:
        saved = list(self._saved())
        number = saved[0].number + 1 if saved else 1
        check_plain(state, "state")
        path = self.folder / f"{number:08d}.pt"
        with _whole(path) as file:
            told = _Summed(file)
            torch.save(state, told)  # type: ignore[arg-type]  # it writes and flushes, no more
            manifest = {"sha256": told.sum, "bytes": told.bytes, "mark": mark}
            with _whole(path.with_suffix(".json")) as beside:
                beside.write(json.dumps(manifest).encode())
        whole = [one for one in saved if one.manifest.exists()]  # no crash cut them short
        for old in set(saved) - set(whole[: KEPT - 1]):
            old.state.unlink(missing_ok=True)  # first, so that it is never half there
            old.manifest.unlink(missing_ok=True)

    def load(self) -> dict[str, Any] | None:
        """The newest checkpoint that is whole; None if there is none."""
        for saved in self._saved():
            with contextlib.suppress(OSError), saved.state.open("rb") as file:
                if _is_whole(file, saved.manifest):
                    loaded: dict[str, Any] = torch.load(file, map_location="cpu", weights_only=True)
                    return loaded
            warnings.warn(f"{saved.state.name} is damaged; the one before is used", stacklevel=2)
        return None

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """One writer at a time, for when it is not always the same one."""
        self.folder.mkdir(parents=True, exist_ok=True)
        folder = os.open(self.folder, os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            yield
        finally:
            os.close(folder)

    def _mark(self) -> str | None:
        """What the newest checkpoint was marked with; None if that cannot be read."""
        newest = next(self._saved(), None)
        try:
            return None if newest is None else str(json.loads(newest.manifest.read_bytes())["mark"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def _saved(self) -> Iterator[_Saved]:
        """What is there, the newest first."""
        for state in sorted(self.folder.glob("*.pt"), reverse=True):
            if state.stem.isdecimal():
                yield _Saved(int(state.stem), state, state.with_suffix(".json"))


class LineLog:
    """A file of JSON lines that only grows."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def append(self, line: bytes) -> None:
        """Add one line; a line that a crash left unfinished is ended first."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("ab+") as file:
            if file.tell() and not self._ends_a_line():
                file.write(b"\n")
            file.write(line + b"\n")

    def lines(self) -> list[bytes]:
        """The lines that are whole JSON."""
        if not self._path.exists():
            return []
        whole = []
        for line in self._path.read_bytes().splitlines():
            with contextlib.suppress(ValueError):
                json.loads(line)
                whole.append(line)
        return whole

    def _ends_a_line(self) -> bool:
        with self._path.open("rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read(1) == b"\n"


@final
class _Summed:
    """A file that is written in pieces, each of which is in the cache when it is summed up."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._sum = hashlib.sha256()
        self.bytes = 0

    @property
    def sum(self) -> str:
        """The checksum of all that was written."""
        return self._sum.hexdigest()

    def write(self, body: bytes | memoryview) -> int:
        """All of it."""
        whole = memoryview(body)
        for start in range(0, len(whole), PIECE_BYTES):
            piece = whole[start : start + PIECE_BYTES]
            self._sum.update(piece)
            self._file.write(piece)
        self.bytes += len(whole)
        return len(whole)

    def flush(self) -> None:
        """As torch asks; a file is flushed where it is made safe."""


def check_plain(value: object, where: str) -> None:
    """That a state holds tensors and plain values only.

    Raises:
        MisuseError: it does not; said before it is saved, since at the next start it is too late.
    """
    if isinstance(value, dict):
        for key, inner in value.items():
            check_plain(key, f"a key of {where}")
            check_plain(inner, f"{where}[{key!r}]")
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            check_plain(inner, f"{where}[{index}]")
    elif not (isinstance(value, torch.Tensor) or type(value) in _PLAIN):
        raise MisuseError(
            f"{where} is a {type(value).__name__}: only tensors and plain values can be saved"
        )


def _is_whole(file: BufferedReader, manifest: Path) -> bool:
    """Whether a state is what its manifest says; it is read once for that, and not kept."""
    try:
        told = str(json.loads(manifest.read_bytes())["sha256"])
    except (OSError, ValueError, KeyError, TypeError):
        return False
    whole = hashlib.file_digest(file, "sha256").hexdigest() == told
    file.seek(0)
    return whole


@contextlib.contextmanager
def _whole(path: Path) -> Iterator[IO[bytes]]:
    """A file that is there as a whole, and on the disk, after the block, or not at all."""
    temporary = path.with_suffix(path.suffix + ".tmp")
    with temporary.open("wb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
