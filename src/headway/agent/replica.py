"""The model that a script calls: its own module, synchronised with those of other workers.

It stays one object while DistributedDataParallel, which belongs to one set of workers, comes and
goes inside it.
"""

import copy
from typing import Any, Self, final

from torch import nn
from torch.nn.parallel import DistributedDataParallel

_OF_THE_SYNCHRONISED = frozenset({"no_sync", "register_comm_hook", "join"})


@final
class Replica(nn.Module):
    """Calls go through DDP where there are several workers; all else is the module's.

    Its state has the module's own names, whatever the number of workers.
    """

    def __init__(self, module: nn.Module, *, find_unused_parameters: bool) -> None:
        super().__init__()
        self.module = module
        self._find_unused_parameters = find_unused_parameters
        self._synchronised: list[DistributedDataParallel] = []  # in a list: no module of this one
        self._called: list[nn.Module] = [module]  # likewise, and found without a search

    def __call__(self, *inputs: Any, **named: Any) -> Any:
        """Straight to the module where the script has put nothing in between."""
        if self._forward_hooks or self._forward_pre_hooks or self._backward_hooks:
            return super().__call__(*inputs, **named)
        if self._backward_pre_hooks or self._compiled_call_impl is not None:
            return super().__call__(*inputs, **named)
        return self._called[0](*inputs, **named)

    def forward(self, *inputs: Any, **named: Any) -> Any:
        return self._called[0](*inputs, **named)

    def synchronise(self, *, same: bool = False) -> None:
        """Be one of several from now on; ``same``: their parameters are known to be equal."""
        if any(parameter.requires_grad for parameter in self.module.parameters()):
            self._synchronised = [
                DistributedDataParallel(
                    self.module,
                    find_unused_parameters=self._find_unused_parameters,
                    init_sync=not same,
                )
            ]
            self._called = [*self._synchronised]

    def part(self) -> None:
        """Let go of the other workers."""
        for one in self._synchronised:
            one._remove_autograd_hooks()  # type: ignore[no-untyped-call]
        self._synchronised, self._called = [], [self.module]

    @property
    def movable(self) -> bool:
        """Whether another set of workers can be synchronised like this one: not where the script
        has taken hold of how gradients are reduced."""
        hooked = any(one._comm_hooks for one in self._synchronised)
        return not hooked and not any(_is_sharded(p) for p in self.module.parameters())

    def synchronises_at(self, last: bool) -> None:
        """Whether the next backward pass ends a step, and so is reduced."""
        for one in self._synchronised:
            one.require_backward_grad_sync = last

    def __getattr__(self, name: str) -> Any:
        """What it has not is looked for in the module, for scripts that know theirs."""
        try:
            return super().__getattr__(name)
        except AttributeError:
            inner = self._modules.get("module")
            if inner is None or name == "_synchronised":
                raise
            if name in _OF_THE_SYNCHRONISED and self._synchronised:
                return getattr(self._synchronised[0], name)
            return getattr(inner, name)

    def __getitem__(self, index: Any) -> Any:
        """Of a sequence of layers; Python looks for this in the class alone."""
        module: Any = self.module
        return module[index]

    def state_dict(self, *arguments: Any, **named: Any) -> Any:
        return self.module.state_dict(*arguments, **named)

    def load_state_dict(self, *arguments: Any, **named: Any) -> Any:
        return self.module.load_state_dict(*arguments, **named)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """A copy takes no part in anything; averages of parameters are made of such."""
        twin = type(self)(
            copy.deepcopy(self.module, memo), find_unused_parameters=self._find_unused_parameters
        )
        twin.train(self.training)
        return twin


def _is_sharded(parameter: nn.Parameter) -> bool:
    """As ``fully_shard`` leaves it: a part of it is here, and the rest with other workers."""
    return hasattr(parameter, "device_mesh")
