"""The remembered goodput tables are what a fresh computation gives."""

from dataclasses import replace

import numpy as np
import pytest

from headway.core.model.goodput import JobModels, best
from headway.core.policy.tables import Goodputs
from headway.core.types import JobView
from headway.testing.snapshots import job, report

JOBS = (
    replace(job("a"), report=report()),
    replace(job("b", adaptive=False), report=report(noise_scale=None)),
    job("c"),
)
MOST = np.array([3, 6, 1])


def tables(known: Goodputs, jobs: tuple[JobView, ...], most: np.ndarray) -> Goodputs:
    return known.updated(jobs, largest=4, most=most)


def test_the_tables_are_the_best_goodput_up_to_the_most() -> None:
    local, several = tables(Goodputs(), JOBS, MOST).arrays(JOBS, MOST)
    models = JobModels.of([(view.spec.batch, view.report) for view in JOBS])
    for table, spans in ((local, False), (several, True)):
        gpus = np.arange(table.shape[1])
        wanted = (gpus <= MOST[:, None]) & (gpus > int(spans))
        expected = best(models, gpus, spans).goodput_per_s
        assert table[wanted] == pytest.approx(expected[wanted], rel=1e-12)
        assert not table[~wanted].any()


def test_a_longer_table_serves_a_smaller_need_unseen() -> None:
    long = tables(Goodputs(), JOBS, MOST)
    less = np.array([2, 2, 1])
    reused = tables(long, JOBS, less)
    fresh = tables(Goodputs(), JOBS, less)
    assert all(reused.rows[name] is long.rows[name] for name in reused.rows)
    for mine, theirs in zip(reused.arrays(JOBS, less), fresh.arrays(JOBS, less), strict=True):
        assert mine.tolist() == theirs.tolist()


@pytest.mark.parametrize(
    "changed",
    [
        replace(JOBS[0], report=report(noise_scale=1.0)),
        replace(JOBS[0], report=report(node_s=9.0)),
        replace(JOBS[0], report=None),
    ],
)
def test_another_report_is_another_table(changed: JobView) -> None:
    first = tables(Goodputs(), JOBS, MOST)
    second = tables(first, (changed, *JOBS[1:]), MOST)
    name = changed.spec.job_id
    assert second.rows[name] is not first.rows[name]
    assert second.rows[JOBS[1].spec.job_id] is first.rows[JOBS[1].spec.job_id]


def test_a_report_that_says_the_same_of_speed_changes_nothing() -> None:
    first = tables(Goodputs(), JOBS, MOST)
    later = replace(JOBS[0], report=replace(report(), progress_examples=1e6, samples=5))
    second = tables(first, (later, *JOBS[1:]), MOST)
    assert all(second.rows[name] is first.rows[name] for name in second.rows)


def test_who_is_gone_is_forgotten() -> None:
    first = tables(Goodputs(), JOBS, MOST)
    assert set(tables(first, JOBS[:1], MOST[:1]).rows) == {"a"}
    assert tables(first, (), MOST[:0]) == Goodputs()
