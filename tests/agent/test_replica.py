"""The model that a script calls: one object, whatever the number of workers."""

import copy
import os
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
import torch
import torch.distributed as dist
from torch import nn

from headway.agent.exchange import meet
from headway.agent.replica import Replica
from headway.protocol.environment import RENDEZVOUS

if TYPE_CHECKING:
    from conftest import Stage


def replica() -> Replica:
    net = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    return Replica(net, find_unused_parameters=False)


def test_its_state_has_the_module_s_own_names() -> None:
    one = replica()
    assert one.state_dict().keys() == one.module.state_dict().keys()
    one.load_state_dict(replica().state_dict())
    assert list(one.parameters()) == list(one.module.parameters())


def test_what_it_has_not_is_the_module_s() -> None:
    one = replica()
    one.module.label = "mine"
    assert one.label == "mine"
    with pytest.raises(AttributeError, match="nothing"):
        _ = one.nothing
    one.eval()
    assert not one.module.training
    assert one[0] is one.module[0]
    assert list(one) == list(one.module)


@pytest.mark.parametrize(
    "where",
    [
        "register_forward_hook",
        "register_forward_pre_hook",
        "register_full_backward_hook",
        "register_full_backward_pre_hook",
        "compile",
    ],
)
def test_what_the_script_puts_in_between_is_called(where: str) -> None:
    """A call without any goes straight to the module."""
    one, seen = replica(), list[str]()

    def told(*_: object) -> None:
        seen.append(where)

    def backend(graph: torch.fx.GraphModule, _: object) -> Callable[..., object]:
        seen.append(where)
        return graph.forward

    if where == "compile":
        one.compile(backend=backend)
    else:
        getattr(one, where)(told)
    one(torch.ones(4, 3, requires_grad=True)).sum().backward()
    assert len(seen) == 1


def test_a_copy_takes_no_part(stage: Callable[..., "Stage"]) -> None:
    """Averages of parameters are kept in such; a copy with a process group in it cannot be made."""

    def script(_: Callable[[], None]) -> None:
        worker = int(os.environ["RANK"])
        meet(os.environ[RENDEZVOUS], worker, 2)
        one = replica()
        one.synchronise()
        twin = copy.deepcopy(one).eval()
        if worker == 0:  # alone: it would wait for the other if it were synchronised
            twin(torch.ones(4, 3)).sum().backward()
        one(torch.full((4, 3), float(worker))).pow(2).sum().backward()
        gradient = one.module[0].weight.grad
        both = [torch.zeros_like(gradient) for _ in range(2)]
        dist.all_gather(both, gradient)
        assert torch.equal(*both)
        assert one.movable
        one.register_comm_hook(None, _hook)
        assert not one.movable, "the script has taken hold of it"
        one.part()
        one(torch.ones(4, 3)).sum().backward()

    assert stage().run(script, 2).codes == [0, 0]


def _hook(_: object, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    future: torch.futures.Future[torch.Tensor] = torch.futures.Future()
    future.set_result(bucket.buffer())
    return future
