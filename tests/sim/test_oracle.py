"""The oracle knows at once what agents learn by and by, and nothing but that."""

from typing import Any

import numpy as np
import pytest

from headway.core.control.events import JobReported
from headway.core.model.throughput import UNREPORTED, stack, step_time_s
from headway.core.policy import make
from headway.core.types import BatchMode
from headway.sim.driver import Setup
from headway.sim.hardware import Hardware
from headway.sim.oracle import Oracle
from headway.traces.catalogue import CATALOGUE

SHAPES = [(1,), (2,), (4,), (2, 2), (4, 4), (1, 1, 1)]


@pytest.mark.parametrize("name", sorted(CATALOGUE))
def test_the_fit_of_a_whole_modelled_profile_is_its_model(name: str) -> None:
    profile = CATALOGUE[name]
    theta = stack([Oracle(Hardware()).of(profile).params])
    batch = np.array([float(profile.contract.max_batch_per_gpu)])
    for shape in (shape for shape in SHAPES if sum(shape) <= profile.max_gpus):
        (true_s,) = profile.times_s(shape, batch)[1]
        found_s = step_time_s(theta, np.array([sum(shape)]), len(shape) > 1, batch, 0.0)
        assert float(found_s.ravel()[0]) == pytest.approx(true_s, rel=0.02)


def test_the_oracle_knows_types_and_racks_as_they_are() -> None:
    hardware = Hardware(
        speeds={"t4": 1.0, "a100": 2.0},
        measured_on="t4",
        ratios={"a100": {"bert": 4.0}},
        cross_rack_sync=3.0,
    )
    plain = Oracle(Hardware()).of(CATALOGUE["bert"]).params
    found = Oracle(hardware).of(CATALOGUE["bert"])
    assert found.params_on("t4").beta_grad_s == plain.beta_grad_s
    assert found.params_on("a100").beta_grad_s == plain.beta_grad_s / 4.0
    assert found.params.alpha_rack_s == 3.0 * plain.alpha_node_s
    assert not Oracle(Hardware()).of(CATALOGUE["bert"]).grad_by_type


def models(kit: Any, *, oracle: bool) -> list[JobReported]:
    jobs = [kit.job(name, rigid=False, mode=BatchMode.ADAPTIVE) for name in "ab"]
    workload = kit.workload(*jobs, profile=kit.toy(sync_s=0.2, noise=1e3))
    setup = Setup(workload=workload, cluster=kit.cluster("2x4"), oracle_models=oracle)
    log, _ = kit.run(setup, make("pollux"))
    return [event for event in log if isinstance(event, JobReported)]


def test_a_job_that_has_held_one_gpu_knows_the_cost_of_two_by_the_oracle_alone(kit: Any) -> None:
    learned, known = (models(kit, oracle=oracle)[0].report for oracle in (False, True))
    assert learned.throughput.alpha_local_s == UNREPORTED.alpha_local_s
    assert known.throughput.alpha_local_s == pytest.approx(0.2, rel=0.05)
    assert known.noise_scale == learned.noise_scale, "that is measured in both"


def test_what_the_oracle_says_does_not_change_while_a_job_runs(kit: Any) -> None:
    reports = models(kit, oracle=True)
    assert len(reports) > 2
    assert len({event.report.throughput for event in reports}) == 1
