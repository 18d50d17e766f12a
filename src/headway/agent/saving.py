"""What a checkpoint of a job holds, and how the parts of a training script find their state."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any, final

import msgspec
import numpy as np
import torch

from headway.agent.checkpoint import CheckpointStore, LineLog, check_plain
from headway.agent.exchange import Exchange
from headway.agent.job import MisuseError, Stateful
from headway.agent.reads import Counts
from headway.agent.rng import random_state
from headway.agent.sharding import gathered
from headway.agent.tree import snapshot
from headway.protocol.messages import EpochCount

VERSION = 2


@final
class Saver:
    """Gathers the state of everything registered; all workers call ``save``, worker 0 writes."""

    def __init__(
        self, store: CheckpointStore, exchange: Exchange, *, first: bool, joins: bool = False
    ) -> None:
        """``joins``: the state comes from workers that are training, not from a checkpoint."""
        self._store = store
        self._exchange = exchange
        self._first = first
        self._parts: dict[str, Stateful] = {}
        self._writer = ThreadPoolExecutor(1, "checkpoint")
        self._writing: tuple[Future[bool], int] | None = None  # and the epochs that are in it
        self._together = False  # the state of a part is told by all workers
        self._last: list[str] = []  # parts that are restored after all others
        self._saved = {} if joins else store.load() or {}
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

    def register(
        self, name: str, part: Stateful, *, last: bool = False, together: bool = False
    ) -> None:
        """Keep the state of a part from now on; ``last``: it is restored after all others;
        ``together``: to tell its state takes all workers."""
        self._together |= together
        if name in self._parts:
            raise MisuseError(f"two parts of the job are called {name!r}: give one another name")
        self._parts[name] = part
        self._last += [name] * last

    def restore(self, name: str) -> None:
        """Give a registered part the state that the checkpoint has for it."""
        state = self._saved.get("parts", {}).get(name)
        if state is not None:
            self._parts[name].load_state_dict(state)

    def restore_last(self) -> None:
        """Give those that come last their state."""
        for name in self._last:
            self.restore(name)

    def check(self) -> None:
        """That the state of every part can be saved; found out now, not when it is needed."""
        for name, part in self._parts.items():
            check_plain(part.state_dict(), name)

    def adopt(self, state: dict[str, Any], *, first: bool) -> None:
        """Go on from what another generation has gathered, as from a checkpoint without parts."""
        self._saved, self._first = state, first
        self.epochs = [EpochCount(**count) for count in state["epochs"]]
        self._logged = len(self._log.lines()) if first else 0

    def rescue(self, state: dict[str, Any], mark: str) -> tuple[EpochCount, ...]:
        """Save what was gathered, unless another worker of the same moment has done it."""
        fresh = self.settled()
        saved = self._store.save({**state, "parts": self.parts()}, mark=mark)
        self._logged = len(self._log.lines())
        return fresh + self._told(len(self.epochs)) if saved else fresh

    def load(
        self, parts: dict[str, dict[str, Any]], *, of: Callable[[str, dict[str, Any]], bool]
    ) -> None:
        """Give those parts their state of which this is true, in the order in which a start does.

        The others are not touched: what is loaded is not always kept as it was, such as moments of
        another precision than their parameters'.
        """
        own = self.parts()
        for name in sorted(own, key=lambda name: name in self._last):
            if of(name, own[name]):
                self._parts[name].load_state_dict(parts[name])

    def release(self) -> None:
        """Forget the loaded tensors once everything is restored."""
        self._saved = {}

    def gather(self, own: dict[str, Any], counts: Counts) -> dict[str, Any]:
        """A collective: all of a checkpoint, but the parts where worker 0 alone can tell them."""
        told = {"parts": gathered(self.parts(), keep=self._first)} if self._together else {}
        return {
            **own,
            **told,
            "version": VERSION,
            "random": random_state(),
            "counts": self._exchange.summed(torch.from_numpy(counts)),
            "epochs": [asdict(count) for count in self.epochs],
        }

    def parts(self) -> dict[str, dict[str, Any]]:
        """The state of everything registered, on this worker."""
        return {name: part.state_dict() for name, part in self._parts.items()}

    def save(self, state: dict[str, Any], *, wait: bool) -> tuple[EpochCount, ...]:
        """What was gathered, with the parts; the epochs that are safe now and were not before.

        All workers call it, worker 0 writes. Without ``wait`` training goes on meanwhile: a copy of
        this moment is written by a thread.
        """
        fresh, whole = self.settled(), self._whole(state)
        if not self._first:
            return ()
        if not wait:
            copy = snapshot(whole)
            self._writing = self._writer.submit(self._store.save, copy), len(self.epochs)
            return fresh
        self._store.save(whole)
        return fresh + self._told(len(self.epochs))

    def _whole(self, state: dict[str, Any]) -> dict[str, Any]:
        return state if "parts" in state else {**state, "parts": self.parts()}

    @property
    def writes(self) -> bool:
        """Whether something is being written just now."""
        return self._writing is not None and not self._writing[0].done()

    def settled(self) -> tuple[EpochCount, ...]:
        """Wait for what is being written; the epochs that are safe now and were not before."""
        if self._writing is None:
            return ()
        writing, epochs = self._writing
        self._writing = None
        writing.result()  # or what has gone wrong
        return self._told(epochs)

    def _told(self, count: int) -> tuple[EpochCount, ...]:
        """So many epochs are safe."""
        fresh = tuple(self.epochs[self._logged : count])
        for one in fresh:
            self._log.append(msgspec.json.encode(one))
        self._logged = max(self._logged, count)
        return fresh

    def counts(self, size: int) -> Counts | None:
        """Reads so far in the epoch that the checkpoint is in; worker 0 goes on from them."""
        counts = self._saved.get("counts")
        if counts is None or not self._first:
            return None
        if counts.numel() != size:
            raise MisuseError(f"the checkpoint is of {counts.numel()} samples, the data has {size}")
        return np.array(counts.numpy(), dtype=np.int32)
