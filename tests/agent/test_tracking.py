"""Trackers: keyed by samples, one run across restarts, resizes marked, never in training's way."""

import os
import signal
import sys
import types
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch import nn
from torch.utils.data import TensorDataset

import headway.agent as headway
from headway.agent.desk import Pace
from headway.agent.plan import Cursor
from headway.agent.tracking import MLflow, Run, TensorBoard, Tracker, WandB
from headway.protocol.environment import YIELDED

if TYPE_CHECKING:
    from conftest import Stage

pytestmark = pytest.mark.usefixtures("at_every_step")

Maker = Callable[..., "Stage"]
SAMPLES, EPOCHS = 96, 40


class Notes:
    """A tracker that writes lines."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def _note(self, *words: object) -> None:
        with self._file.open("a") as file:
            print(os.environ["RANK"], *words, file=file, sep="\t")

    def begin(self, run: Run) -> None:
        self._note("begin", run.job_id, run.samples)

    def scalars(self, values: Mapping[str, float], samples: int) -> None:
        self._note("scalars", samples, values.get("headway/gpus"), values.get("headway/eta_s"))

    def marker(self, text: str, samples: int) -> None:
        self._note("marker", samples, text)

    def end(self) -> None:
        self._note("end")


class Broken(Notes):
    def scalars(self, values: Mapping[str, float], samples: int) -> None:
        super().scalars(values, samples)
        raise ConnectionError("no network")


def train(
    tick: Callable[[], None], *trackers: Tracker, every_s: float = 3600.0, epochs: int = EPOCHS
) -> None:
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    inputs = torch.randn(SAMPLES, 6, generator=generator)
    with headway.attach(checkpoint_every_s=every_s) as job:
        for tracker in trackers:
            job.tracker(tracker)
        model = job.model(nn.Linear(6, 2))
        optimizer = job.optimizer(torch.optim.SGD(model.parameters(), lr=0.1), lr_rule="hold")
        rows = TensorDataset(inputs, (inputs[:, 0] > 0).long())
        loader = job.loader(rows, batch_size=32, seed=5)
        for _ in job.epochs(epochs):
            for batch, labels in loader:
                optimizer.zero_grad()
                loss = nn.functional.cross_entropy(model(batch), labels)
                loss.backward()
                optimizer.step()
                job.step(loss=loss)
                tick()


def test_worker_0_tells_and_a_resize_is_marked(stage: Maker) -> None:
    job = stage()
    job.report_every_s = 0.0
    notes = job.folder / "notes"
    script = lambda tick: train(tick, Notes(notes))  # noqa: E731
    assert job.run(script, 1, yield_at=40).codes == [YIELDED]
    assert job.run(script, 2).codes == [0, 0]
    lines = [line.split("\t") for line in notes.read_text().splitlines()]
    assert {line[0] for line in lines} == {"0"}
    assert [line[1:] for line in lines if line[1] == "begin"] == [
        ["begin", "job", "0"],
        ["begin", "job", str(40 * 32)],
    ]
    (mark,) = [line[2:] for line in lines if line[1] == "marker"]
    assert mark[0] == str(40 * 32)
    assert mark[1].startswith("1 to 2 GPUs, batch 32 to 32, learning rate times 1: ")
    scalars = [(int(line[2]), float(line[3])) for line in lines if line[1] == "scalars"]
    assert scalars == sorted(scalars)
    assert {gpus for samples, gpus in scalars if samples <= 40 * 32} == {1.0}
    assert {gpus for samples, gpus in scalars if samples > 40 * 32} == {2.0}
    assert [line[1] for line in lines].count("end") == 2
    etas = [float(line[4]) for line in lines if line[1] == "scalars" and line[4] != "None"]
    assert etas[-1] == 0.0  # at the end of training
    assert len(etas) > 10


def test_a_tracker_that_fails_is_told_no_more_and_training_goes_on(
    stage: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = stage()
    job.report_every_s = 0.0
    monkeypatch.setattr("warnings.warn", lambda *_, **__: None)  # an error in these tests
    broken, whole = job.folder / "broken", job.folder / "whole"
    assert job.run(lambda tick: train(tick, Broken(broken), Notes(whole))).codes == [0]
    assert len(broken.read_text().splitlines()) == 2  # begin, and one word
    assert len(whole.read_text().splitlines()) > 10


def test_tensorboard_shows_one_run_without_what_a_kill_made_anew(stage: Maker) -> None:
    pytest.importorskip("tensorboard", reason="needs the package tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    job = stage()
    job.report_every_s = 0.0
    board = job.folder / "board"

    def killed(tick: Callable[[], None]) -> None:
        ticks = 0

        def die() -> None:
            nonlocal ticks
            ticks += 1
            if ticks == 60:
                os.kill(os.getpid(), signal.SIGKILL)

        train(die, TensorBoard(board), every_s=0.01)

    assert job.run(killed).codes == [-signal.SIGKILL]
    assert job.run(lambda tick: train(tick, TensorBoard(board)), 2).codes == [0, 0]
    shown = EventAccumulator(str(board), size_guidance={"scalars": 0, "tensors": 0})
    shown.Reload()
    steps = [event.step for event in shown.Scalars("headway/loss")]
    assert steps == sorted(set(steps))
    assert steps[-1] == SAMPLES * EPOCHS
    marks = shown.Tensors("headway/resize/text_summary")
    assert b"1 to 2 GPUs" in marks[-1].tensor_proto.string_val[0]


def test_without_a_scheduler_nothing_is_told(tmp_path: Path) -> None:
    train(lambda: None, Notes(tmp_path / "notes"), epochs=1)
    assert not (tmp_path / "notes").exists()


class StandIn(types.ModuleType):
    """In place of wandb or mlflow: remembers what was called."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.calls: list[tuple[Any, ...]] = []
        self.info = types.SimpleNamespace(run_id="r1")

    def __getattr__(self, name: str) -> Callable[..., "StandIn"]:
        if name.startswith("__"):
            raise AttributeError(name)

        def call(*args: object, **more: object) -> "StandIn":
            self.calls.append((name, *args, more))
            return self

        return call


