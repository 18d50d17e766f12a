"""The demo's scripts: real data, a metric, and an end; here for a few epochs only."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
import torch

from headway.agent.demos import charlm, digits_cnn, digits_mlp, tabular
from headway.core.types import BatchChange, BatchMode, ScheduledBatch

if TYPE_CHECKING:
    from conftest import Stage


@pytest.mark.parametrize(
    ("main", "epochs", "name", "least"),
    [
        (digits_mlp.main, 6, "digits-mlp accuracy", 0.9),
        (digits_cnn.main, 6, "digits-cnn accuracy", 0.9),
        (tabular.main, 6, "tabular accuracy", 0.9),
    ],
    ids=["mlp", "cnn", "tabular"],
)
def test_the_classifiers_learn(
    capsys: pytest.CaptureFixture[str],
    main: Callable[[Sequence[str]], None],
    epochs: int,
    name: str,
    least: float,
) -> None:
    main(["--epochs", str(epochs), "--target", "2"])
    said = capsys.readouterr().out
    assert said.startswith(f"{name}: ")
    assert said.endswith("target 2 missed\n")
    assert float(said.split()[2].rstrip(",")) > least


def test_the_text_is_real_and_the_transformer_does_not_see_ahead() -> None:
    train, test, characters = charlm.windows()
    assert len(train) > 5000
    assert 50 < characters < 256
    assert torch.equal(test[0, 0, 1:], test[0, 1, :-1])  # each is followed by the next
    torch.manual_seed(0)
    net = charlm.CharTransformer(characters).eval()
    text = test[:1, 0].clone()
    before = net(text)
    text[0, 40:] = 0
    torch.testing.assert_close(net(text)[0, :40], before[0, :40])
    nats = float(charlm.loss_of(net, test[:8]).detach())
    assert nats == pytest.approx(math.log(characters), abs=1)  # knows nothing yet


def test_a_demo_under_the_scheduler_reports_its_metric(stage: Callable[..., "Stage"]) -> None:
    job = stage(most=512)
    outcome = job.run(lambda tick: digits_mlp.main(["--epochs", "12"]), 2)
    assert outcome.codes == [0, 0]
    metric = outcome.reports[-1].metric
    assert metric is not None
    assert metric > 0.95


def test_a_demo_learns_on_a_ramp_and_its_log_leads_to_the_same_weights(
    stage: Callable[..., "Stage"],
) -> None:
    """1,437 images an epoch, 16 to 128 at a time, resized on the way and then in one go."""
    ramp = (ScheduledBatch(0, 16), ScheduledBatch(4000, 32), ScheduledBatch(10_000, 128))

    def job(name: str, **batch: Any) -> "Stage":
        made: Stage = stage(name)
        made.batch = replace(made.batch, max_batch_size=128, max_batch_per_gpu=64, **batch)
        return made

    def script(_: Callable[[], None]) -> None:
        digits_mlp.main(["--epochs", "12"])

    first = job("first", mode=BatchMode.SCHEDULE, schedule=ramp)
    assert first.run(script).codes == [0]
    metric = first.outcomes[-1].reports[-1].metric
    assert metric is not None
    assert metric > 0.9
    log = (first.folder / "checkpoints" / "decisions.jsonl").read_bytes().splitlines()
    records = tuple(msgspec.json.decode(line, type=BatchChange) for line in log)
    sizes = [one.new_batch_size for one in records if one.new_batch_size != one.old_batch_size]
    assert (records[0].new_batch_size, sizes) == (16, [32, 128])
    assert all((one.measured_per_s or 0) > 0 for one in records[1:])
    again = job("again", replay=records)
    assert again.run(script).codes == [0]
    for name, value in weights(first).items():
        assert torch.equal(value, weights(again)[name]), name


def weights(stage: "Stage") -> dict[str, torch.Tensor]:
    path = max((stage.folder / "checkpoints").glob("*.pt"))
    found: dict[str, torch.Tensor] = torch.load(path, weights_only=True)["parts"]["model"]
    return found
