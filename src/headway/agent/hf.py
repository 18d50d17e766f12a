"""Hugging Face's ``Trainer`` under the scheduler: a callback, its arguments, its checkpoint.

::

    args = TrainingArguments(output_dir, **batch_arguments(32), dataloader_drop_last=True)
    trainer = Trainer(model, args, train_dataset=data, callbacks=[HeadwayCallback()])
    trainer.train(resume_from_checkpoint=newest(output_dir))

The batch stays what it is (mode ``fixed`` or ``observe``). The Trainer reads its data set in an
order that does not depend on the number of workers, so a job that goes on at another size reads on
where it was, as long as the global batch is the same: that is what ``batch_arguments`` sees to.
"""

from pathlib import Path
from typing import Any, final

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from headway.agent.follower import follower, shares_here
from headway.agent.job import MisuseError


def batch_arguments(batch_size: int) -> dict[str, int]:
    """What ``TrainingArguments`` needs to keep this global batch on any number of workers."""
    here = shares_here(batch_size)
    return {
        "per_device_train_batch_size": here.per_worker,
        "gradient_accumulation_steps": here.passes,
    }


def newest(output_dir: str | Path) -> str | None:
    """The newest checkpoint that was written to its end; None: begin anew."""
    whole = [one.parent for one in Path(output_dir).glob("checkpoint-*/trainer_state.json")]
    numbered = [one for one in whole if one.name.rpartition("-")[2].isdecimal()]
    last = max(numbered, key=lambda one: int(one.name.rpartition("-")[2]), default=None)
    return None if last is None else str(last)


@final
class HeadwayCallback(TrainerCallback):
    """Reports, and leaves from a checkpoint when the scheduler wants another size.

    Without a scheduler it does nothing.
    """

    def __init__(self) -> None:
        self._follower = follower()
        self._leaving = False

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **more: Any
    ) -> None:
        follows = self._follower
        if follows is None:
            return
        samples = args.per_device_train_batch_size * args.gradient_accumulation_steps
        if samples * args.world_size != follows.batch_size:
            raise MisuseError(
                f"the Trainer makes steps of {samples * args.world_size} samples, but "
                f"initial_batch_size of the job is {follows.batch_size}: use batch_arguments"
            )
        if args.save_only_model:
            raise MisuseError("save_only_model: nothing could go on from such a checkpoint")
        steps, total = state.global_step, state.max_steps
        follows.begin(more["model"], steps=steps, total_steps=total, epoch=int(state.epoch or 0))

    def on_step_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **more: Any
    ) -> None:
        if self._follower is not None:
            self._follower.begin_pass()

    def on_substep_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **more: Any
    ) -> None:
        if self._follower is not None:
            self._follower.end_pass(last=False)
            self._follower.begin_pass()

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **more: Any
    ) -> None:
        if self._follower is None:
            return
        self._follower.end_pass(last=True)
        self._follower.cursor.epoch = int(state.epoch or 0)
        if self._follower.end_step():
            self._leaving = control.should_save = True

    def on_save(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **more: Any
    ) -> None:
        if self._follower is not None and self._leaving:
            self._follower.leave()

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: dict[str, float] | None = None,
        **more: Any,
    ) -> None:
        loss = (logs or {}).get("loss")
        if self._follower is not None and loss is not None:
            self._follower.loss(loss)

    def on_evaluate(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        metrics: dict[str, float] | None = None,
        **more: Any,
    ) -> None:
        name = args.metric_for_best_model or "loss"
        value = (metrics or {}).get(name if name.startswith("eval_") else f"eval_{name}")
        if self._follower is not None and value is not None:
            self._follower.metric(value)

    def on_train_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **more: Any
    ) -> None:
        if self._follower is not None:
            self._follower.finish()
