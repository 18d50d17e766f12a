"""Headway's own table: nothing is lost on the way out and in, and mistakes are named."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from headway.core.errors import InvalidInputError
from headway.core.ids import JobId
from headway.core.model.schedule import most_for_fewest
from headway.core.types import (
    BatchContract,
    BatchMode,
    BatchRule,
    GpuBounds,
    JobSpec,
    RuleName,
    ScheduledBatch,
)
from headway.traces.base import workload
from headway.traces.catalogue import CATALOGUE
from headway.traces.neutral import COLUMNS, NEEDED, read_workload, written
from headway.traces.sniff import format_of
from headway.traces.sniff import read_workload as read_any

Write = Callable[[str | bytes], Path]
HEADER = ",".join(NEEDED)
NAMES = st.text(st.characters(codec="ascii", categories=("L", "N", "P")), min_size=1, max_size=12)


@st.composite
def schedules(draw: st.DrawFn) -> tuple[tuple[ScheduledBatch, ...], BatchRule | None]:
    if draw(st.booleans()):
        return (), BatchRule(
            name=draw(st.sampled_from(RuleName)),
            every_epochs=draw(st.integers(1, 30)),
            eta=draw(st.floats(1e-3, 1)),
        )
    ats = sorted(draw(st.sets(st.integers(1, 10**9), max_size=4)))
    return tuple(ScheduledBatch(at, draw(st.integers(12, 9999))) for at in (0, *ats)), None


@st.composite
def specs(draw: st.DrawFn) -> tuple[JobSpec, str]:
    profile = CATALOGUE[draw(st.sampled_from(["bert", "cifar10", "yolov3"]))]
    own = profile.contract
    mode = draw(st.sampled_from([mode for mode in BatchMode if mode is not BatchMode.SCHEDULE]))
    initial = draw(st.integers(own.initial_batch_size, own.max_batch_size))
    schedule, rule = draw(schedules()) if mode is BatchMode.SCHEDULE else ((), None)
    may_grow = mode in {BatchMode.ADAPTIVE, BatchMode.SCHEDULE}
    largest = draw(st.integers(initial, 9999)) if may_grow else initial
    largest = max([largest, *(step.batch_size for step in schedule)])
    first = schedule[0].batch_size if schedule else initial
    least = draw(st.integers(1, 8))
    most = draw(st.integers(least, 64))
    sizes = draw(st.none() | st.sets(st.integers(least, most), min_size=1))
    bounds = GpuBounds(
        min_gpus=least, max_gpus=most, sizes=None if sizes is None else tuple(sorted(sizes))
    )
    name = draw(NAMES)
    batch = BatchContract(
        initial_batch_size=initial,
        max_batch_size=largest,
        max_batch_per_gpu=draw(st.integers(own.min_batch_per_gpu, 9999)),
        max_accum_steps=draw(st.integers(0, 31)),
        mode=mode,
        schedule=schedule,
        rule=rule,
    )
    room = most_for_fewest(batch) // bounds.smallest
    assume(room > 0)
    least_per_gpu = draw(st.integers(1, min(room, own.min_batch_per_gpu)))
    job = JobSpec(
        job_id=JobId(name),
        name=name,
        submitted_s=draw(st.floats(0, 1e7)),
        gpus=bounds,
        batch=replace(batch, min_batch_per_gpu=least_per_gpu),
        requested_gpus=draw(st.sampled_from(bounds.allowed(most))),
        requested_batch_size=(
            first if mode is BatchMode.SCHEDULE else draw(st.integers(initial, largest))
        ),
        tenant=draw(NAMES),
        weight=draw(st.floats(1e-3, 1e3)),
        preemptible=draw(st.booleans()),
        cpus_per_gpu=draw(st.just(0.0) | st.floats(0.001, 1e4)),
        memory_gb_per_gpu=draw(st.just(0.0) | st.floats(0.001, 1e4)),
        work_examples=draw(st.floats(1e-3, 1e12)),
    )
    return job, profile.name


@given(jobs=st.lists(specs(), min_size=1, max_size=6, unique_by=lambda pair: pair[0].job_id))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
def test_written_and_read_again_it_is_the_same(
    tmp_path: Path, jobs: list[tuple[JobSpec, str]]
) -> None:
    path = tmp_path / "again.csv"
    before = workload("again", jobs, CATALOGUE)
    path.write_text(written(before))
    assert format_of(path) == "headway"
    assert read_any(path, CATALOGUE) == before


def test_what_a_row_leaves_out_comes_from_its_profile(table: Write) -> None:
    (job,) = read_workload(table(f"{HEADER}\na,5,bert,4,24\n"), CATALOGUE).jobs
    assert job.batch == CATALOGUE["bert"].contract
    assert job.work_examples == CATALOGUE["bert"].work_examples
    assert (job.gpus.min_gpus, job.gpus.max_gpus) == (1, 64)


@pytest.mark.parametrize(
    ("columns", "values", "said"),
    [
        ("", "a,5,gpt9,1,12", "profile 'gpt9' is not known"),
        ("", "a,5,bert,0,12", "requested_gpus must be at least 1"),
        ("", "a,5,bert,65,12", "requested_gpus 65 is not allowed"),
        ("", "a,5,bert,1,11", "requested_batch_size must be from 12 to 384"),
        ("mode", "a,5,bert,1,12,wild", "mode must be one of observe, fixed, schedule, adaptive"),
        ("mode,max_batch_size", "a,5,bert,1,12,fixed,24", "max_batch_size must be 12"),
        ("max_batch_size", "a,5,bert,1,12,6", "max_batch_size 6 is below initial_batch_size"),
        ("min_gpus,max_gpus", "a,5,bert,4,12,4,2", "max_gpus 2 is below min_gpus 4"),
        ("max_gpus", "a,5,ncf,1,256,2", "ncf is known up to 1, not 2"),
        ("sizes", "a,5,bert,1,12,1 two", "sizes must be GPU counts"),
        ("sizes", "a,5,bert,1,12,1 99", "must lie between min_gpus 1 and max_gpus 64"),
        (
            "mode,initial_batch_size,work_examples,min_gpus,min_batch_per_gpu",
            "a,5,bert,8,24,fixed,24,9,8,4",
            "min_gpus 8 GPUs with min_batch_per_gpu 4 need more than the batch of 24; lower one",
        ),
        (
            "mode,sizes,min_batch_per_gpu",
            "a,5,bert,4,12,fixed,4 8,4",
            "sizes 4 GPUs with min_batch_per_gpu 4 need more than the batch of 12; lower one",
        ),
        ("sizes", "a,5,bert,3,12,1 2 4", "requested_gpus 3 is not allowed"),
        ("initial_batch_size", "a,5,bert,1,24,24", "work_examples is empty"),
        ("work_examples", "a,5,bert,1,12,0", "work_examples must be more than 0"),
        ("weight", "a,5,bert,1,12,-1", "weight must be a number that is not negative"),
        ("preemptible", "a,5,bert,1,12,maybe", "preemptible must be true or false"),
        ("schedule", "a,5,bert,1,12,gns", "schedule is for mode schedule, not for adaptive"),
        ("mode", "a,5,bert,1,12,schedule", "schedule must say '0:64 2M:128', accordion or gns"),
        ("mode,schedule", "a,5,bert,1,12,schedule,5:64", "schedule must begin at 0"),
        ("mode,schedule", "a,5,bert,1,12,schedule,gns x", "schedule 'gns x' is no rule"),
        ("mode,schedule", "a,5,bert,1,24,schedule,0:12 1K:24", "requested_batch_size must be from"),
        (
            "mode,schedule,max_batch_size",
            "a,5,bert,1,12,schedule,0:12 1K:24,12",
            "max_batch_size must be at least 24",
        ),
        ("colour", "a,5,bert,1,12,red", "unknown column 'colour'"),
    ],
)
def test_bad_input_is_named(table: Write, columns: str, values: str, said: str) -> None:
    header = HEADER + ("," + columns if columns else "")
    with pytest.raises(InvalidInputError, match=said):
        read_workload(table(f"{header}\n{values}\n"), CATALOGUE)


def test_the_reference_describes_every_column() -> None:
    page = Path(__file__).parents[2] / "docs" / "reference" / "workload.md"
    text = page.read_text()
    assert [name for name in COLUMNS if f"`{name}`" not in text] == []
