"""The demo's scripts: real data, a metric, and an end; here for a few epochs only."""

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import pytest
import torch

from headway.agent.demos import charlm, digits_cnn, digits_mlp, tabular

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
