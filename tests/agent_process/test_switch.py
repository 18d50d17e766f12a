"""Resizes inside living workers: real training, real processes, and whoever may be killed."""

import contextlib
import io
import json
import os
import re
import runpy
import signal
from typing import Any

import psutil
import pytest

from headway.core.types import ChangeCode
from headway.protocol.messages import AgentPhase

pytest.importorskip("torch", reason="needs the extra headway[agent]")

Stage = Any  # of this folder's conftest, which cannot be imported

SAMPLES, EPOCHS = 193, 100  # steps of 64, 64, 64 and 1
TRAIN = f"""
import json, os, signal, sys, time
import torch
from torch import nn
import headway.agent as headway

SAMPLES, EPOCHS = {SAMPLES}, {EPOCHS}
torch.manual_seed(0)
inputs = torch.randn(SAMPLES, 6)
labels = (inputs[:, 0] + 0.5 * torch.randn(SAMPLES) > 0).long()
newcomer = os.environ.get("HEADWAY_JOINS") == "1"

class Trap:
    '''Part of the state; a survivor that is asked for it while it is armed dies.'''

    def state_dict(self):
        if os.path.exists("armed") and job.worker == 1 and not newcomer:
            os.remove("armed")
            os.kill(os.getpid(), signal.SIGKILL)
        return {{"value": 1}}

    def load_state_dict(self, state):
        pass

class Notes:
    '''A tracker that tells where it is begun; worker 0 alone does.'''

    def begin(self, run):
        with open("begun", "a") as file:
            print(run.samples, file=file)

    def scalars(self, values, samples):
        pass

    def marker(self, text, samples):
        pass

    def end(self):
        pass

with headway.attach(checkpoint_every_s=3600.0) as job:
    job.tracker(Notes())
    net = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 2))
    if job.workers > 1 and os.path.exists("sharded"):
        from torch.distributed.fsdp import fully_shard
        fully_shard(net)
    model = job.model(net)
    adam = torch.optim.Adam(net.parameters(), lr=0.01)
    optimizer = job.optimizer(adam, lr_rule="hold")
    decay = torch.optim.lr_scheduler.ExponentialLR(adam, 0.999)
    scheduler = job.lr_scheduler(decay)
    job.state("trap", Trap())
    data = torch.utils.data.TensorDataset(inputs, labels)
    loader = job.loader(data, batch_size=64, seed=5)
    if newcomer and os.path.exists("hold"):
        open("held", "w").close()
        while os.path.exists("hold"):
            time.sleep(0.01)
    for epoch in job.epochs(EPOCHS):
        for one, label in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(one), label)
            loss.backward()
            optimizer.step()
            job.step(loss=loss)
            scheduler.step()
            time.sleep(0.05 if os.path.exists("slow") else 0.0)
        with torch.no_grad():  # by all: a sharded model would wait for the others
            total = float(nn.functional.cross_entropy(net(inputs), labels))
        if job.worker == 0:
            print(json.dumps([epoch, total, os.getpid()]))
"""


def told(text: str) -> list[tuple[int, float]]:
    """Epochs and the loss on all data after each."""
    lines = [json.loads(line) for line in text.splitlines() if re.match(r"\[\d", line)]
    return [(epoch, loss) for epoch, loss, _ in lines]


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[int, float]]:
    """The same script without a scheduler."""
    script = tmp_path_factory.mktemp("alone") / "script.py"
    script.write_text(TRAIN)
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        runpy.run_path(str(script), run_name="__main__")
    return told(output.getvalue())


def start(stage: Stage, *slots: int) -> None:
    (stage.scripts / "slow").write_text("")
    stage.play.tell(1, *slots)
    stage.start(TRAIN, HEADWAY_WARM="1", OMP_NUM_THREADS="1")
    stage.until_phase(AgentPhase.RUNNING, 1)


def finish(stage: Stage, alone: list[tuple[int, float]]) -> None:
    """The job ends as it would have alone: nothing lost, nothing repeated, nobody left."""
    (stage.scripts / "slow").unlink()
    stage.until_phase(AgentPhase.FINISHED)
    assert stage.until_gone() == 0
    curve = told(stage.log())
    assert [epoch for epoch, _ in curve] == list(range(EPOCHS))
    for (_, loss), (_, expected) in zip(curve, alone, strict=True):
        assert loss == pytest.approx(expected, abs=1e-4)
    lines = (stage.where.path / "checkpoints" / "epochs.jsonl").read_text().splitlines()
    read = [tuple(json.loads(line).values()) for line in lines]
    assert read == [(epoch, SAMPLES, 1, 1) for epoch in range(EPOCHS)]


