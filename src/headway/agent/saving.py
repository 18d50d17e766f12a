"""What a checkpoint of a job holds, and how the parts of a training script find their state."""

from dataclasses import asdict
from pathlib import Path
from typing import Any, final

import msgspec
import numpy as np
import torch

from headway.agent.checkpoint import CheckpointStore, LineLog, check_plain
from headway.agent.data import Counts
from headway.agent.exchange import Exchange
from headway.agent.job import MisuseError, Stateful
from headway.agent.rng import random_state
from headway.agent.sharding import gathered
from headway.protocol.messages import EpochCount

VERSION = 2


@final
class Saver:
    """Gathers the state of everything registered; all workers call ``save``, worker 0 writes."""

    def __init__(self, store: CheckpointStore, exchange: Exchange, *, first: bool) -> None:
        self._store = store
        self._exchange = exchange
        self._first = first
        self._parts: dict[str, Stateful] = {}
        self._saved = store.load() or {}
        if self._saved and self._saved["version"] != VERSION:
            raise MisuseError(f"checkpoint of version {self._saved['version']}, not {VERSION}")
        self._log = LineLog(store.folder / "epochs.jsonl")
        self.epochs = [EpochCount(**count) for count in self._saved.get("epochs", [])]
        self._logged = len(self._log.lines()) if first else 0

    @property
    def folder(self) -> Path:
        """Where the checkpoints are, and the logs beside them."""
        return self._store.folder

    def saved(self, name: str) -> Any:
        """What the loaded checkpoint has under this name; None without it."""
        return self._saved.get(name)

    def summed(self, counts: torch.Tensor) -> torch.Tensor:
        """A collective: the sum over all workers."""
        return self._exchange.summed(counts)

    def register(self, name: str, part: Stateful) -> None:
        """Keep the state of a part from now on."""
        if name in self._parts:
            raise MisuseError(f"two parts of the job are called {name!r}: give one another name")
        self._parts[name] = part

    def restore(self, name: str) -> None:
        """Give a registered part the state that the checkpoint has for it."""
        state = self._saved.get("parts", {}).get(name)
        if state is not None:
            self._parts[name].load_state_dict(state)

    def check(self) -> None:
        """That the state of every part can be saved; found out now, not when it is needed."""
        for name, part in self._parts.items():
            check_plain(part.state_dict(), name)

    def release(self) -> None:
        """Forget the loaded tensors once everything is restored."""
        self._saved = {}

    def save(self, own: dict[str, Any], counts: Counts) -> tuple[EpochCount, ...]:
        """A collective. The epochs that are safe now and were not before."""
        total = self._exchange.summed(torch.from_numpy(counts))
        parts = {name: part.state_dict() for name, part in self._parts.items()}
        parts = gathered(parts, keep=self._first)
        if not self._first:
            return ()
        state = {
            **own,
            "version": VERSION,
            "parts": parts,
            "random": random_state(),
            "counts": total,
            "epochs": [asdict(count) for count in self.epochs],
        }
        self._store.save(state)
        fresh = tuple(self.epochs[self._logged :])
        for count in fresh:
            self._log.append(msgspec.json.encode(count))
        self._logged = max(self._logged, len(self.epochs))
        return fresh

    def counts(self, size: int) -> Counts | None:
        """Reads so far in the epoch that the checkpoint is in; worker 0 goes on from them."""
        counts = self._saved.get("counts")
        if counts is None or not self._first:
            return None
        if counts.numel() != size:
            raise MisuseError(f"the checkpoint is of {counts.numel()} samples, the data has {size}")
        return np.array(counts.numpy(), dtype=np.int32)
