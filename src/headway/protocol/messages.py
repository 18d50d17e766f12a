"""What an agent tells the service, and what it is told in return.

An agent asks often and the service answers at once: the answer is always the whole wanted state of
the job, so a lost message or a restarted service costs nothing.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

import msgspec

from headway.core.errors import InvalidInputError
from headway.core.types import MOST_EXAMPLES, BatchChange, BatchContract, JobReport

VERSION = 1


class AgentPhase(StrEnum):
    """Where the workers of a job are."""

    IDLE = "idle"  # no worker is alive; the GPUs are free
    STARTING = "starting"  # workers are being started
    RUNNING = "running"  # every worker of the generation has made a step
    YIELDING = "yielding"  # on their way to a step boundary and a checkpoint
    FINISHED = "finished"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochCount:
    """How often the samples of one epoch were read, counted by the job itself."""

    epoch: int
    samples: int
    read_least: int
    read_most: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentReport:
    """One message of an agent. News (changes, epochs) is sent once it is acknowledged or again."""

    job_id: str
    phase: AgentPhase
    generation: int  # of the workers that are alive, or were last
    sequence: int = 0  # counts the messages of an agent; a repeated one is ignored
    report: JobReport | None = None
    changes: tuple[BatchChange, ...] = ()
    epochs: tuple[EpochCount, ...] = ()
    message: str = ""  # why it failed
    stall_s: float | None = None  # that this generation's resize has cost; None: it was no resize
    in_process: bool = False  # the workers that it kept are the same processes
    version: int = VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class Directive:
    """What an agent must make true: these slots, or none.

    Slots are GPU indices of the agent's node, or CPU slots where there is no GPU.
    """

    generation: int
    slots: tuple[int, ...]
    adapts: bool
    cancel: bool = False  # stop for good, no checkpoint needed
    report_every_s: float = 1.0
    version: int = VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerOrders:
    """What a worker process reads at its start, from the file that HEADWAY_ORDERS names."""

    job_id: str
    generation: int
    job_dir: str  # checkpoints, counters, logs
    batch: BatchContract
    requested_batch_size: int
    adapts: bool
    work_examples: float | None = None
    report_every_s: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchPlan:
    """How the workers of one generation become those of the next, from the file that HEADWAY_PLAN
    names: written before the flag is raised, and only when the newcomers are ready."""

    ranks: tuple[int | None, ...]  # the new number of each present worker; None: it leaves
    workers: int  # of the next generation
    rendezvous: str  # init_method; its file appears when the survivors are at a step boundary
    patience_s: float  # how long to wait for each other
    orders: WorkerOrders  # of the next generation


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerNews:
    """One line that a worker writes to its agent; what worker 0 tells of its job goes into the next
    AgentReport."""

    stepped: bool = False  # the first step of this generation is made, by all workers
    switches: bool = False  # these workers can become the next generation without leaving
    ready: bool = False  # this newcomer can join at any moment
    joined: int | None = None  # all workers of this generation are together and hold one state
    stall_s: float | None = None  # from the last step before a switch to the first step after it
    report: JobReport | None = None
    changes: tuple[BatchChange, ...] = ()
    epochs: tuple[EpochCount, ...] = ()


M = TypeVar("M", "AgentReport", "Directive", "WorkerOrders", "WorkerNews", "SwitchPlan")
Message = AgentReport | Directive | WorkerOrders | WorkerNews | SwitchPlan


def encode(message: Message) -> bytes:
    """A message as one line of JSON."""
    return msgspec.json.encode(message)


def decode_report(body: bytes) -> AgentReport:
    """The body of an agent's request.

    Raises:
        InvalidInputError: not JSON, a field missing or of another type, progress that is none.
    """
    message = _decoded(body, AgentReport)
    report = message.report
    if report is not None and not 0.0 <= report.progress_examples <= MOST_EXAMPLES:
        raise InvalidInputError(
            f"AgentReport: report.progress_examples must be a number from 0 to {MOST_EXAMPLES:g}, "
            f"not {report.progress_examples:g}"
        )
    return message


def decode_directive(body: bytes) -> Directive:
    """The service's answer; raises InvalidInputError as ``decode_report`` does."""
    return _decoded(body, Directive)


def decode_orders(body: bytes) -> WorkerOrders:
    """A worker's orders; raises InvalidInputError as ``decode_report`` does."""
    return _decoded(body, WorkerOrders)


def decode_plan(body: bytes) -> SwitchPlan:
    """A plan; raises InvalidInputError as ``decode_report`` does."""
    return _decoded(body, SwitchPlan)


def decode_news(line: bytes) -> WorkerNews:
    """A line from a worker; raises InvalidInputError as ``decode_report`` does."""
    return _decoded(line, WorkerNews)


def _decoded(body: bytes, kind: type[M]) -> M:
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.MsgspecError, RecursionError) as error:  # nested as deep as no message is
        raise InvalidInputError(f"{kind.__name__}: {error}") from None
