"""Lightning's ``Trainer`` under the scheduler: a callback, its loader, its checkpoint.

::

    headway = HeadwayCallback("checkpoints")
    loader = headway.loader(data, batch_size=32, seed=0)
    trainer = Trainer(max_epochs=9, callbacks=[headway], **headway.trainer_arguments())
    trainer.fit(module, loader, ckpt_path=headway.newest())

The batch stays what it is (mode ``fixed`` or ``observe``). The loader reads in an order that does
not depend on the number of workers, and whole steps only: what is left of an epoch is dropped.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, final

import torch
from lightning.pytorch import Callback, LightningModule, Trainer
from torch.utils.data import DataLoader, Dataset

from headway.agent.follower import follower, shares_here
from headway.agent.job import MisuseError
from headway.agent.plan import epoch_order

_FILE = "headway.ckpt"
_PROGRESS = "epoch_loop.batch_progress"


@final
class WholeSteps:
    """One worker's part of each step of an epoch, from the step that the training is at."""

    def __init__(
        self, dataset: Dataset[Any], batch_size: int, *, seed: int, options: dict[str, Any]
    ) -> None:
        self.here = shares_here(batch_size)
        self.epoch = 0
        self.step = 0
        self._batch_size = batch_size
        self._dataset: Any = dataset
        self._seed = seed
        self._options = options
        if self.steps == 0:
            raise MisuseError(f"the data set has fewer samples than a batch of {batch_size}")

    @property
    def steps(self) -> int:
        """Of an epoch."""
        return len(self._dataset) // self._batch_size

    def __len__(self) -> int:
        """Passes of an epoch."""
        return self.steps * self.here.passes

    def __iter__(self) -> Iterator[Any]:
        own = torch.Generator().manual_seed(self._seed)  # leaves the script's random numbers alone
        batches = list(self._indices())
        loader: DataLoader[Any] = DataLoader(
            self._dataset, batch_sampler=batches, generator=own, **self._options
        )
        return iter(loader)

    def _indices(self) -> Iterator[list[int]]:
        samples, size = len(self._dataset), self.here.per_worker
        order = epoch_order(samples, epoch=self.epoch, seed=self._seed, shuffled=True).tolist()
        for step in range(self.step, self.steps):
            begin = step * self._batch_size + _worker() * size * self.here.passes
            for index in range(self.here.passes):
                yield order[begin + index * size : begin + (index + 1) * size]


@final
class HeadwayCallback(Callback):
    """Reports, and leaves from a checkpoint when the scheduler wants another size.

    ``monitor`` names the logged metric that is the owner's own. Does nothing without a scheduler.
    """

    def __init__(self, folder: str | Path, *, monitor: str | None = None) -> None:
        self._file = Path(folder) / _FILE
        self._monitor = monitor
        self._follower = follower()
        self._loader: WholeSteps | None = None
        self._leaving = False

    def loader(
        self, dataset: Dataset[Any], *, batch_size: int, seed: int = 0, **options: Any
    ) -> WholeSteps:
        """The training loader; ``options`` are DataLoader's (num_workers, collate_fn, ...)."""
        self._loader = WholeSteps(dataset, batch_size, seed=seed, options=options)
        return self._loader

    def trainer_arguments(self) -> dict[str, Any]:
        """What ``Trainer`` needs to keep the batch on as many workers as there are."""
        workers = int(os.environ.get("WORLD_SIZE", "1"))
        local = int(os.environ.get("LOCAL_WORLD_SIZE", workers))
        return {
            "devices": local,
            "num_nodes": workers // local,
            "strategy": "ddp" if workers > 1 else "auto",
            "accumulate_grad_batches": self._loaded().here.passes,
        }

    def newest(self) -> str | None:
        """The checkpoint to go on from; None: begin anew."""
        return str(self._file) if self._file.exists() else None

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if self._follower is not None:
            loader, epochs = self._loaded(), trainer.max_epochs or 0
            self._follower.begin(
                pl_module,
                steps=loader.epoch * loader.steps + loader.step,
                total_steps=epochs * loader.steps,
                epoch=loader.epoch,
            )

    def on_train_epoch_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Not called for an epoch that a checkpoint cut."""
        loader = self._loaded()
        loader.epoch, loader.step = trainer.current_epoch, 0
        if self._follower is not None:
            self._follower.cursor.epoch = loader.epoch

    def on_train_batch_start(
        self, trainer: Trainer, pl_module: LightningModule, batch: Any, batch_idx: int
    ) -> None:
        if self._follower is not None:
            self._follower.begin_pass()

    def on_train_batch_end(
        self,
        trainer: Trainer,
        pl_module: LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
    ) -> None:
        loader = self._loaded()
        last = (batch_idx + 1) % loader.here.passes == 0
        if last:
            loader.step = (batch_idx + 1) // loader.here.passes
        if self._follower is None:
            return
        self._follower.end_pass(last=last)
        loss = outputs.get("loss") if isinstance(outputs, dict) else outputs
        if loss is not None:
            self._follower.loss(loss * loader.here.passes)  # Lightning has divided it
        if last and self._follower.end_step():
            self._leaving = True
        if last and self._leaving and loader.step < loader.steps:  # else in the next epoch
            self._leave(trainer)

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        value = trainer.callback_metrics.get(self._monitor or "")
        if self._follower is not None and value is not None:
            self._follower.metric(float(value))

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if self._follower is not None:
            self._follower.finish()

    def state_dict(self) -> dict[str, Any]:
        loader = self._loaded()
        return {"epoch": loader.epoch, "step": loader.step, "passes": loader.here.passes}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        loader = self._loaded()
        loader.epoch, loader.step = state_dict["epoch"], state_dict["step"]

    def on_load_checkpoint(
        self, trainer: Trainer, pl_module: LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        """Lightning counts passes: tell it how many there would have been with these workers."""
        mine = checkpoint["callbacks"].get(self.state_key)
        if mine is None or mine["passes"] == self._loaded().here.passes:
            return
        current = checkpoint["loops"]["fit_loop"][_PROGRESS]["current"]
        made = mine["step"] * self._loaded().here.passes
        missing = made - current["ready"]
        for name in ("ready", "started", "processed", "completed"):
            current[name] += missing

    def _leave(self, trainer: Trainer) -> None:
        assert self._follower is not None
        beside = self._file.with_suffix(".part")
        trainer.save_checkpoint(beside)
        if trainer.is_global_zero:
            beside.replace(self._file)
        self._follower.leave()

    def _loaded(self) -> WholeSteps:
        if self._loader is None:
            raise MisuseError("HeadwayCallback: make the training loader by callback.loader(...)")
        return self._loader


def _worker() -> int:
    return int(os.environ.get("RANK", "0"))
