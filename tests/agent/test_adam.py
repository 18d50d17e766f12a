"""Adam through changes of batch, of size and of process, in whole runs.

AdaptDL wrote an int over Adam's step tensors when the batch changed, and the next step raised.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch import nn
from torch.utils.data import TensorDataset

import headway.agent as headway
from headway.core.types import BatchMode, ScheduledBatch
from headway.protocol.environment import YIELDED

if TYPE_CHECKING:
    from conftest import Stage

pytestmark = pytest.mark.usefixtures("at_every_step")

Maker = Callable[..., "Stage"]
RAMP = (ScheduledBatch(0, 16), ScheduledBatch(500, 32), ScheduledBatch(1400, 80))
KINDS = {
    "adam": torch.optim.Adam,
    "adamw": torch.optim.AdamW,
    "amsgrad": lambda *words, **more: torch.optim.Adam(*words, amsgrad=True, **more),
    "fused": lambda *words, **more: torch.optim.AdamW(*words, fused=True, **more),
    "adagrad": torch.optim.Adagrad,
}


def train(tick: Callable[[], None], kind: str, rule: str) -> None:
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    inputs = torch.randn(1000, 6, generator=generator)
    rows = TensorDataset(inputs, (inputs[:, 0] + inputs[:, 1] > 0).long())
    with headway.attach(checkpoint_every_s=3600) as job:
        net = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 16), nn.Linear(16, 2))
        net[2].requires_grad_(False)  # AdaptDL could not hook a frozen parameter
        model = job.model(net)
        optimizer = job.optimizer(KINDS[kind](model.parameters(), lr=0.003), lr_rule=rule)
        loader = job.loader(rows, batch_size=32, seed=5)
        for _ in job.epochs(3):
            for batch, labels in loader:
                optimizer.zero_grad(set_to_none=True)
                loss = nn.functional.cross_entropy(model(batch), labels)
                loss.backward()
                optimizer.step()
                job.step(loss=loss)
                tick()


def saved(stage: "Stage") -> dict[str, Any]:
    path = max((stage.folder / "checkpoints").glob("*.pt"))
    state: dict[str, Any] = torch.load(path, weights_only=True)
    return state


@pytest.mark.parametrize("kind", KINDS)
def test_a_ramp_over_several_sizes_ends_where_one_worker_does(stage: Maker, kind: str) -> None:
    rule = "hold" if kind == "adagrad" else "sqrt"
    jobs = []
    for name in ("whole", "cut"):
        job = stage(name)
        job.batch = replace(
            job.batch,
            mode=BatchMode.SCHEDULE,
            schedule=RAMP,
            max_batch_size=80,
            max_batch_per_gpu=40,
        )
        jobs.append(job)
    whole, cut = jobs
    script = lambda tick: train(tick, kind, rule)  # noqa: E731
    assert whole.run(script).codes == [0]
    assert cut.run(script, 2, yield_at=20).codes == [YIELDED] * 2
    assert cut.run(script, 1, yield_at=30).codes == [YIELDED]
    assert cut.run(script, 3).codes == [0] * 3
    changes = [change for out in cut.outcomes for news in out.news for change in news.changes]
    assert {change.new_batch_size for change in changes} == {16, 32, 80}
    one, other = (saved(job)["parts"] for job in (whole, cut))
    for name, value in one["model"].items():
        torch.testing.assert_close(other["model"][name], value, rtol=0, atol=5e-4, msg=name)
    steps = [
        [float(s["step"]) for s in part["optimizer"]["state"].values()] for part in (one, other)
    ]
    assert steps[0] == steps[1]
    assert len(set(steps[0]) - {0.0}) == 1  # AdaGrad counts for what is frozen, too


def test_an_adaptive_batch_with_adam(stage: Maker) -> None:
    job = stage(most=256)
    script = lambda tick: train(tick, "adamw", "adam_scale")  # noqa: E731
    assert job.run(script, 2, yield_at=30).codes == [YIELDED] * 2
    assert job.run(script, 1).codes == [0]
    state = saved(job)
    assert state["cursor"]["progress_examples"] >= 3000 * (1 - 1e-9)
    assert all(value.isfinite().all() for value in state["parts"]["model"].values())
