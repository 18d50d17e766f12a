"""Columns of a workload table that say how a job changes its batch size by itself."""

from headway.core.adaptation import DECLARED, STATIC, Adaptation
from headway.core.types import JobSpec
from headway.traces.rows import MOST_WHOLE, Row
from headway.traces.trajectory import Trajectory

COLUMNS = ("rule", "epochs", "samples_per_epoch", "configurations", "trajectory")
RULES = (STATIC, "accordion", "gns", DECLARED, "other")
MOST_EPOCHS = 1e9


def read(row: Row, model: str) -> tuple[Adaptation, Trajectory] | None:
    """What the owner says and what really happens; None where the row names no rule.

    Raises:
        InvalidInputError: with the line, the field and the fix.
    """
    rule = row.text("rule", "none")
    if rule == "none":
        return None
    if rule not in RULES:
        raise row.wrong("rule", f"must be one of {', '.join(RULES)}, not {rule!r}")
    trajectory = Trajectory(
        epochs=row.number("epochs", above=0.0, most=MOST_EPOCHS),
        samples_per_epoch=row.whole("samples_per_epoch"),
        stages=_stages(row),
    )
    if trajectory.stages[-1][0] >= trajectory.epochs:
        raise row.wrong("trajectory", f"names an epoch after the last of {trajectory.epochs:g}")
    declared = rule == DECLARED
    adaptation = Adaptation(
        rule=rule,
        model=model,
        configurations=trajectory.batch_sizes if declared else _configurations(row, trajectory),
        epochs=trajectory.epochs,
        samples_per_epoch=trajectory.samples_per_epoch,
        starts=tuple(float(first) for first, _ in trajectory.stages) if declared else (),
    )
    return adaptation, trajectory


def values(job: JobSpec, trajectory: Trajectory | None) -> tuple[object, ...]:
    """In the order of ``COLUMNS``; empty for a job without a adaptation."""
    adaptation = job.adaptation
    if adaptation is None or trajectory is None:
        return ("",) * len(COLUMNS)
    configurations = " ".join(map(str, adaptation.configurations))
    return (
        adaptation.rule,
        adaptation.epochs,
        adaptation.samples_per_epoch,
        "" if adaptation.rule == DECLARED else configurations,
        " ".join(f"{first}:{size}" for first, size in trajectory.stages),
    )


def _configurations(row: Row, trajectory: Trajectory) -> tuple[int, ...]:
    """The sizes in the order of the rule; those of the trajectory where the row is silent."""
    seen = " ".join(map(str, dict.fromkeys(trajectory.batch_sizes)))
    text = row.text("configurations", seen)
    try:
        sizes = tuple(int(part) for part in text.split())
    except ValueError:
        sizes = ()
    if not sizes or min(sizes) < 1 or len(set(sizes)) < len(sizes) or max(sizes) > MOST_WHOLE:
        raise row.wrong("configurations", f"must be batch sizes like '16 32 64', not {text[:40]!r}")
    return sizes


def _stages(row: Row) -> tuple[tuple[int, int], ...]:
    """``0:16 31:32``: from epoch 0 at batch size 16, from epoch 31 at 32."""
    text = row.text("trajectory")
    pairs = [part.partition(":") for part in text.split()]
    try:
        stages = tuple((int(first), int(size)) for first, _, size in pairs)
    except ValueError:
        stages = ()
    firsts = [first for first, _ in stages]
    if not stages or firsts[0] != 0 or firsts != sorted(set(firsts)) or min(stages)[1] < 1:
        raise row.wrong(
            "trajectory", f"must be epochs and batch sizes like '0:16 31:32', not {text[:40]!r}"
        )
    if any(not 1 <= size <= MOST_WHOLE for _, size in stages):
        raise row.wrong("trajectory", f"has a batch size that is not from 1 to {MOST_WHOLE}")
    return stages
