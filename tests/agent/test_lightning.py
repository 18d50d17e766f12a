"""Lightning's Trainer under the scheduler: resized, it reads and learns the same."""

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
from torch.utils.data import TensorDataset

from headway.protocol.environment import YIELDED

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    lightning = pytest.importorskip("lightning.pytorch", reason="needs headway[lightning]")

if TYPE_CHECKING:
    from conftest import Stage

pytestmark = pytest.mark.usefixtures("at_every_step")

Maker = Callable[..., "Stage"]
SAMPLES, M0 = 100, 32  # the four samples that are left of an epoch are dropped


def data() -> TensorDataset:
    generator = torch.Generator().manual_seed(1)
    inputs = torch.randn(SAMPLES, 6, generator=generator)
    return TensorDataset(torch.arange(SAMPLES), inputs, (inputs[:, 0] > 0).long())


class Net(lightning.LightningModule):  # type: ignore[misc]
    """Writes down what it is given to learn from."""

    def __init__(self, seen: Path) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 2))
        self._seen = seen

    def training_step(self, batch: list[Tensor], batch_idx: int) -> Tensor:
        index, inputs, labels = batch
        with self._seen.open("a") as file:
            file.write(json.dumps([self.current_epoch, index.tolist()]) + "\n")
        return nn.functional.cross_entropy(self.layers(inputs), labels)

    def validation_step(self, batch: list[Tensor], batch_idx: int) -> None:
        self.log("accuracy", 0.75, sync_dist=True)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.parameters(), lr=0.01)


def script(folder: Path, tick: Callable[[], None]) -> None:
    """As an owner would write it."""
    warnings.simplefilter("ignore")
    os.environ |= {"LOCAL_RANK": os.environ.get("RANK", "0"), "MASTER_ADDR": "127.0.0.1"}
    os.environ["MASTER_PORT"] = "29541"
    from headway.agent.lightning import HeadwayCallback

    class Ticks(lightning.Callback):  # type: ignore[misc]
        def on_train_batch_start(self, *_: Any) -> None:
            tick()

    torch.manual_seed(0)
    headway = HeadwayCallback(folder / "out", monitor="accuracy")
    loader = headway.loader(data(), batch_size=M0, seed=3)
    trainer = lightning.Trainer(
        max_epochs=4,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
        default_root_dir=folder,
        callbacks=[Ticks(), headway],
        **headway.trainer_arguments(),
    )
    module = Net(folder / f"seen-{os.getpid()}")
    held_out = torch.utils.data.DataLoader(data(), batch_size=M0)
    trainer.fit(module, loader, held_out, ckpt_path=headway.newest())
    if trainer.is_global_zero:
        torch.save(module.state_dict(), folder / "weights.pt")


def seen(folder: Path) -> dict[int, Counter[int]]:
    read: dict[int, Counter[int]] = {epoch: Counter() for epoch in range(4)}
    for file in folder.glob("seen-*"):
        for line in file.read_text().splitlines():
            epoch, indices = json.loads(line)
            read[epoch].update(indices)
    return read


# the second: at the last step of an epoch, where it goes on until it is in the next one
@pytest.mark.parametrize(("first", "second"), [(2, 4), (3, 6)])
def test_a_resized_trainer_reads_each_sample_once_an_epoch_and_learns_the_same(
    stage: Maker, first: int, second: int
) -> None:
    whole, cut = stage("whole"), stage("cut", per_gpu=16)
    assert whole.run(lambda tick: script(whole.folder, tick)).codes == [0]
    run = lambda tick: script(cut.folder, tick)  # noqa: E731
    assert cut.run(run, 2, yield_at=first).codes == [YIELDED] * 2
    assert cut.run(run, 1, yield_at=second).codes == [YIELDED]
    assert cut.run(run, 2).codes == [0] * 2
    assert seen(cut.folder) == seen(whole.folder)
    for read in seen(cut.folder).values():
        assert set(read.values()) == {1}
        assert len(read) == 96
    one, other = (torch.load(job.folder / "weights.pt") for job in (whole, cut))
    for name, value in one.items():
        torch.testing.assert_close(other[name], value, rtol=0, atol=1e-4)
    assert cut.outcomes[0].news[0].stepped
    last = cut.outcomes[-1].reports[-1]
    assert (last.samples, last.metric) == (4 * 96, 0.75)


def test_without_a_scheduler_the_callback_does_nothing(tmp_path: Path) -> None:
    child = os.fork()
    if child == 0:
        script(tmp_path, lambda: None)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert [len(read) for read in seen(tmp_path).values()] == [96] * 4


def test_less_than_a_step_is_refused(stage: Maker, capfd: pytest.CaptureFixture[str]) -> None:
    def short(_: Callable[[], None]) -> None:
        from headway.agent.lightning import HeadwayCallback

        HeadwayCallback("out").loader(TensorDataset(torch.zeros(31, 1)), batch_size=M0)

    assert stage().run(short).codes == [1]
    assert "fewer samples than a batch of 32" in capfd.readouterr().err
