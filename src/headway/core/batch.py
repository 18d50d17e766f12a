"""The batch contract as values: modes, schedules, rules, the owner's bounds, records of changes."""

from dataclasses import dataclass
from enum import StrEnum


class BatchMode(StrEnum):
    """What an agent may do to the batch size."""

    OBSERVE = "observe"  # measure and report only
    FIXED = "fixed"  # keep the global batch, split it over GPUs and accumulation steps
    SCHEDULE = "schedule"  # follow a declared schedule, or a rule that the job carries
    ADAPTIVE = "adaptive"  # choose (m, s) by goodput inside the owner's bounds


class RuleName(StrEnum):
    """Adaptation that a job carries by itself (Shockwave's dynamic jobs)."""

    ACCORDION = "accordion"
    GNS = "gns"


class ChangeCode(StrEnum):
    """Why a batch changed. Stable: scripts and dashboards read these."""

    BEGAN = "Began"
    SCHEDULED = "Scheduled"
    CRITICAL = "CriticalRegime"
    CALM = "CalmRegime"
    NOISE_ABOVE_BATCH = "NoiseAboveBatch"
    BETTER_GOODPUT = "BetterGoodput"
    ALLOCATION = "AnotherAllocation"
    CHECKPOINT = "BackToCheckpoint"
    NOISE_MOVED = "NoiseScaleMoved"
    MEASURING = "MeasuringOften"
    NOT_A_NUMBER = "LossNotANumber"
    LOSS_LEFT = "LossLeftForecast"
    REPLAYED = "Replayed"
    UNTOLD = "Untold"


@dataclass(frozen=True, slots=True)
class ScheduledBatch:
    """A batch size that a declared schedule asks for from some number of samples on."""

    from_samples: int
    batch_size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchRule:
    """When a job changes its batch by itself; looked at every so many epochs."""

    name: RuleName
    every_epochs: int = 10
    eta: float = 0.5  # accordion: a gradient norm that changed by this share is critical


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchChange:
    """One record of the batch contract: what the agent changed, on what grounds.

    ``noise_scale`` is the one that the learning rate and the progress are reckoned with from here
    on, so records determine both; ``goodput_per_s`` is to be compared with the
    ``measured_per_s`` of the next record.
    """

    samples: int  # read before the change
    gpus: int
    batch_per_gpu: int
    accum_steps: int
    old_batch_size: int
    new_batch_size: int
    lr_factor: float  # on the owner's learning rate, after the change
    lr_rule: str
    noise_scale: float | None
    noise_scale_error: float | None
    predicted_gain: float  # goodput after over goodput before, by the model
    why: str  # one clause for people
    code: ChangeCode = ChangeCode.UNTOLD  # the same for programs
    old_gpus: int = 0
    halve_every: int = 0  # one step in so many is made in two passes, to measure; 0: none
    lr: float | None = None  # of the first parameters, after the change
    betas: tuple[float, ...] | None = None  # of the same; None: the optimizer has none
    goodput_per_s: float | None = None  # predicted from here on
    measured_per_s: float | None = None  # goodput of what ends here
    epoch: int = 0
    seed: int | None = None  # of the order of the samples
    version: str = ""  # of Headway
    at_s: float | None = None  # Unix time where the training runs; None in a simulation

    @property
    def resizes(self) -> bool:
        """Whether people would call it another batch: not where the same one is split otherwise.

        On other GPUs it is a multiple of theirs, so 256 on three of them are 255.
        """
        apart = abs(self.new_batch_size - self.old_batch_size)
        if self.code is ChangeCode.ALLOCATION:
            return apart >= self.gpus * (self.accum_steps + 1)
        return apart > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchContract:
    """The owner's bounds on the batch size; sizes are global and in examples unless said."""

    initial_batch_size: int  # M0, what the user tuned for
    max_batch_size: int  # equals initial_batch_size when the batch is fixed
    min_batch_per_gpu: int = 1
    max_batch_per_gpu: int  # what fits in the memory of one GPU
    max_accum_steps: int = 15  # s, so at most 16 passes a step
    mode: BatchMode = BatchMode.FIXED
    schedule: tuple[ScheduledBatch, ...] = ()  # ascending, the first from 0; mode schedule
    rule: BatchRule | None = None  # mode schedule without a declared one
    max_lr_factor: float | None = None  # no rule makes the learning rate larger than this
    freeze_before_samples: int = 0  # the batch stays M0 until then
    freeze_after_samples: int | None = None  # and as it is from then on
    replay: tuple[BatchChange, ...] = ()  # records to follow, in place of what the mode says

    @property
    def adapts(self) -> bool:
        return self.mode is BatchMode.ADAPTIVE and not self.replay

    @property
    def follows(self) -> bool:
        """Whether the batch changes by itself, whatever a policy would like."""
        return self.mode is BatchMode.SCHEDULE or bool(self.replay)

    def frozen(self, samples: int) -> bool:
        """Whether the owner forbids a change when so many samples are read."""
        after = self.freeze_after_samples
        return samples < self.freeze_before_samples or (after is not None and samples >= after)