def workers(stage: Stage) -> set[int]:
    return {child.pid for child in psutil.Process(stage.agent.pid).children(recursive=True)}


def resize(stage: Stage, generation: int, *slots: int) -> tuple[set[int], set[int]]:
    """The processes before and after a resize that was done inside them."""
    before = workers(stage)
    stage.play.tell(generation, *slots)
    report = stage.until_phase(AgentPhase.RUNNING, generation)
    assert report.in_process
    assert report.stall_s > 0
    after = workers(stage)
    assert len(after) == len(slots)
    return before, after


def test_one_job_through_many_sizes_trains_as_it_would_alone(
    stage: Stage, alone: list[tuple[int, float]]
) -> None:
    """Adam's step counters too: they were forgotten once, and replicas drifted apart silently."""
    start(stage, 0)
    before, after = resize(stage, 2, 0, 1, 2)
    assert before < after
    before, after = resize(stage, 3, 1, 2)  # the first worker leaves
    assert after < before
    before, after = resize(stage, 4, 0, 1, 2, 3)
    assert before < after
    before, after = resize(stage, 5, 0, 3)
    assert after < before
    before, after = resize(stage, 6, 3)
    assert after < before
    finish(stage, alone)
    changes = [c for cs in {m.sequence: m.changes for m in stage.play.heard}.values() for c in cs]
    assert [c.gpus for c in changes] == [3, 2, 4, 2, 1]
    # what worker 0 expected to have read by its next exchange was taken for lost with a checkpoint
    assert {c.code for c in changes} == {ChangeCode.ALLOCATION}
    # who becomes worker 0 leaves what the one before it told where it is
    begun = [int(line) for line in (stage.scripts / "begun").read_text().split()]
    assert begun[0] in {0, changes[0].samples}  # by its first report or its first resize
    assert begun[1:] == [changes[1].samples, changes[3].samples, changes[4].samples]


def test_a_newcomer_that_dies_costs_a_restart_and_nothing_else(
    stage: Stage, alone: list[tuple[int, float]]
) -> None:
    """Before that the service is away for a whole resize, which goes on without it."""
    start(stage, 0)
    (stage.scripts / "hold").write_text("")
    stage.play.tell(2, 0, 1)
    stage.until((stage.scripts / "held").exists, "a newcomer")
    stage.server.stop()
    (stage.scripts / "hold").unlink()
    generation = stage.where.path / "flag"
    stage.until(lambda: generation.read_bytes()[0] == 2, "the order")
    stage.server.start(stage.play)
    assert stage.until_phase(AgentPhase.RUNNING, 2).in_process
    (stage.scripts / "held").unlink()
    (stage.scripts / "hold").write_text("")
    kept = workers(stage)
    stage.play.tell(3, 0, 1, 2)
    stage.until((stage.scripts / "held").exists, "a newcomer")
    (newcomer,) = workers(stage) - kept
    os.kill(newcomer, signal.SIGKILL)
    report = stage.until_phase(AgentPhase.RUNNING, 3)
    assert not report.in_process
    assert report.stall_s > 0
    assert len(workers(stage)) == 3
    finish(stage, alone)


def test_a_survivor_that_dies_in_the_switch_loses_nothing(
    stage: Stage, alone: list[tuple[int, float]]
) -> None:
    """The other one saves the state of that very moment; all start again from it."""
    start(stage, 0, 1)
    old = workers(stage)
    (stage.scripts / "armed").write_text("")
    stage.play.tell(2, 0, 1, 2)
    report = stage.until_phase(AgentPhase.RUNNING, 2)
    assert not (stage.scripts / "armed").exists()
    assert not report.in_process
    assert len(workers(stage)) == 3
    assert not workers(stage) & old
    assert "no switch to generation 2" in stage.log()
    finish(stage, alone)


def test_a_model_that_is_sharded_among_several_is_resized_by_restarts(
    stage: Stage, alone: list[tuple[int, float]]
) -> None:
    """A worker alone could switch; who would join it fails at once, having nobody to shard with."""
    (stage.scripts / "sharded").write_text("")
    start(stage, 0)
    for generation, slots in enumerate([(0, 1), (0,)], start=2):
        stage.play.tell(generation, *slots)
        assert not stage.until_phase(AgentPhase.RUNNING, generation).in_process
        assert len(workers(stage)) == len(slots)
    finish(stage, alone)
