"""A job of two steps at a given batch: whether it fits in memory is found out by making them.

The second step has everything that training holds: gradients, the state of the optimizer, and the
buffers of DistributedDataParallel where there are several workers.
"""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, Never, final

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler
from torch.utils.data import DataLoader, Dataset, IterableDataset, default_collate

from headway.agent.job import MisuseError, S
from headway.agent.tracking import Tracker

STEPS = 2
ROOM = 0  # exit code of a worker that has made its steps
NO_ROOM = 76  # of one that ran out of memory


@final
class Trial:
    """One worker that reads ``samples`` in a pass, twice, and ends the process."""

    last_pass = True
    progress_share = 0.0

    def __init__(self, samples: int, tell: int) -> None:
        self.worker = int(os.environ.get("RANK", "0"))
        self.workers = int(os.environ.get("WORLD_SIZE", "1"))
        self._samples = samples
        self._tell = tell
        self._steps = 0
        self._identity: dict[str, Any] = {"torch": torch.__version__, "workers": self.workers}

    @property
    def device(self) -> torch.device:
        if not torch.cuda.is_available():
            return torch.device("cpu")
        return torch.device("cuda", self.worker % torch.cuda.device_count())

    def model(
        self, model: nn.Module, *, name: str = "model", find_unused_parameters: bool = False
    ) -> nn.Module:
        self._identity[name] = [
            [key, list(p.shape), str(p.dtype), p.requires_grad]
            for key, p in model.named_parameters()
        ]
        if self.workers == 1 or hasattr(model, "set_requires_gradient_sync"):
            return model
        return DistributedDataParallel(model, find_unused_parameters=find_unused_parameters)

    def optimizer(
        self, optimizer: Optimizer, *, lr_rule: str = "adascale", name: str = "optimizer"
    ) -> Optimizer:
        self._identity[name] = type(optimizer).__name__
        return optimizer

    def scaler(self, scaler: S, *, name: str = "scaler") -> S:
        return scaler

    def lr_scheduler(
        self, scheduler: LRScheduler, *, warmup_steps: int = 0, name: str = "lr_scheduler"
    ) -> LRScheduler:
        return scheduler

    def share(self, batch_size: int) -> int:
        return self._samples

    def state(self, name: str, part: S) -> S:
        return part

    def loader(
        self,
        source: Dataset[Any] | DataLoader[Any],
        *,
        batch_size: int | None = None,
        seed: int = 0,
    ) -> Iterable[Any]:
        dataset: Any = source.dataset if isinstance(source, DataLoader) else source
        together = source.collate_fn if isinstance(source, DataLoader) else default_collate
        if isinstance(dataset, IterableDataset):
            rows = list(islice(iter(dataset), self._samples))
        elif hasattr(dataset, "__getitem__"):
            rows = [dataset[index % len(dataset)] for index in range(self._samples)]
        else:
            raise MisuseError("a loader that is no DataLoader cannot be tried")
        batch = together(rows)
        self._identity["input"] = shapes(batch)
        return [batch] * (STEPS + 1)

    def tracker(self, tracker: Tracker) -> None:
        pass

    def epochs(self, count: int) -> Iterator[int]:
        return iter(range(count))

    def step(self, *, loss: Tensor | float | None = None) -> None:
        self._steps += 1
        if self._steps == STEPS:
            self.finish()

    def metric(self, value: float) -> None:
        pass

    def finish(self) -> Never:
        """The steps are made: tell what was tried, and leave without the rest of the script."""
        device = self.device
        if device.type == "cuda":
            torch.cuda.synchronize()
            card = torch.cuda.get_device_properties(device)
            self._identity["device"] = [card.name, card.total_memory]
        os.write(self._tell, json.dumps(self._identity, sort_keys=True).encode() + b"\n")
        if dist.is_initialized():
            dist.barrier()  # all have made theirs
        raise SystemExit(ROOM)

    def __enter__(self) -> "Trial":
        return self

    def __exit__(self, *_: object) -> None:
        pass


def shapes(batch: Any) -> Any:
    """Of one sample: what does not depend on how many there are."""
    if isinstance(batch, Tensor):
        return [list(batch.shape[1:]), str(batch.dtype)]
    if isinstance(batch, dict):
        return {str(key): shapes(value) for key, value in batch.items()}
    if isinstance(batch, list | tuple):
        return [shapes(value) for value in batch]
    return type(batch).__name__


def fingerprint(identity: str, limit_bytes: int | None) -> str:
    """Of model, optimizer, device, shape of the input, and how much memory there may be."""
    return hashlib.sha256(f"{identity} {limit_bytes}".encode()).hexdigest()[:32]


def is_exhaustion(error: BaseException) -> bool:
    """Whether memory was what was missing: CUDA, the host's allocator, or Python say it in turn."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    words = ("out of memory", "can't allocate memory", "cannot allocate memory")
    return isinstance(error, RuntimeError | OSError) and any(w in str(error).lower() for w in words)
