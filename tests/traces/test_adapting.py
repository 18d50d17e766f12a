"""The columns of a adaptation: read and written without loss, and checked."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headway.core.adaptation import Adaptation
from headway.core.errors import InvalidInputError
from headway.core.ids import JobId
from headway.core.types import BatchMode, GpuBounds, JobSpec
from headway.traces.base import Workload, workload
from headway.traces.catalogue import CATALOGUE
from headway.traces.neutral import NEEDED, read_workload, written
from headway.traces.trajectory import Trajectory

Write = Callable[[str | bytes], Path]
HEADER = ",".join((*NEEDED, "mode", "rule", "epochs", "samples_per_epoch", "trajectory"))
ROW = "a,5,bert,1,12,schedule"


@st.composite
def adapting(draw: st.DrawFn) -> tuple[JobSpec, Trajectory]:
    firsts = sorted({0, *draw(st.lists(st.integers(1, 90), max_size=5))})
    sizes = draw(st.lists(st.integers(12, 384), min_size=6, max_size=6, unique=True))
    trajectory = Trajectory(
        epochs=firsts[-1] + draw(st.floats(0.01, 50)),
        samples_per_epoch=draw(st.integers(1, 10**6)),
        stages=tuple(zip(firsts, [12, *sizes], strict=False)),
    )
    declared = draw(st.booleans())
    others = tuple(dict.fromkeys([12, *sizes]))
    adaptation = Adaptation(
        rule="declared" if declared else draw(st.sampled_from(["accordion", "gns", "other"])),
        model="bert",
        configurations=trajectory.batch_sizes if declared else others,
        epochs=trajectory.epochs,
        samples_per_epoch=trajectory.samples_per_epoch,
        starts=tuple(float(first) for first in firsts) if declared else (),
    )
    contract = replace(
        CATALOGUE["bert"].contract,
        mode=BatchMode.SCHEDULE,
        max_batch_size=max(adaptation.configurations),
    )
    name = draw(st.text("abc", min_size=1, max_size=8))
    job = JobSpec(
        job_id=JobId(name),
        name=name,
        submitted_s=draw(st.floats(0, 1e6)),
        gpus=GpuBounds(),
        batch=contract,
        requested_gpus=1,
        requested_batch_size=12,
        work_examples=trajectory.work_examples,
        adaptation=adaptation,
    )
    return job, trajectory


@given(jobs=st.lists(adapting(), min_size=1, max_size=5, unique_by=lambda pair: pair[0].job_id))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
def test_written_and_read_again_it_is_the_same(
    tmp_path: Path, jobs: list[tuple[JobSpec, Trajectory]]
) -> None:
    before: Workload = workload(
        "again",
        [(job, "bert") for job, _ in jobs],
        CATALOGUE,
        trajectories={job.job_id: trajectory for job, trajectory in jobs},
    )
    path = tmp_path / "again.csv"
    path.write_text(written(before))
    assert read_workload(path, CATALOGUE) == before


def test_a_job_with_a_rule_beside_one_without(table: Write) -> None:
    read = read_workload(
        table(f"{HEADER}\n{ROW},gns,2.5,100,0:12 2:24\nb,5,bert,1,12,adaptive,,,,\n"), CATALOGUE
    )
    first, second = read.jobs
    assert first.adaptation is not None
    assert first.adaptation.configurations == (12, 24)
    assert second.adaptation is None
    assert list(read.trajectories) == [first.job_id]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (
            f"{ROW},magic,2.5,100,0:12",
            "rule must be one of static, accordion, gns, declared, other",
        ),
        (f"{ROW},gns,0,100,0:12", "epochs must be more than 0"),
        (f"{ROW},gns,2.5,0,0:12", "samples_per_epoch must be at least 1"),
        (f"{ROW},gns,2.5,100,", "trajectory is empty"),
        (f"{ROW},gns,2.5,100,12", "trajectory must be epochs and batch sizes like"),
        (f"{ROW},gns,2.5,100,1:12", "trajectory must be epochs and batch sizes like"),
        (f"{ROW},gns,2.5,100,0:12 2:24 1:48", "trajectory must be epochs and batch sizes like"),
        (f"{ROW},gns,2.5,100,0:12 2:0", "trajectory has a batch size that is not from 1"),
        (f"{ROW},gns,2.5,100,0:12 3:24", "trajectory names an epoch after the last of 2.5"),
        (f"{ROW},,,,", "schedule must say .* in this mode, or rule must name one"),
        ("a,5,bert,1,12,adaptive,gns,2.5,100,0:12", "mode must be schedule with a rule"),
    ],
)
def test_bad_input_names_the_field(table: Write, values: str, said: str) -> None:
    with pytest.raises(InvalidInputError, match=said):
        read_workload(table(f"{HEADER}\n{values}\n"), CATALOGUE)


def test_a_rule_leaves_nothing_for_a_schedule_to_say(table: Write) -> None:
    text = f"{HEADER},schedule\n{ROW},gns,2.5,100,0:12,0:12 150:24\n"
    with pytest.raises(InvalidInputError, match="schedule is for a row without a rule"):
        read_workload(table(text), CATALOGUE)


def test_configurations_must_be_sizes(table: Write) -> None:
    text = f"{HEADER},configurations\n{ROW},gns,2.5,100,0:12,12 12\n"
    with pytest.raises(InvalidInputError, match="configurations must be batch sizes like"):
        read_workload(table(text), CATALOGUE)


@pytest.mark.parametrize("size", [0, 2**31, 10**23])
def test_a_batch_size_beyond_sense_is_refused(table: Write, size: int) -> None:
    """A job with a batch of 1e23 never came to its end."""
    path = table(f"{HEADER}\n{ROW},other,4,1000,0:12 2:{size}\n")
    with pytest.raises(InvalidInputError, match="trajectory has a batch size that is not from 1"):
        read_workload(path, CATALOGUE)
