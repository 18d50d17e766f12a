"""Bodies of requests; the only place where what a user wrote becomes a core type."""

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, ConfigDict, Field, model_validator

from headway.core.types import MOST_BESIDE, MOST_EXAMPLES
from headway.service.api.contract import BatchRequest
from headway.service.api.fields import Body, Count, Examples, Number, Text, span

VariableName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=256)]


def _as_text(value: Any) -> Any:  # whatever a user wrote
    """``EPOCHS: 3`` in a job file means the text 3."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return str(value) if number else value


EnvValue = Annotated[str, Field(max_length=65536, pattern=r"^[^\x00]*$"), BeforeValidator(_as_text)]


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


class Requested(Body):
    """What the job gets from a policy that does not resize."""

    gpus: Count | None = Field(default=None, description="by default, the most that it can use")
    batch: Examples | None = Field(default=None, description="by default, the initial batch size")


PerGpu = Annotated[Number, Field(ge=0, le=MOST_BESIDE, allow_inf_nan=False)]
Gpus = Annotated[GpusRequest, span("min", "max")]
Batch = Annotated[BatchRequest, span("initial", "max")]


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
    cpus_per_gpu: PerGpu = Field(
        default=0.0, description="CPUs beside each GPU, on its node; by default, not counted"
    )
    memory_gb_per_gpu: PerGpu = Field(
        default=0.0, description="GB of memory beside each GPU; by default, not counted"
    )
    tenant: Text = Field(default="default", description="who owns the job")
    weight: Number = Field(
        default=1.0, gt=0, le=1e6, allow_inf_nan=False, description="share, relative to other jobs"
    )
    preemptible: bool | None = Field(
        default=None,
        description="may it be stopped to go on later; by default, if its script uses Headway",
    )
    work: Number | None = Field(
        default=None,
        gt=0,
        le=MOST_EXAMPLES,
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
