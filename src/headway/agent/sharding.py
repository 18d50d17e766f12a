"""Models that ``fully_shard`` has cut up: whole gradients on the way, whole tensors in checkpoints.

The parameters that a script sees are shards. A gradient is whole only between its computation and
its reduction, on parameters that FSDP puts in place for a forward pass, and there it is hooked. In
a checkpoint everything is whole, as without sharding, so any number of workers can go on from it.

DTensors are known by what they can do: to import their class takes longer than to import Headway.
"""

from collections.abc import Callable
from typing import Any, final

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.utils.hooks import RemovableHandle

from headway.agent.job import MisuseError

Hook = Callable[[Tensor], Tensor | None]


def is_sharded(one: nn.Module | Tensor) -> bool:
    """Whether ``fully_shard`` was called on the module, or cut the tensor."""
    return hasattr(one, "set_requires_gradient_sync") or hasattr(one, "to_local")


def local(tensor: Tensor) -> Tensor:
    """This worker's part of it."""
    part: Tensor = tensor.to_local() if hasattr(tensor, "to_local") else tensor
    return part


def shards(tensor: Tensor) -> int:
    """How many workers hold different parts of it."""
    count = 1
    for placement, size in _layout(tensor):
        count *= size if placement.is_shard() else 1
    return count


def own_part(parameter: Tensor, whole: Tensor) -> Tensor:
    """What of a whole gradient lies where this worker's shard of the parameter does."""
    for axis, (placement, size) in enumerate(_layout(parameter)):
        if placement.is_shard():
            index = parameter.device_mesh.get_coordinate()[axis]  # type: ignore[attr-defined]
            parts = torch.chunk(whole, size, dim=placement.dim)
            whole = parts[index] if index < len(parts) else whole.narrow(placement.dim, 0, 0)
    return whole


def _layout(tensor: Tensor) -> list[tuple[Any, int]]:
    """Placement along, and size of, each axis of its mesh of workers."""
    if not hasattr(tensor, "placements"):
        return []
    return list(zip(tensor.placements, tensor.device_mesh.shape, strict=True))  # type: ignore[attr-defined]


def check_hooked(parameters: list[nn.Parameter], hooked: set[int]) -> None:
    """That each gradient was seen whole once; ``hooked`` are indices.

    Raises:
        MisuseError: one was not, so its passes were not weighed by their samples.
    """
    for index, parameter in enumerate(parameters):
        if index not in hooked and is_sharded(parameter) and parameter.grad is not None:
            raise MisuseError(
                "fully_shard: the gradient of a parameter was not seen; call the model, and the "
                "modules in it that hold parameters, as model(inputs)"
            )


@final
class WholeGradients:
    """Hooks gradients of sharded parameters while they are whole."""

    def __init__(self, model: nn.Module, hook: Callable[[nn.Parameter], Hook | None]) -> None:
        self._hook = hook
        self._hooked: set[int] = set()
        self._handles: dict[nn.Module, RemovableHandle] = {}
        for module in model.modules():
            sharded = dict(module.named_parameters(recurse=False))
            if any(is_sharded(p) for p in sharded.values()):
                # after FSDP's own, which puts whole parameters in place
                self._handles[module] = module.register_forward_pre_hook(self._before(sharded))

    def _before(self, sharded: dict[str, nn.Parameter]) -> Callable[[nn.Module, Any], None]:
        def before_forward(module: nn.Module, _: Any) -> None:
            for name, whole in module.named_parameters(recurse=False):
                hook = self._hook(sharded[name]) if whole.requires_grad else None
                if hook is not None and id(whole) not in self._hooked and not is_sharded(whole):
                    whole.register_hook(hook)  # type: ignore[no-untyped-call]
                    self._hooked.add(id(whole))  # it lives as long as the model does
            self._handles.pop(module).remove()

        return before_forward


@final
class WholeModel:
    """The state of a sharded model, loaded from whole tensors."""

    def __init__(self, model: nn.Module) -> None:
        self._model = model

    def state_dict(self) -> dict[str, Any]:
        return self._model.state_dict()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        mine = self._model.state_dict()
        cut = {name: _like(value, mine.get(name)) for name, value in state_dict.items()}
        self._model.load_state_dict(cut)


def gathered(state: Any, *, keep: bool) -> Any:
    """A collective: the same state with whole tensors; ``keep`` them, in the host's memory.

    One tensor at a time, so nobody ever holds more than the result and one tensor.
    """
    if isinstance(state, dict):
        return {key: gathered(value, keep=keep) for key, value in state.items()}
    if isinstance(state, list | tuple):
        return type(state)(gathered(value, keep=keep) for value in state)
    if not isinstance(state, Tensor) or not is_sharded(state):
        return state
    whole: Tensor = state.full_tensor()  # type: ignore[attr-defined]
    return whole.detach().cpu() if keep else None


def cut_like_parameters(state_dict: dict[str, Any], optimizer: Optimizer) -> dict[str, Any]:
    """The whole state of an optimizer cut up as its parameters are."""
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    if not any(is_sharded(p) for p in parameters):
        return state_dict
    state = {
        index: {name: _like(value, parameters[index]) for name, value in values.items()}
        for index, values in state_dict["state"].items()
    }
    return {**state_dict, "state": state}


def _like(value: Any, shard: Any) -> Any:
    """What has the shape of a sharded tensor is cut up like it, without communication."""
    if not isinstance(shard, Tensor) or not is_sharded(shard) or not isinstance(value, Tensor):
        return value
    if value.shape != shard.shape or is_sharded(value):
        return value
    from torch.distributed.tensor import distribute_tensor

    there = value.to(shard.device)
    mesh, placements = shard.device_mesh, shard.placements  # type: ignore[attr-defined]
    return distribute_tensor(there, mesh, placements, src_data_rank=None)
