"""Checkpoints of a job: atomic, verified, the last two kept.

``NUMBER.pt`` is the state; ``NUMBER.json`` is written before it and says how many bytes it has and
their checksum. A state that is there is whole, then, whenever a writer was killed; one that has no
manifest or does not match it was damaged later, and does not exist.
"""

import contextlib
import fcntl
import hashlib
import io
import json
import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import NoneType
from typing import Any, final

import torch

from headway.agent.job import MisuseError

KEPT = 2
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
        buffer = _serialised(state)
        body = buffer.getbuffer()
        manifest = {"sha256": hashlib.sha256(body).hexdigest(), "bytes": body.nbytes, "mark": mark}
        _write(self.folder / f"{number:08d}.json", json.dumps(manifest).encode())
        _write(self.folder / f"{number:08d}.pt", body)
        whole = [one for one in saved if one.manifest.exists()]  # no crash cut them short
        for old in set(saved) - set(whole[: KEPT - 1]):
            old.state.unlink(missing_ok=True)  # first, so that it is never half there
            old.manifest.unlink(missing_ok=True)

    def load(self) -> dict[str, Any] | None:
        """The newest checkpoint that is whole; None if there is none."""
        for saved in self._saved():
            body = _verified(saved)
            if body is not None:
                loaded: dict[str, Any] = torch.load(
                    io.BytesIO(body), map_location="cpu", weights_only=True
                )
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


def _serialised(state: dict[str, Any]) -> io.BytesIO:
    """The state as bytes that can be loaded without running code of anybody's."""
    check_plain(state, "state")
    buffer = io.BytesIO()
    torch.save(state, buffer)
    return buffer


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


def _verified(saved: _Saved) -> bytes | None:
    try:
        manifest = json.loads(saved.manifest.read_bytes())
        body = saved.state.read_bytes()
        whole = hashlib.sha256(body).hexdigest() == manifest["sha256"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return body if whole else None


def _write(path: Path, body: memoryview | bytes) -> None:
    """Whole or not at all, and on the disk when this returns."""
    temporary = path.with_suffix(path.suffix + ".tmp")
    with temporary.open("wb") as file:
        file.write(body)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
