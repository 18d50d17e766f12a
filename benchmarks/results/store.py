"""Answers of commands, kept in a folder by command and by the content of the sources."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, final

import msgspec

from benchmarks.results.command import Command


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRow:
    """How one job of a simulated run fared."""

    name: str
    submitted_s: float
    jct_s: float
    restarts: int
    rho: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What a command said, and what it cost."""

    command: str
    answer: Any  # its JSON; of a simulation the figures of its one policy
    jobs: tuple[JobRow, ...] = ()  # of a simulation
    cpu_s: float
    peak_bytes: int

    def number(self, *path: str) -> float | None:
        """A figure of the answer, by the names that lead to it; None where it has none there."""
        value = self.answer
        for name in path:
            value = value.get(name) if isinstance(value, Mapping) else None
        return float(value) if isinstance(value, int | float) else None

    def named(self, key: str) -> Mapping[str, Mapping[str, Any]]:
        """An answer that is a list of objects, by what each calls itself."""
        rows = self.answer if isinstance(self.answer, list) else []
        return {str(row.get(key)): row for row in rows}


@final
class Store:
    """One file for each answer. What was measured with other sources is not found."""

    def __init__(self, folder: Path, root: Path) -> None:
        self._folder = folder
        self._root = root

    def load(self, command: Command) -> Record | None:
        """What was kept, if it was."""
        path = self._path(command)
        if not path.is_file():
            return None
        return msgspec.json.decode(path.read_bytes(), type=Record)

    def save(self, command: Command, record: Record) -> None:
        """Whole or not at all."""
        path = self._path(command)
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        part.write_bytes(msgspec.json.format(msgspec.json.encode(record)))
        part.replace(path)

    def _path(self, command: Command) -> Path:
        content = "".join(digest(self._root / source) for source in command.sources)
        key = hashlib.sha256(f"{command.text}\n{content}".encode()).hexdigest()
        return self._folder / f"{key[:20]}.json"


@cache
def digest(path: Path) -> str:
    """Of the content and the names of all Python files of a folder, or of one file."""
    total = hashlib.sha256()
    for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
        total.update(file.relative_to(path).as_posix().encode())
        total.update(file.read_bytes() if file.is_file() else b"")
    return total.hexdigest()
