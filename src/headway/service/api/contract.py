"""The batch contract as its owner writes it, and as a core type."""

from typing import Annotated, Any, Self

import msgspec
from pydantic import Field, model_validator

from headway.core.errors import InvalidInputError
from headway.core.model.replay import effective
from headway.core.model.schedule import parse_schedule
from headway.core.types import (
    BatchChange,
    BatchContract,
    BatchMode,
    BatchRule,
    RuleName,
    ScheduledBatch,
)
from headway.service.api.fields import Body, Count, Examples, Text

Samples = Annotated[int, Field(ge=0, le=2**50)]
_SCHEDULE_FIELDS = ("schedule", "rule", "every_epochs", "eta", "tokens_per_sample")


class BatchRequest(Body):
    """The batch contract: what may be changed, within which bounds. Sizes are in examples."""

    mode: BatchMode = Field(
        default=BatchMode.FIXED,
        description="observe, fixed, schedule, or adaptive: may the batch size change",
    )
    initial: Examples | None = Field(
        default=None, description="the global batch size you tuned for"
    )
    max: Examples | None = Field(
        default=None, description="largest global batch size, for adaptive and for a rule"
    )
    min_per_gpu: Count = Field(default=1, description="smallest batch on one GPU")
    max_per_gpu: Examples | None = Field(
        default=None, description="largest batch that fits one GPU"
    )
    max_accum_steps: Annotated[int, Field(ge=0, le=1000)] = Field(
        default=15, description="most accumulation steps before a synchronisation"
    )
    schedule: Text | None = Field(
        default=None, description="for mode schedule: thresholds and sizes, as in 0:64 2M:128"
    )
    tokens_per_sample: Count | None = Field(
        default=None, description="thresholds of the schedule are in tokens, so many a sample"
    )
    rule: RuleName | None = Field(
        default=None, description="for mode schedule: accordion or gns, in place of a schedule"
    )
    every_epochs: Count | None = Field(default=None, description="how often a rule looks: 10")
    eta: Annotated[float, Field(gt=0, le=1)] | None = Field(
        default=None, description="accordion: relative change of the gradient norm: 0.5"
    )
    max_lr_factor: Annotated[float, Field(ge=1, le=1e6)] | None = Field(
        default=None, description="no rule raises the learning rate beyond this multiple"
    )
    freeze_before: Samples = Field(
        default=0, description="the batch stays initial until so many samples are read"
    )
    freeze_after: Samples | None = Field(
        default=None, description="the batch stays as it is from so many samples on"
    )
    replay: list[dict[str, Any]] | None = Field(
        default=None,
        min_length=1,
        max_length=1_000_000,
        description="records of a decision log, to be followed exactly",
    )

    @property
    def changes(self) -> bool:
        """Whether anything but a declared schedule may change the batch."""
        return self.mode is BatchMode.ADAPTIVE or self.rule is not None

    @model_validator(mode="after")
    def _bounds(self) -> Self:
        if self.mode in {BatchMode.ADAPTIVE, BatchMode.SCHEDULE} and self.initial is None:
            raise ValueError(f"mode {self.mode} needs initial, the batch size you tuned for")
        if self.initial is None and self.max is not None:
            raise ValueError("max needs initial, the batch size you tuned for")
        if self.initial and self.max and self.max < self.initial:
            raise ValueError(f"initial {self.initial} is above max {self.max}; raise max")
        if not self.changes and self.schedule is None and self.max not in (None, self.initial):
            raise ValueError(f"mode {self.mode} keeps the batch; drop max, or take mode adaptive")
        if self.max_per_gpu is not None and self.max_per_gpu < self.min_per_gpu:
            raise ValueError(
                f"min_per_gpu {self.min_per_gpu} is above max_per_gpu {self.max_per_gpu}"
            )
        return self

    @model_validator(mode="after")
    def _schedule(self) -> Self:
        given = [name for name in _SCHEDULE_FIELDS if getattr(self, name) is not None]
        if self.mode is not BatchMode.SCHEDULE:
            if given:
                raise ValueError(f"{given[0]} is for mode schedule; drop it, or take that mode")
            return self
        if (self.schedule is None) == (self.rule is None):
            raise ValueError("mode schedule needs one of schedule, as in 0:64 2M:128, and rule")
        if self.rule is None and (self.every_epochs is not None or self.eta is not None):
            raise ValueError("every_epochs and eta are for a rule; drop them")
        if self.rule is not None and self.tokens_per_sample is not None:
            raise ValueError("tokens_per_sample is for a declared schedule; drop it")
        if self.eta is not None and self.rule is not RuleName.ACCORDION:
            raise ValueError("eta is for rule accordion; drop it")
        if self.rule is not None and (self.max is None or self.max == self.initial):
            raise ValueError(f"rule {self.rule} needs max, the largest batch size, above initial")
        return self

    @model_validator(mode="after")
    def _freeze(self) -> Self:
        frozen = self.freeze_before > 0 or self.freeze_after is not None
        if frozen and not self.changes:
            raise ValueError("freeze_before and freeze_after are for mode adaptive and for a rule")
        if self.freeze_after is not None and self.freeze_after <= self.freeze_before:
            raise ValueError(
                f"freeze_after {self.freeze_after} must be above freeze_before {self.freeze_before}"
            )
        return self


def contract_of(given: BatchRequest, most_gpus: int) -> BatchContract:
    """The contract of a job that may hold so many GPUs.

    Raises:
        InvalidInputError: a schedule or a log that cannot be read.
    """
    # without a batch size, one example a GPU: any allowed count of GPUs must be able to share it
    initial = given.initial or most_gpus * given.min_per_gpu
    schedule, replay = _declared(given), _replay(given)
    most = max([given.max or initial, *(step.batch_size for step in schedule)])
    # a lone number is both initial and max
    if given.max not in (None, initial) and most > (given.max or 0):
        raise InvalidInputError(f"batch.schedule: {most} is above max {given.max}; raise max")
    return BatchContract(
        initial_batch_size=initial,
        max_batch_size=most,
        min_batch_per_gpu=given.min_per_gpu,
        max_batch_per_gpu=given.max_per_gpu or max(most, given.min_per_gpu),
        max_accum_steps=given.max_accum_steps,
        mode=given.mode,
        schedule=schedule,
        rule=_rule(given),
        max_lr_factor=given.max_lr_factor,
        freeze_before_samples=given.freeze_before,
        freeze_after_samples=given.freeze_after,
        replay=replay,
    )


def _declared(given: BatchRequest) -> tuple[ScheduledBatch, ...]:
    if given.schedule is None:
        return ()
    try:
        return parse_schedule(given.schedule, tokens_per_sample=given.tokens_per_sample)
    except InvalidInputError as error:
        raise InvalidInputError(f"batch.{error}") from None


def _rule(given: BatchRequest) -> BatchRule | None:
    if given.rule is None:
        return None
    usual = BatchRule(name=given.rule)
    return BatchRule(
        name=given.rule,
        every_epochs=given.every_epochs or usual.every_epochs,
        eta=given.eta or usual.eta,
    )


def _replay(given: BatchRequest) -> tuple[BatchChange, ...]:
    if given.replay is None:
        return ()
    try:
        records = effective(msgspec.convert(given.replay, list[BatchChange]))
    except msgspec.ValidationError as error:
        raise InvalidInputError(f"batch.replay: {error}; give a decisions.jsonl") from None
    if records[0].samples != 0:
        raise InvalidInputError(
            f"batch.replay: begins at {records[0].samples} samples; give the whole decisions.jsonl"
        )
    return records
