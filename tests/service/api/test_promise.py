"""The promise of a job and the ledger of tenants, as a real service under `headway` shows them."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headway.protocol.messages import AgentPhase, AgentReport, encode
from headway.service.client import Client
from headway.testing.service import Running, running, until
from headway.testing.stores import report

JOBS = "/api/v1/jobs"
SERVICE = ("--engine", "memory", "--slots", "2", "--round-s", "0.2", "--policy")
WORK = 1e6  # at some 300 examples a second


def submit(client: Client, name: str, **fields: Any) -> None:
    body = {"name": name, "run": "sleep 600", "workdir": "/tmp", "work": WORK, **fields}
    client.post(JOBS, body)


def say(client: Client, job_id: str, phase: AgentPhase, sequence: int, done: float) -> None:
    told = replace(report(done), fit_error=0.01, step_error=0.01)
    message = AgentReport(job_id=job_id, phase=phase, generation=1, report=told, sequence=sequence)
    client.post(f"/api/v1/agents/{job_id}", json.loads(encode(message)))


def shown(client: Client, job_id: str, true: Callable[[Any], bool]) -> Any:
    """The job as soon as it is so."""
    until(lambda: true(client.get(f"{JOBS}/{job_id}")))
    return client.get(f"{JOBS}/{job_id}")


def test_a_promise_from_submission_to_the_end_and_over_a_restart(tmp_path: Path) -> None:
    with running(tmp_path, *SERVICE, "headway") as service:
        client = service.client
        submit(client, "runs", gpus=2)
        job = shown(client, "runs", lambda job: job["phase"] == "running")
        assert job["promise"]["basis"] == "guess"  # nobody has told anything yet
        assert "It has no promise yet: how long it takes is not known;" in job["explanation"]
        submit(client, "waits", gpus=2)
        say(client, "runs", AgentPhase.RUNNING, 1, 10.0)
        job = shown(client, "runs", known)
        promise = job["promise"]
        assert job["no_promise"] is None
        assert promise["basis"] == "measured"
        assert promise["earliest_s"] <= promise["finish_s"] <= promise["latest_s"]
        assert promise["decided_s"] < promise["earliest_s"]
        life_s = promise["finish_s"] - job["submitted_s"]
        fair_s = promise["egalitarian_end_s"] - job["submitted_s"]
        assert promise["rho_hat"] == pytest.approx(life_s / fair_s)
        assert f"{promise['rho_hat']:.2f} of its egalitarian time" in job["explanation"]
        waits = shown(client, "waits", lambda job: job["promise"] is not None)
        assert (waits["gpus"], waits["why"]["code"]) == (0, "WaitingForGpus")
        assert waits["promise"]["basis"] == "guess"
        assert waits["explanation"].startswith("It waits for GPUs that other jobs hold. It has no")
        service.kill()
    with running(tmp_path, *SERVICE, "headway") as service:
        client = service.client
        again = client.get(f"{JOBS}/runs")
        assert again["promise"]["egalitarian_end_s"] > again["submitted_s"]
        assert again["no_promise"] is None
        client.delete(f"{JOBS}/waits")
        cancelled = client.get(f"{JOBS}/waits")
        assert (cancelled["promise"], cancelled["no_promise"]) == (None, "the job was cancelled")
        say(client, "runs", AgentPhase.FINISHED, 2, WORK)
        ended = shown(client, "runs", lambda job: job["phase"] == "finished")
        assert ended["promise"]["finish_s"] == ended["ended_s"]
        assert ended["promise"]["rho_hat"] < 1.0
        assert ended["explanation"].startswith("It finished after ")


def test_what_more_gpus_would_be_worth_is_said_once_it_has_reported(tmp_path: Path) -> None:
    """``headway explain`` said what a job holds, and never why it was no more."""
    with running(tmp_path, *SERVICE, "headway") as service:
        for name in ("one", "other"):
            submit(service.client, name, gpus="1-4", batch=32, preemptible=True)
        job = shown(service.client, "other", lambda job: job["phase"] == "running")
        assert (job["gpus"], job["more"]) == (1, None)
        say(service.client, "other", AgentPhase.RUNNING, 1, 10.0)
        job = shown(service.client, "other", lambda job: known(job) and job["more"])
        times = (0.1 + 0.01 * 32) / (0.1 + 0.01 * 16)  # synchronising costs nothing, passes do
        assert job["more"] == {
            "gpus": 2,
            "times": pytest.approx(times),
            "tried": False,
            "short": "",
        }
        assert (
            f"GPU that it held. 2 GPUs would make it {times:.2f} times as fast by its model, where "
            "it was never tried. It ends in about " in job["explanation"]
        )


def known(job: Any) -> bool:
    """Whether its agent's report has reached a decision: before, its length is a guess."""
    return job["promise"] is not None and bool(job["promise"]["basis"] == "measured")


def test_another_policy_takes_its_promises_back(tmp_path: Path) -> None:
    """What the policy before had predicted was shown as long as a job was kept where it was."""
    with running(tmp_path, *SERVICE, "headway") as service:
        submit(service.client, "kept", gpus=2)
        shown(service.client, "kept", lambda job: job["why"] and job["why"]["code"] == "Kept")
        service.stop()
    with running(tmp_path, *SERVICE, "fifo") as service:
        job = shown(service.client, "kept", lambda job: job["promise"] is None)
        assert job["no_promise"] == "policy fifo predicts no finish of this job"
        assert "finish_s" not in job["why"]["numbers"]


def test_the_ledger_of_tenants_with_weights_survives_a_restart(tmp_path: Path) -> None:
    weights = tmp_path / "tenants.yaml"
    weights.write_text("tenants: {vision: 3, speech: 1}")
    options = (*SERVICE, "headway", "--tenants", str(weights))
    with running(tmp_path / "state", *options) as service:
        submit(service.client, "big", tenant="vision", gpus=2)
        until(lambda: held(service)["vision"] > 0)
        submit(service.client, "late", tenant="speech", gpus=2)
        until(lambda: len(ledger(service)) == 2)
        service.kill()
    with running(tmp_path / "state", *options) as service:
        speech, vision = ledger(service)
        assert (speech["tenant"], speech["weight"], speech["active"]) == ("speech", 1.0, 1)
        assert (vision["tenant"], vision["weight"], vision["jobs"]) == ("vision", 3.0, 1)
        assert vision["gpu_hours"] > speech["gpu_hours"]
        for one in (speech, vision):
            ahead = one["gpu_hours"] - one["entitled_gpu_hours"]
            assert one["ahead_gpu_hours"] == pytest.approx(ahead)
        assert speech["entitled_gpu_hours"] < vision["entitled_gpu_hours"]


def ledger(service: Running) -> list[Any]:
    tenants: list[Any] = service.client.get("/api/v1/tenants")["tenants"]
    return tenants


def held(service: Running) -> dict[str, float]:
    return {one["tenant"]: one["gpu_hours"] for one in ledger(service)}
