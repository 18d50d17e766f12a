"""Models that fully_shard has cut up, on gloo: the same training, measured and saved the same."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
import torch
import torch.distributed.fsdp  # the workers are forked and need not import it again
import torch.distributed.tensor
from torch import Tensor, nn
from torch.amp import GradScaler
from torch.distributed.fsdp import fully_shard
from torch.optim import Optimizer
from torch.utils.data import TensorDataset

import headway.agent as headway
from headway.agent.sharding import own_part, shards
from headway.protocol.environment import YIELDED

if TYPE_CHECKING:
    from conftest import Stage

pytestmark = pytest.mark.usefixtures("at_every_step")

Maker = Callable[..., "Stage"]
SAMPLES = 97  # the last step of an epoch has one sample: all workers but the first are idle
KINDS: dict[str, Callable[..., Optimizer]] = {
    "sgd": partial(torch.optim.SGD, lr=0.05, momentum=0.9),
    "adamw": partial(torch.optim.AdamW, lr=0.01),
}


def data(samples: int) -> TensorDataset:
    generator = torch.Generator().manual_seed(1)
    inputs = torch.randn(samples, 6, generator=generator)
    labels = (inputs[:, 0] + 0.5 * torch.randn(samples, generator=generator) > 0).long()
    return TensorDataset(inputs, labels)


def net() -> nn.Sequential:
    """No dimension divides by 2 and by 3."""
    torch.manual_seed(0)
    inner = nn.Sequential(nn.Linear(7, 7), nn.Tanh())
    return nn.Sequential(nn.Linear(6, 7), nn.Tanh(), inner, nn.Linear(7, 2))


def train(
    tick: Callable[[], None],
    *,
    kind: str = "sgd",
    shard: bool = True,
    samples: int = SAMPLES,
    epochs: int = 4,
    rate: float | None = None,
    scaler: GradScaler | None = None,
) -> None:
    with headway.attach(checkpoint_every_s=3600) as job:
        model: nn.Module = net()
        if shard and job.workers > 1:
            fully_shard(model[2])
            fully_shard(model)
        model = job.model(model)
        more = {} if rate is None else {"lr": rate}
        optimizer = job.optimizer(KINDS[kind](model.parameters(), **more), lr_rule="sqrt")
        scaler = job.scaler(scaler or GradScaler("cpu", enabled=False))
        loader = job.loader(data(samples), batch_size=32, seed=5)
        for _ in job.epochs(epochs):
            for inputs, labels in loader:
                optimizer.zero_grad()
                loss = nn.functional.cross_entropy(model(inputs), labels)
                scaler.scale(loss).backward()
                scaler.step(optimizer)
                scaler.update()
                job.step(loss=loss)
                tick()


def saved(stage: "Stage") -> dict[str, Any]:
    path = max((stage.folder / "checkpoints").glob("*.pt"))
    state: dict[str, Any] = torch.load(path, weights_only=True)
    return state


def assert_close(one: "Stage", other: "Stage") -> None:
    first, second = saved(one)["parts"]["model"], saved(other)["parts"]["model"]
    assert first.keys() == second.keys()
    for name, value in first.items():
        assert type(second[name]) is Tensor
        torch.testing.assert_close(second[name], value, rtol=0, atol=2e-4, msg=name)


@pytest.mark.parametrize("kind", KINDS)
def test_one_whole_and_three_and_two_sharded_workers_end_where_one_does(
    stage: Maker, kind: str
) -> None:
    script = lambda tick: train(tick, kind=kind)  # noqa: E731
    whole, resized = stage("whole"), stage("resized")
    assert whole.run(script).codes == [0]
    assert resized.run(script, 1, yield_at=2).codes == [YIELDED]
    assert resized.run(script, 3, yield_at=6).codes == [YIELDED] * 3
    assert resized.run(script, 2, yield_at=3).codes == [YIELDED] * 2
    assert resized.run(script, 1).codes == [0]
    assert_close(whole, resized)
    moments = saved(resized)["parts"]["optimizer"]["state"]
    for index, state in saved(whole)["parts"]["optimizer"]["state"].items():
        for name, value in state.items():
            torch.testing.assert_close(moments[index][name], value, rtol=0, atol=2e-4)


def test_gradients_of_several_passes_are_reduced_once(stage: Maker) -> None:
    whole, split = stage("whole"), stage("split", per_gpu=4)
    assert whole.run(train).codes == [0]
    assert split.run(train, 3).codes == [0] * 3
    assert_close(whole, split)


def test_frozen_parameters_stay_and_the_others_learn(stage: Maker) -> None:
    def script(_: Callable[[], None]) -> None:
        with headway.attach() as job:
            model = net()
            model[2].requires_grad_(False)
            wholes = {name: p.detach().clone() for name, p in model.named_parameters()}
            fully_shard(model[2])
            fully_shard(model)
            model = job.model(model)
            parameters = [p for p in model.parameters() if p.requires_grad]
            optimizer = job.optimizer(KINDS["adamw"](parameters), lr_rule="sqrt")
            loader = job.loader(data(SAMPLES), batch_size=32)
            for _ in job.epochs(2):
                for inputs, labels in loader:
                    optimizer.zero_grad()
                    nn.functional.cross_entropy(model(inputs), labels).backward()
                    optimizer.step()
                    job.step()
            for name, p in model.named_parameters():
                whole = p.full_tensor()
                assert torch.equal(whole, wholes[name]) is name.startswith("2."), name

    assert stage().run(script, 2).codes == [0, 0]


def test_an_overflow_on_one_shard_skips_the_step_on_all(stage: Maker) -> None:
    job = stage(per_gpu=8)
    scaler = GradScaler("cpu", init_scale=2.0**127, growth_interval=1000)
    assert job.run(lambda tick: train(tick, scaler=scaler, epochs=12), 2).codes == [0, 0]
    state = saved(job)["parts"]
    assert state["scaler"]["scale"] < 2.0**127
    assert all(value.isfinite().all() for value in state["model"].values())


@pytest.mark.parametrize("kind", KINDS)
def test_the_noise_scale_is_that_of_whole_replicas(stage: Maker, kind: str) -> None:
    """At a rate of 0, so that both measure the same weights; of Adam's moments each worker has
    a part only."""
    found = {}
    for shard in (True, False):
        job = stage(f"sharded {shard}")
        script = lambda tick, shard=shard: train(  # noqa: E731
            tick, kind=kind, shard=shard, samples=2000, epochs=6, rate=0.0
        )
        assert job.run(script, 2).codes == [0, 0]
        report = job.outcomes[0].reports[-1]
        assert report.noise_scale_reliable
        found[shard] = report.noise_scale, report.noise_scale_error
    (phi, error), (expected, other_error) = found[True], found[False]
    assert abs(phi - expected) < 4 * (error**2 + other_error**2) ** 0.5
    assert abs(phi - expected) < 0.5 * expected


def test_a_part_is_what_the_mesh_gives_a_worker(stage: Maker) -> None:
    def script(_: Callable[[], None]) -> None:
        with headway.attach() as job:
            model = net()
            wholes = {name: p.detach().clone() for name, p in model.named_parameters()}
            fully_shard(model)
            for name, p in model.named_parameters():
                assert shards(p) == job.workers
                assert torch.equal(own_part(p, wholes[name]), p.to_local()), name
            assert own_part(wholes["0.weight"], wholes["0.weight"]) is wholes["0.weight"]
            loader = job.loader(data(SAMPLES), batch_size=32)
            for _ in job.epochs(1):
                for _ in loader:
                    job.step()

    assert stage().run(script, 3).codes == [0] * 3  # the two outputs are shared out over three


def test_a_gradient_that_goes_around_the_model_is_noticed(
    stage: Maker, capfd: pytest.CaptureFixture[str]
) -> None:
    """It would not be weighed by the samples of its pass."""

    class Direct(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.called, self.read = nn.Linear(6, 2), nn.Linear(6, 2)

        def forward(self, inputs: Tensor) -> Tensor:
            return self.called(inputs) + nn.functional.linear(inputs, self.read.weight)

    def script(_: Callable[[], None]) -> None:
        with headway.attach() as job:
            model = Direct()
            fully_shard(model)
            model = job.model(model)
            optimizer = job.optimizer(torch.optim.SGD(model.parameters(), lr=0.1))
            loader = job.loader(data(SAMPLES), batch_size=32)
            for _ in job.epochs(1):
                for inputs, labels in loader:
                    nn.functional.cross_entropy(model(inputs), labels).backward()
                    optimizer.step()
                    job.step()

    assert stage().run(script, 2).codes == [1, 1]
    assert "fully_shard: the gradient of a parameter was not seen" in capfd.readouterr().err
