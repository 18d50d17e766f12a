"""States: nested dictionaries, lists and tuples of tensors and plain values, as a checkpoint's."""

import io
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

Path = tuple[Any, ...]  # keys and indices
Change = Callable[[Path, Tensor], Tensor]


def mapped(value: Any, change: Change, path: Path = ()) -> Any:
    """The same state with every tensor changed."""
    if isinstance(value, Tensor):
        return change(path, value)
    if isinstance(value, dict):
        twin = OrderedDict((key, mapped(value[key], change, (*path, key))) for key in value)
        versions = getattr(value, "_metadata", None)  # of the modules of a model
        if versions is None:
            return dict(twin)
        twin.__dict__["_metadata"] = versions
        return twin
    if isinstance(value, list | tuple):
        inners = [mapped(inner, change, (*path, index)) for index, inner in enumerate(value)]
        return tuple(inners) if isinstance(value, tuple) else inners
    return value


def at_paths(value: Any, path: Path = ()) -> dict[Path, Tensor]:
    """Its tensors by where they are, in one order whatever that of its dictionaries."""
    if isinstance(value, Tensor):
        return {path: value}
    found: dict[Path, Tensor] = {}
    if isinstance(value, dict):
        for key in keys_of(value):
            found |= at_paths(value[key], (*path, key))
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            found |= at_paths(inner, (*path, index))
    return found


def keys_of(value: dict[Any, Any]) -> list[Any]:
    """The keys of a dictionary in an order that does not depend on its history."""
    return sorted(value, key=repr)


def snapshot(state: Any) -> Any:
    """A copy on the host, which training does not change any more."""
    return mapped(state, lambda _, tensor: tensor.detach().to("cpu", copy=True))


def packed(state: Any) -> bytes:
    """As bytes that are read without running code of anybody's."""
    buffer = io.BytesIO()
    torch.save(state, buffer)
    return buffer.getvalue()


def unpacked(body: bytes) -> Any:
    """What was packed, on the host."""
    return torch.load(io.BytesIO(body), map_location="cpu", weights_only=True)
