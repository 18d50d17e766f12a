"""Bodies of requests; the only place where what a user wrote becomes a core type."""

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from headway.core.types import BatchMode

Count = Annotated[int, Field(ge=1, le=1_000_000)]
Examples = Annotated[int, Field(ge=1, le=2**40)]
Text = Annotated[str, Field(min_length=1, max_length=4096, pattern=r"^[^\x00]*$")]
VariableName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=256)]


def _as_text(value: Any) -> Any:  # whatever a user wrote
    """``EPOCHS: 3`` in a job file means the text 3."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return str(value) if number else value


EnvValue = Annotated[str, Field(max_length=65536, pattern=r"^[^\x00]*$"), BeforeValidator(_as_text)]


class Body(BaseModel):
    """Strict: a field that is not known is an error, not a surprise."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def _span(low: str, high: str) -> BeforeValidator:
    """``2`` is both ends, ``"1-4"`` is from 1 to 4; anything else is left as it is."""

    def parse(value: Any) -> Any:  # whatever a user wrote
        if isinstance(value, int) and not isinstance(value, bool):
            return {low: value, high: value}
        if isinstance(value, str):
            first, dash, last = value.partition("-")
            try:
                return {low: int(first), high: int(last if dash else first)}
            except ValueError:
                raise ValueError(f"{value!r} is no range; write 4 or 1-4") from None
        return value

    return BeforeValidator(parse)


class GpusRequest(Body):
    """How many GPUs the job may hold."""

    min: Count = Field(default=1, description="fewest GPUs that the job can run on")
    max: Count | None = Field(default=None, description="most GPUs it can use; by default, min")
    sizes: Literal["pow2"] | list[Count] | None = Field(
        default=None,
        description="allowed counts, if not every count between: a list, or pow2",
        max_length=1000,
    )

    @property
    def most(self) -> int:
        """The upper bound, given or not."""
        return self.min if self.max is None else self.max

    def counts(self) -> tuple[int, ...] | None:
        """The allowed counts between the bounds, ascending; None: every one."""
        if self.sizes is None:
            return None
        powers = [1 << exponent for exponent in range(21)]
        sizes = powers if self.sizes == "pow2" else self.sizes
        return tuple(sorted({size for size in sizes if self.min <= size <= self.most}))

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.most < self.min:
            raise ValueError(f"min {self.min} is above max {self.max}; raise max or lower min")
        if self.counts() == ():
            raise ValueError(f"sizes has nothing from min {self.min} to max {self.most}")
        return self


class BatchRequest(Body):
    """The batch contract: what may be changed, within which bounds. Sizes are in examples."""

    mode: BatchMode = Field(
        default=BatchMode.FIXED,
        description="observe, fixed, or adaptive: may the batch size change",
    )
    initial: Examples | None = Field(
        default=None, description="the global batch size you tuned for"
    )
    max: Examples | None = Field(
        default=None, description="largest global batch size, for adaptive"
    )
    min_per_gpu: Count = Field(default=1, description="smallest batch on one GPU")
    max_per_gpu: Examples | None = Field(
        default=None, description="largest batch that fits one GPU"
    )
    max_accum_steps: Annotated[int, Field(ge=0, le=1000)] = Field(
        default=15, description="most accumulation steps before a synchronisation"
    )

    @model_validator(mode="after")
    def _bounds(self) -> Self:
        if self.mode is BatchMode.ADAPTIVE and self.initial is None:
            raise ValueError("mode adaptive needs initial, the batch size you tuned for")
        if self.initial is None and self.max is not None:
            raise ValueError("max needs initial, the batch size you tuned for")
        if self.initial and self.max and self.max < self.initial:
            raise ValueError(f"initial {self.initial} is above max {self.max}; raise max")
        if self.mode is not BatchMode.ADAPTIVE and self.max not in (None, self.initial):
            raise ValueError(f"mode {self.mode} keeps the batch; drop max, or take mode adaptive")
        if self.max_per_gpu is not None and self.max_per_gpu < self.min_per_gpu:
            raise ValueError(
                f"min_per_gpu {self.min_per_gpu} is above max_per_gpu {self.max_per_gpu}"
            )
        return self


class Requested(Body):
    """What the job gets from a policy that does not resize."""

    gpus: Count | None = Field(default=None, description="by default, the most that it can use")
    batch: Examples | None = Field(default=None, description="by default, the initial batch size")


Gpus = Annotated[GpusRequest, _span("min", "max")]
Batch = Annotated[BatchRequest, _span("initial", "max")]


class JobRequest(Body):
    """One training run, as in a job file."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "name": "digits",
                    "run": "python train.py --epochs 20",
                    "workdir": "/home/me/digits",
                    "gpus": {"min": 1, "max": 4},
                    "batch": {"mode": "adaptive", "initial": 32, "max": 512},
                }
            ]
        }
    )

    name: str = Field(
        default="job",
        pattern=r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$",
        description="small letters, digits and hyphens; the job's identifier begins with it",
    )
    run: Text | Annotated[list[Text], Field(min_length=1, max_length=1000)] | None = Field(
        default=None, description="the command: a line as for a shell, or a list of words"
    )
    script: Text | None = Field(default=None, description="a Python file to run, in place of run")
    workdir: Text = Field(description="absolute path of the folder that the job starts in")
    env: dict[VariableName, EnvValue] = Field(
        default_factory=dict, description="environment variables of the workers"
    )
    gpus: Gpus = Field(
        default_factory=GpusRequest,
        description="bounds; also a number, or text such as 1-4",
    )
    batch: Batch = Field(
        default_factory=BatchRequest,
        description="the batch contract; also a number, or with mode adaptive text such as 32-512",
    )
    requested: Requested = Field(
        default_factory=Requested, description="for policies that do not resize"
    )
    tenant: Text = Field(default="default", description="who owns the job")
    weight: float = Field(
        default=1.0, gt=0, le=1e6, allow_inf_nan=False, description="share, relative to other jobs"
    )
    preemptible: bool | None = Field(
        default=None,
        description="may it be stopped to go on later; by default, if its script uses Headway",
    )
    work: float | None = Field(
        default=None,
        gt=0,
        le=1e18,
        allow_inf_nan=False,
        description="scale-invariant examples to the end, if you know",
    )

    @model_validator(mode="after")
    def _one_command(self) -> Self:
        if (self.run is None) == (self.script is None):
            raise ValueError(
                "give one of run and script, as in run: python train.py"
                if self.run is None
                else "has both run and script; keep one"
            )
        return self
