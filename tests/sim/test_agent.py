"""Agents know what they measured: their fits, choices and reports are checked against the truth."""

from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest

from headway.core.control.events import BatchChanged, JobReported
from headway.core.ids import NodeId
from headway.core.model.choice import FITTERS
from headway.core.model.fit import Fit, fit
from headway.core.model.split import Choice
from headway.core.types import (
    Allocation,
    BatchMode,
    JobSpec,
    Node,
    Placement,
    ThroughputKind,
    placement_on,
)
from headway.sim.agent import SimulatedAgents
from headway.sim.hardware import Hardware
from headway.sim.truth import JobTruth, Speeds
from headway.sim.tuning import Known, Tuner


def agents(**kwargs: Any) -> SimulatedAgents:
    options = {"listening": True, "noise": 0.0, "rng": np.random.default_rng(0)}
    return SimulatedAgents(**(options | kwargs))


def truth(kit: Any, job: JobSpec | None = None, **profile: Any) -> JobTruth:
    spec = job or kit.job("a", rigid=False, mode=BatchMode.ADAPTIVE)
    return JobTruth(spec, kit.toy(**profile), Speeds())


def give(job: JobTruth, by: SimulatedAgents, gpus: dict[str, int], **kwargs: Any) -> None:
    allocation = Allocation.of({NodeId(node): count for node, count in gpus.items()})
    nodes = {NodeId(node): Node(node_id=NodeId(node), gpus=8) for node in gpus}
    job.hold(
        allocation,
        job.generation + 1,
        site=Hardware().site(allocation, nodes),
        told=placement_on(nodes, allocation),
        now_s=job.at_s,
        restart_s=0.0,
    )
    by.start(job, **({"adapts": True} | kwargs))
    job.started = True
    by.started(job, job.at_s)


def live(job: JobTruth, by: SimulatedAgents, seconds: float) -> list[BatchChanged]:
    """Let it run with its agent awake."""
    changes, until_s = [], job.at_s + seconds
    while job.at_s < until_s:
        to_s = min(until_s, by.wakes_s(job))
        assert job.advance(to_s) is None
        if to_s < until_s:
            changes += by.tune(job, to_s)
    return changes


def reported(job: JobTruth, by: SimulatedAgents) -> Any:
    (event,) = by.report(job, job.at_s)
    assert isinstance(event, JobReported)
    return event.report


def test_a_job_starts_with_the_batch_it_was_tuned_for_and_then_finds_a_better_one(
    kit: Any,
) -> None:
    """With endless noise every example counts, so the largest batch wins on four GPUs."""
    by, job = agents(), truth(kit, noise=1e9, sync_s=0.2)
    give(job, by, {"n": 4})
    assert job.choice == Choice(8, 0, 32)
    changes = live(job, by, 20.0)
    assert job.choice is not None
    assert job.choice.batch_size == 1024
    assert changes[0].change.old_batch_size == 32
    assert changes[-1].change.new_batch_size == 1024
    assert all(c.change.predicted_gain >= 1.05 for c in changes)
    assert changes[-1].change.lr_factor == pytest.approx(32, rel=1e-3), "AdaScale, M / M0"


def test_where_the_gradient_has_no_noise_the_batch_stays(kit: Any) -> None:
    by, job = agents(), truth(kit, noise=1e-6, sync_s=0.2)
    give(job, by, {"n": 4})
    assert live(job, by, 20.0) == []
    assert job.choice == Choice(8, 0, 32)


def test_a_policy_that_does_not_adapt_gets_the_batch_that_was_requested(kit: Any) -> None:
    spec = kit.job("a", rigid=False, mode=BatchMode.ADAPTIVE)
    by, job = agents(), truth(kit, replace(spec, requested_batch_size=256), noise=1e9)
    give(job, by, {"n": 2}, adapts=False)
    assert job.choice == Choice(64, 1, 256), "two passes of 64 on each of two GPUs"
    assert live(job, by, 20.0) == []


def test_a_report_says_what_was_measured(kit: Any) -> None:
    by, job = agents(), truth(kit, noise=300.0)
    give(job, by, {"n": 1})
    live(job, by, 10.0)
    report = reported(job, by)
    assert report.noise_scale == pytest.approx(300.0)
    assert report.progress_examples == job.progress > 0
    assert (report.batch_per_gpu, report.batch_size) == (job.choice[0], job.choice[2])
    assert report.fit_error == pytest.approx(0, abs=1e-3)
    assert report.noise_scale_error is None
    step_s = report.throughput.alpha_grad_s + 32 * report.throughput.beta_grad_s
    assert step_s == pytest.approx(0.32, rel=1e-3)


def test_what_was_never_tried_is_assumed_to_be_free_and_learnt_when_tried(kit: Any) -> None:
    by, job = agents(), truth(kit, sync_s=0.5)
    give(job, by, {"n": 1})
    live(job, by, 10.0)
    assert reported(job, by).throughput.alpha_local_s == 0
    give(job, by, {"n": 2})
    live(job, by, 10.0)
    assert reported(job, by).throughput.alpha_local_s > 0.1


