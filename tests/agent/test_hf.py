"""Hugging Face's Trainer under the scheduler: resized, it reads and learns the same."""

import json
import os
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import Dataset

from headway.core.types import BatchMode
from headway.protocol.environment import YIELDED

transformers = pytest.importorskip("transformers", reason="needs headway[hf]")
pytest.importorskip("accelerate", reason="needs headway[hf]")

if TYPE_CHECKING:
    from conftest import Stage

pytestmark = pytest.mark.usefixtures("at_every_step")

Maker = Callable[..., "Stage"]
SAMPLES, M0 = 96, 32


class Rows(Dataset[dict[str, Any]]):
    def __init__(self) -> None:
        generator = torch.Generator().manual_seed(1)
        self.inputs = torch.randn(SAMPLES, 6, generator=generator)
        self.labels = (self.inputs[:, 0] > 0).long()

    def __len__(self) -> int:
        return SAMPLES

    def __getitem__(self, index: int) -> dict[str, Any]:
        return {"inputs": self.inputs[index], "labels": self.labels[index], "index": index}


class Net(nn.Module):
    """Writes down what it is given to learn from."""

    def __init__(self, seen: Path) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 2))
        self._seen = seen

    def forward(self, inputs: Tensor, labels: Tensor, index: Tensor) -> dict[str, Tensor]:
        with self._seen.open("a") as file:
            file.write(json.dumps(index.tolist()) + "\n")
        outputs = self.layers(inputs)
        return {"loss": nn.functional.cross_entropy(outputs, labels), "logits": outputs}


def script(folder: Path, tick: Callable[[], None], **more: Any) -> None:
    """As an owner would write it."""
    warnings.simplefilter("ignore")
    os.environ |= {"LOCAL_RANK": os.environ.get("RANK", "0"), "MASTER_ADDR": "127.0.0.1"}
    os.environ["MASTER_PORT"] = os.environ.get("PORT", "29531")
    from headway.agent.hf import HeadwayCallback, batch_arguments, newest

    class Ticks(transformers.TrainerCallback):  # type: ignore[misc]
        def on_step_begin(self, *_: Any, **__: Any) -> None:
            tick()

    torch.manual_seed(0)
    out = folder / "out"
    arguments = {
        **batch_arguments(M0),
        "num_train_epochs": 4,
        "learning_rate": 0.01,
        "use_cpu": True,
        "save_strategy": "no",
        "report_to": [],
        "disable_tqdm": True,
        "logging_steps": 2,
        "dataloader_drop_last": True,
        "seed": 3,
    }
    trainer = transformers.Trainer(
        Net(folder / f"seen-{os.getpid()}"),
        transformers.TrainingArguments(str(out), **{**arguments, **more}),
        train_dataset=Rows(),
        callbacks=[Ticks(), HeadwayCallback()],
    )
    trainer.train(resume_from_checkpoint=newest(out))
    if trainer.is_world_process_zero():
        torch.save(trainer.model.state_dict(), folder / "weights.pt")


def seen(folder: Path) -> Counter[int]:
    lines = [line for file in folder.glob("seen-*") for line in file.read_text().splitlines()]
    return Counter(index for line in lines for index in json.loads(line))


def test_a_resized_trainer_reads_each_sample_once_an_epoch_and_learns_the_same(
    stage: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, cut = stage("whole"), stage("cut", per_gpu=16)
    assert whole.run(lambda tick: script(whole.folder, tick)).codes == [0]
    run = lambda tick: script(cut.folder, tick)  # noqa: E731
    assert cut.run(run, 2, yield_at=2).codes == [YIELDED] * 2
    assert cut.run(run, 1, yield_at=4).codes == [YIELDED]
    assert cut.run(run, 2).codes == [0] * 2
    assert set(seen(cut.folder).values()) == {4}
    assert len(seen(cut.folder)) == SAMPLES
    one, other = (torch.load(job.folder / "weights.pt") for job in (whole, cut))
    for name, value in one.items():
        torch.testing.assert_close(other[name], value, rtol=0, atol=1e-4)
    assert cut.outcomes[0].news[0].stepped
    assert cut.outcomes[-1].reports[-1].samples == 4 * SAMPLES
    lines = [line for file in cut.folder.glob("seen-*") for line in file.read_text().splitlines()]
    assert {len(json.loads(line)) for line in lines} == {16}  # fit one worker: two passes a step


def test_without_a_scheduler_the_callback_does_nothing(tmp_path: Path) -> None:
    child = os.fork()
    if child == 0:
        script(tmp_path, lambda: None)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert set(seen(tmp_path).values()) == {4}


@pytest.mark.parametrize("what", ["batch", "mode", "sizes", "weights"])
def test_what_cannot_be_kept_is_refused(
    stage: Maker, capfd: pytest.CaptureFixture[str], what: str
) -> None:
    said = {
        "batch": "initial_batch_size of the job is 32: use batch_arguments",
        "mode": "this loop keeps its batch, so mode fixed or observe",
        "sizes": "a batch of 32 does not divide by 3 workers",
        "weights": "save_only_model: nothing could go on",
    }
    more = {"batch": {"per_device_train_batch_size": 8}, "weights": {"save_only_model": True}}
    job = stage(most=64 if what == "mode" else None)
    assert (job.batch.mode is BatchMode.ADAPTIVE) is (what == "mode")
    workers = 3 if what == "sizes" else 1
    outcome = job.run(lambda tick: script(job.folder, tick, **more.get(what, {})), workers)
    assert outcome.codes == [1] * workers
    assert said[what] in capfd.readouterr().err


def test_a_checkpoint_that_was_not_finished_is_passed_over(tmp_path: Path) -> None:
    from headway.agent.hf import newest

    assert newest(tmp_path) is None
    for number, whole in ((5, True), (10, True), (12, False)):
        (tmp_path / f"checkpoint-{number}").mkdir()
        if whole:
            (tmp_path / f"checkpoint-{number}" / "trainer_state.json").touch()
    assert newest(tmp_path) == str(tmp_path / "checkpoint-10")