def told_twice(make: Callable[[], Tracker], folder: Path) -> None:
    for samples in (0, 320):
        tracker = make()
        tracker.begin(Run("digits", folder, samples))
        tracker.scalars({"headway/loss": 0.5}, samples + 32)
        tracker.marker("1 to 2 GPUs", samples + 64)
        tracker.end()


def test_weights_and_biases_has_one_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wandb", wandb := StandIn("wandb"))
    told_twice(lambda: WandB(project="p"), tmp_path)
    begun = [call for call in wandb.calls if call[0] == "init"]
    assert begun == [("init", {"id": "digits", "resume": "allow", "project": "p"})] * 2
    assert ("define_metric", "headway/*", {"step_metric": "samples"}) in wandb.calls
    assert ("log", {"headway/loss": 0.5, "samples": 352}, {}) in wandb.calls
    assert ("log", {"headway/resize": "1 to 2 GPUs", "samples": 64}, {}) in wandb.calls


def test_mlflow_has_one_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mlflow", mlflow := StandIn("mlflow"))
    told_twice(lambda: MLflow(log_system_metrics=True), tmp_path)
    begun = [call[-1] for call in mlflow.calls if call[0] == "start_run"]
    assert begun == [{"run_name": "digits", "log_system_metrics": True}, {"run_id": "r1"}]
    assert ("log_metrics", {"headway/loss": 0.5}, {"step": 352}) in mlflow.calls
    assert ("set_tag", "headway.resize.384", "1 to 2 GPUs", {}) in mlflow.calls


def test_the_rest_takes_as_long_as_what_was_done_since_the_last_change() -> None:
    pace, cursor = Pace(), Cursor(progress_examples=100.0, total_examples=1000.0)
    assert pace.eta_s(cursor, 50.0) is None
    cursor.progress_examples = 400.0
    assert pace.eta_s(cursor, 60.0) == pytest.approx(20.0)
    cursor.total_examples = 0.0
    assert pace.eta_s(cursor, 70.0) is None
    assert Pace().eta_s(Cursor(progress_examples=7.0, total_examples=7.0), 1.0) == 0.0