def test_a_job_that_stays_as_it_is_is_fitted_once(
    kit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And again when something changes: an allocation, a batch, the time of a step."""
    fits = []

    def counted(*args: Any, **kwargs: Any) -> Fit:
        fits.append(args)
        return fit(*args, **kwargs)

    monkeypatch.setitem(cast(dict[str, Any], FITTERS), "linear", counted)
    by, job = agents(), truth(kit, noise=1e-6, sync_s=0.2)
    give(job, by, {"n": 1})
    for _ in range(50):
        live(job, by, 0.5)
        reported(job, by)
    assert len(fits) == 1
    give(job, by, {"n": 2})
    for _ in range(50):
        live(job, by, 0.5)
        reported(job, by)
    assert len(fits) == 2
    give(job, by, {"n": 1})  # where it was before
    live(job, by, 0.5)
    reported(job, by)
    assert len(fits) == 2


def test_a_report_says_how_well_the_speed_is_known(kit: Any) -> None:
    by, job = agents(), truth(kit, sync_s=0.5)
    give(job, by, {"n": 2})
    live(job, by, 10.0)
    report = reported(job, by)
    assert 0 < report.step_error < 0.05
    assert report.step_error_doubled is None, "four GPUs were never held"
    for nodes in ({"n": 3}, {"n": 4}):
        give(job, by, nodes)
        live(job, by, 10.0)
        report = reported(job, by)
    assert report.step_error_doubled is None, "nor were several nodes"
    give(job, by, {"n": 2})
    live(job, by, 10.0)
    assert 0 < reported(job, by).step_error_doubled < 0.2
    assert report.fit_trouble == ""


@pytest.mark.parametrize(
    ("throughput", "kind"),
    [("linear", ThroughputKind.LINEAR), ("best", ThroughputKind.COLLECTIVE)],
)
def test_an_agent_may_choose_among_models(kit: Any, throughput: str, kind: ThroughputKind) -> None:
    """The job synchronises by a ring on two nodes and by a tree on more."""
    profile = kit.toy(sync_s=0.02)
    params = replace(
        profile.params, kind=ThroughputKind.COLLECTIVE, beta_node_s=0.05, tree_s=0.01, hop_s=0.001
    )
    spec = kit.job("a", rigid=False, mode=BatchMode.ADAPTIVE, work_examples=1e9)
    job = JobTruth(spec, replace(profile, params=params), Speeds())
    by = agents(throughput=throughput)
    for shape in ([2], [4], [1, 1], [2, 2], [3, 3], [4, 4], [1, 1, 1], [2, 2, 2], [4] * 3, [4] * 4):
        give(job, by, {f"n{node}": gpus for node, gpus in enumerate(shape)})
        live(job, by, 5.0)
        report = reported(job, by)
    assert report.throughput.kind is kind


def test_nobody_measures_where_nobody_listens(kit: Any) -> None:
    by, job = agents(listening=False), truth(kit)
    give(job, by, {"n": 1}, adapts=False)
    assert by.wakes_s(job) == float("inf")
    assert by.report(job, 60.0) == ()


def test_noise_on_measurements_is_drawn_from_the_seed(kit: Any) -> None:
    def scales(seed: int) -> list[float]:
        by = agents(noise=0.1, rng=np.random.default_rng(seed))
        job = truth(kit, noise=300.0)
        give(job, by, {"n": 1})
        return [reported(job, by).noise_scale for _ in range(200)]

    noisy = scales(1)
    assert noisy == scales(1) != scales(2)
    assert np.std(np.log(noisy)) == pytest.approx(0.1, rel=0.2)
    assert np.mean(np.log(noisy)) == pytest.approx(np.log(300.0), abs=0.03)


def test_the_tuner_keeps_a_choice_unless_another_promises_enough(kit: Any) -> None:
    profile = kit.toy(sync_s=0.2)
    known = Known(profile.contract, profile.params, 2000.0, Placement(4, 1), ())
    tuner = Tuner()
    best, _ = tuner.choose(known)
    near = Choice(best.batch_per_gpu - 1, best.accum_steps, best.batch_size - 4)
    assert tuner.choose(known, near) == (near, 1.0)
    chosen, gain = tuner.choose(known, Choice(8, 0, 32))
    assert chosen == best
    assert gain > 1.02


def test_the_tuner_believes_what_was_measured_before_the_model(kit: Any) -> None:
    profile = kit.toy(sync_s=0.2)
    known = Known(profile.contract, profile.params, 2000.0, Placement(4, 1), ())
    best, _ = Tuner().choose(known)
    slow = known._replace(passes=((8, 1e-4, 1e-3, 0.0), (best.batch_per_gpu, 50.0, 60.0, 0.0)))
    assert Tuner().choose(slow)[0].batch_per_gpu < best.batch_per_gpu
