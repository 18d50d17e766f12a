"""The remembered goodput tables are what a fresh computation gives."""

from dataclasses import replace

import numpy as np
import pytest

from headway.core.model.goodput import JobModels, best
from headway.core.policy.tables import Goodputs, Places, as_on_one_node
from headway.core.types import GradTime, JobView, Locality
from headway.testing.snapshots import job, report

JOBS = (
    replace(job("a"), report=report()),
    replace(job("b", adaptive=False), report=report(noise_scale=None)),
    job("c"),
)
MOST = np.array([3, 6, 1])
PLAIN = Places((("gpu", 1.0, 4),))
MIXED = Places((("a100", 3.0, 8), ("t4", 1.0, 4)), has_racks=True)


def tables(
    known: Goodputs, jobs: tuple[JobView, ...], most: np.ndarray, places: Places = PLAIN
) -> Goodputs:
    return known.updated(jobs, places=places, most=most)


def test_the_tables_are_the_best_goodput_up_to_the_most() -> None:
    found = tables(Goodputs(), JOBS, MOST).arrays(JOBS, MOST)
    assert found.rack is None
    models = JobModels.of([(view.spec.batch, view.report) for view in JOBS])
    for table, spans in ((found.local[:, 0], False), (found.several[:, 0], True)):
        gpus = np.arange(table.shape[1])
        wanted = (gpus <= MOST[:, None]) & (gpus > int(spans))
        expected = best(models, gpus, spans).goodput_per_s
        assert table[wanted] == pytest.approx(expected[wanted], rel=1e-12)
        assert not table[~wanted].any()


def test_each_type_and_each_locality_has_its_own_goodput() -> None:
    """A job that ran on a t4 is three times as fast on an a100 by their nominal speeds."""
    grads = (GradTime(gpu_type="t4", alpha_grad_s=0.018, beta_grad_s=0.0007),)
    jobs = (replace(job("a"), report=replace(report(), grad_by_type=grads)),)
    most = np.array([6])
    found = tables(Goodputs(), jobs, most, MIXED).arrays(jobs, most)
    models = JobModels.of(
        [(jobs[0].spec.batch, jobs[0].report)], "a100", speed={"a100": 3.0, "t4": 1.0}
    )
    assert found.local[0, 0, 1] == pytest.approx(3 * found.local[0, 1, 1])
    assert found.rack is not None
    for table, level in (
        (found.local, Locality.ONE_NODE),
        (found.rack, Locality.ONE_RACK),
        (found.several, Locality.SEVERAL_RACKS),
    ):
        assert table[0, 0, 2:7] == pytest.approx(best(models, range(2, 7), level).goodput_per_s[0])
    assert not found.local[0, 1, 5:].any(), "no t4 node has five GPUs"


def test_another_cluster_is_another_table() -> None:
    first = tables(Goodputs(), JOBS, MOST)
    second = tables(first, JOBS, MOST, MIXED)
    assert all(second.rows[name] is not first.rows[name] for name in second.rows)


def test_figures_are_looked_up_where_jobs_are() -> None:
    found = tables(Goodputs(), JOBS, MOST, MIXED).arrays(JOBS, MOST)
    assert found.rack is not None
    at = found.at(np.array([2, 5, 0]), np.array([1, 0, 0]), np.array([0, 2, 0]))
    assert at.tolist() == [found.local[0, 1, 2], found.several[1, 0, 5], 0.0]
    near = found.at(np.array([2, 5, 0]), np.array([1, 0, 0]), np.array([1, 1, 0]))
    assert near.tolist() == [found.rack[0, 1, 2], found.rack[1, 0, 5], 0.0]


def test_a_longer_table_serves_a_smaller_need_unseen() -> None:
    long = tables(Goodputs(), JOBS, MOST)
    less = np.array([2, 2, 1])
    reused = tables(long, JOBS, less)
    fresh = tables(Goodputs(), JOBS, less)
    assert all(reused.rows[name] is long.rows[name] for name in reused.rows)
    mine, theirs = reused.arrays(JOBS, less), fresh.arrays(JOBS, less)
    assert mine.local.tolist() == theirs.local.tolist()
    assert mine.several.tolist() == theirs.several.tolist()


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


def test_the_share_as_on_one_node_is_remembered_while_report_and_share_stay() -> None:
    fair = np.array([6, 6, 6])
    first = Goodputs().updated(JOBS, places=MIXED, most=MOST, fair=fair)
    again = first.updated(JOBS, places=MIXED, most=MOST, fair=fair)
    assert all(again.rows[name] is first.rows[name] for name in first.rows)
    share = first.arrays(JOBS, MOST).share
    assert share is not None
    for kind in range(2):
        assert share[:, kind].tolist() == as_on_one_node(JOBS, MIXED, kind, fair).tolist()
    told = (replace(JOBS[0], report=report(noise_scale=1.0)), *JOBS[1:])
    other = again.updated(told, places=MIXED, most=MOST, fair=np.array([6, 6, 5])).rows
    kept = [other[view.spec.job_id] is first.rows[view.spec.job_id] for view in told]
    assert kept == [False, True, False]


def test_a_share_that_fits_in_each_type_of_node_needs_no_table_of_its_own() -> None:
    found = Goodputs().updated(JOBS, places=MIXED, most=MOST, fair=np.array([4, 4, 4]))
    assert found.arrays(JOBS, MOST).share is None
