"""A job without a scheduler: everything is left as it is."""

from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Any, Self, final

import torch
from torch import Tensor, nn
from torch.amp import GradScaler
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler
from torch.utils.data import DataLoader, Dataset, IterableDataset, Sampler

from headway.agent.data import as_loader
from headway.agent.job import LossScaler, Paced, S, whole_epochs, whole_seed
from headway.agent.plan import epoch_order
from headway.agent.stateful import is_stateful
from headway.agent.stream import Epochs
from headway.agent.tracking import Tracker


@final
class LoneJob:
    """One worker, no checkpoints, no reports. A given DataLoader comes back as it is."""

    worker = 0
    workers = 1
    last_pass = True

    def __init__(self) -> None:
        self._epoch = 0
        self._epochs = 0
        self._steps = 0  # of this epoch
        self._loader: DataLoader[Any] | None = None

    @property
    def device(self) -> torch.device:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")

    @property
    def progress_share(self) -> float:
        if self._loader is None or self._epochs == 0:
            return 0.0
        dataset: Any = self._loader.dataset
        samples, size = len(dataset), self._loader.batch_size or 1
        if self._loader.drop_last:
            samples -= samples % size
        done = self._epoch * samples + min(self._steps * size, samples)
        return min(done / (self._epochs * samples), 1.0)

    def model(
        self, model: nn.Module, *, name: str = "model", find_unused_parameters: bool = False
    ) -> nn.Module:
        return model

    def optimizer(
        self, optimizer: Optimizer, *, lr_rule: str = "adascale", name: str = "optimizer"
    ) -> Optimizer:
        return optimizer

    def scaler(self, scaler: GradScaler, *, name: str = "scaler") -> LossScaler:
        return scaler

    def lr_scheduler(
        self, scheduler: LRScheduler, *, warmup_steps: int = 0, name: str = "lr_scheduler"
    ) -> Paced:
        return scheduler

    def loader(
        self,
        source: Dataset[Any] | DataLoader[Any],
        *,
        batch_size: int | None = None,
        seed: int = 0,
    ) -> Iterable[Any]:
        own: Any = source
        seed = whole_seed(seed)
        if is_stateful(own):
            return own  # type: ignore[no-any-return]
        if not isinstance(source, DataLoader):
            plain = as_loader(source, batch_size)
            if isinstance(source, IterableDataset):
                self._loader = plain
                return Epochs(plain, self.in_epoch)
            order = _EpochOrder(self, plain, seed)
            # a generator of its own, so that the script's draws what it draws under the scheduler
            own = torch.Generator()
            source = DataLoader(source, batch_size=batch_size, sampler=order, generator=own)
        self._loader = source
        return source

    def share(self, batch_size: int) -> int:
        return batch_size

    def state(self, name: str, part: S) -> S:
        return part

    def tracker(self, tracker: Tracker) -> None:
        pass

    def epochs(self, count: int) -> Iterator[int]:
        self._epochs = whole_epochs(count)
        while self._epoch < self._epochs:  # of a second call too: what was done before is done
            self._steps = 0
            yield self._epoch
            self._epoch, self._steps = self._epoch + 1, 0

    def step(self, *, loss: Tensor | float | None = None) -> None:
        self._steps += 1

    def metric(self, value: float) -> None:
        pass

    def finish(self) -> None:
        pass

    def in_epoch(self) -> int:
        """The epoch that is running."""
        return self._epoch

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        pass


@final
class _EpochOrder(Sampler[int]):
    """The order that the same job has under the scheduler."""

    def __init__(self, job: LoneJob, loader: DataLoader[Any], seed: int) -> None:
        dataset: Any = loader.dataset
        self._samples = len(dataset)
        self._job = job
        self._seed = seed

    def __len__(self) -> int:
        return self._samples

    def __iter__(self) -> Iterator[int]:
        order = epoch_order(
            self._samples, epoch=self._job.in_epoch(), seed=self._seed, shuffled=True
        )
        return iter(order.tolist())
