"""The state of a job from worker 0 to all, and what shows that all then hold the same.

A state is nested dictionaries, lists and tuples of tensors and plain values, as a checkpoint's.
Tensors travel as bytes, on the device that they are on, many small ones together.
"""

import hashlib
import io
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from headway.agent.exchange import Exchange

PACK_BYTES = 1 << 22  # smaller tensors travel together, in packs of at most so many bytes
_PART = 1 << 16  # numbers that are added up at a time: they stay in the cache
_PART_ON_DEVICE = 1 << 20
_MIXER = 1_000_003  # odd, so that no bit is lost


def share(state: Any, exchange: Exchange) -> Any:
    """A collective: the state of worker 0. Tensors of the same shape are overwritten in place."""
    devices, outline = unpacked(exchange.tell(packed([_devices(state), mapped(state, _meta)])))
    own = _at_paths(state)
    places = iter(devices)
    whole = _filled(outline, (), own, places)
    tensors = list(tensors_in(whole))
    for kind in sorted(set(devices)):
        _broadcast([tensor for tensor in tensors if tensor.device.type == kind])
    return whole


def packed(state: Any) -> bytes:
    """As bytes that are read without running code of anybody's."""
    buffer = io.BytesIO()
    torch.save(state, buffer)
    return buffer.getvalue()


def unpacked(body: bytes) -> Any:
    """What was packed, on the host."""
    return torch.load(io.BytesIO(body), map_location="cpu", weights_only=True)


def mapped(value: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """The same state with every tensor changed."""
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, dict):
        return {key: mapped(inner, change) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        inners = [mapped(inner, change) for inner in value]
        return tuple(inners) if isinstance(value, tuple) else inners
    return value


def tensors_in(value: Any) -> Iterator[Tensor]:
    """Its tensors, in the order of ``mapped``."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from tensors_in(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from tensors_in(inner)


def fingerprint(state: Any) -> int:
    """Of every bit of its tensors and every plain value; below 2^62."""
    digest = hashlib.sha256(_spelled(state).encode())
    for device in sorted({tensor.device.type for tensor in tensors_in(state)}):
        sums = [checksum(one) for one in _sorted_tensors(state) if one.device.type == device]
        digest.update(torch.stack(sums).cpu().numpy().tobytes())
    return int.from_bytes(digest.digest()[:8], "little") >> 2


def checksum(tensor: Tensor) -> Tensor:
    """Of the bits of one tensor, each weighed by its place; on its device, nobody waits."""
    flat = _bytes_of(tensor.detach().contiguous())
    whole = flat.numel() // 4 * 4
    total = flat[whole:].to(torch.int64).sum()
    numbers = flat[:whole].view(torch.int32)
    size = _PART if tensor.device.type == "cpu" else _PART_ON_DEVICE
    weights = _weights(min(size, max(numbers.numel(), 1)), tensor.device)
    for start in range(0, numbers.numel(), size):
        part = numbers[start : start + size].to(torch.int64)
        total = total * _MIXER + (part * weights[: part.numel()]).sum()
    return total


@lru_cache(maxsize=4)
def _weights(size: int, device: torch.device) -> Tensor:
    return torch.arange(1, 2 * size, 2, device=device)


def _spelled(value: Any) -> str:
    """Plain values as they are, of tensors the kind; dictionaries whatever their order."""
    if isinstance(value, Tensor):
        return f"{value.dtype}{tuple(value.shape)}"
    if isinstance(value, dict):
        return f"{{{','.join(f'{key!r}:{_spelled(value[key])}' for key in _keys(value))}}}"
    if isinstance(value, list | tuple):
        return f"[{','.join(_spelled(inner) for inner in value)}]"
    return repr(value)


def _sorted_tensors(value: Any) -> Iterator[Tensor]:
    """Its tensors in the order of ``_spelled``."""
    if isinstance(value, dict):
        for key in _keys(value):
            yield from _sorted_tensors(value[key])
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _sorted_tensors(inner)
    elif isinstance(value, Tensor):
        yield value


def _keys(value: dict[Any, Any]) -> list[Any]:
    return sorted(value, key=repr)


def _meta(tensor: Tensor) -> Tensor:
    return torch.empty(tensor.shape, dtype=tensor.dtype, device="meta")


def _devices(state: Any) -> list[str]:
    return [tensor.device.type for tensor in tensors_in(state)]


def _at_paths(value: Any, path: tuple[Any, ...] = ()) -> dict[tuple[Any, ...], Tensor]:
    """Tensors by where they are."""
    if isinstance(value, Tensor):
        return {path: value}
    if isinstance(value, dict):
        parts = list(value.items())
    else:
        parts = list(enumerate(value)) if isinstance(value, list | tuple) else []
    found: dict[tuple[Any, ...], Tensor] = {}
    for key, inner in parts:
        found |= _at_paths(inner, (*path, key))
    return found


def _filled(
    value: Any, path: tuple[Any, ...], own: dict[tuple[Any, ...], Tensor], places: Iterator[str]
) -> Any:
    """An outline with a tensor to receive into at each place."""
    if isinstance(value, Tensor):
        place, mine = next(places), own.get(path)
        same = mine is not None and mine.dtype == value.dtype and mine.shape == value.shape
        if mine is not None and same and mine.device.type == place:
            return mine
        return torch.empty(value.shape, dtype=value.dtype, device=place)
    if isinstance(value, dict):
        return {key: _filled(inner, (*path, key), own, places) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        inners = [_filled(inner, (*path, i), own, places) for i, inner in enumerate(value)]
        return tuple(inners) if isinstance(value, tuple) else inners
    return value


def _broadcast(tensors: list[Tensor]) -> None:
    """All on one device: large ones alone, small ones in packs."""
    pack: list[Tensor] = []
    for tensor in tensors:
        if tensor.nbytes >= PACK_BYTES and tensor.is_contiguous():
            dist.broadcast(tensor.detach(), 0)
            continue
        if sum(one.nbytes for one in pack) + tensor.nbytes > PACK_BYTES:
            _broadcast_pack(pack)
            pack = []
        pack.append(tensor)
    _broadcast_pack(pack)


def _broadcast_pack(pack: list[Tensor]) -> None:
    if not pack:
        return
    body = torch.cat([_bytes_of(tensor.detach().contiguous()) for tensor in pack])
    dist.broadcast(body, 0)
    start = 0
    for tensor in pack:
        piece = body[start : start + tensor.nbytes].clone()  # aligned as its own kind must be
        tensor.detach().copy_(piece.view(tensor.dtype).view(tensor.shape))
        start += tensor.nbytes


def _bytes_of(tensor: Tensor) -> Tensor:
    return tensor.reshape(-1).view(torch.uint8)
