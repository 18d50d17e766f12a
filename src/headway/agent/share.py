"""The state of a job to all its workers, and what shows that all then hold the same.

A state is nested dictionaries, lists and tuples of tensors and plain values, as a checkpoint's.
Worker 0 tells what it is made of, with a checksum of each tensor. What a worker holds already is
not sent to it: where those who were there before differ, all get worker 0's; the rest goes to
newcomers alone, from one of the others each. Tensors stay on their device, small ones go together.
"""

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, final

import torch
import torch.distributed as dist
from torch import Tensor

from headway.agent.exchange import Exchange
from headway.agent.tree import Change, Path, at_paths, keys_of, mapped, packed, unpacked

PACK_BYTES = 1 << 22  # smaller tensors travel together, in packs of at most so many bytes
_PART = 1 << 16  # numbers that are added up at a time: they stay in the cache
_PART_ON_DEVICE = 1 << 20
_MIXER = 1_000_003  # odd, so that no bit is lost


@final
@dataclass(frozen=True, slots=True)
class Group:
    """Who shares: the first ``settled`` of so many workers hold what a newcomer lacks."""

    exchange: Exchange
    worker: int
    workers: int
    settled: int


@final
@dataclass(frozen=True, slots=True)
class Shared:
    """The state of worker 0, as this worker has it now."""

    state: Any
    told: Any  # what else worker 0 had to say
    kept: dict[Path, int]  # checksums of the tensors that were held and not received

    def differs(self, name: str, part: Any) -> bool:
        """Whether this part of the state is not what this worker had before."""
        whole = at_paths(part, (name,)).keys() <= self.kept.keys()
        return not whole or spelled(part) != spelled(self.state[name])


def share(state: Any, group: Group, told: Any) -> Shared:
    """A collective: the state of worker 0. Tensors of the same kind are overwritten in place."""
    own, fresh = at_paths(state), group.worker >= group.settled
    sums = {} if fresh else dict(zip(own, checksums(own.values()), strict=True))
    places = {path: str(tensor.device.type) for path, tensor in own.items()}
    message = packed([told, mapped(state, _meta), places, sums])
    told, outline, places, wanted = unpacked(group.exchange.tell(message))
    amiss = [not fresh and sums.get(path) != total for path, total in wanted.items()]
    for_all = group.exchange.summed(torch.tensor(amiss, dtype=torch.int32)).tolist()
    whole = mapped(outline, _to_receive(own, places))
    found = at_paths(whole)
    for kind in sorted(set(places.values())):
        here = [one for one in zip(wanted, for_all, strict=True) if places[one[0]] == kind]
        _travel([found[path] for path, to_all in here if to_all], _broadcast)
        _travel([found[path] for path, to_all in here if not to_all], _passing(group))
    kept = zip(wanted.items(), for_all, strict=True)
    return Shared(whole, told, {} if fresh else dict(one for one, to_all in kept if not to_all))


def fingerprint(name: str, part: Any, known: dict[Path, int]) -> int:
    """Of every bit of a part's tensors and every plain value; below 2^62.

    ``known``: checksums of tensors that have not changed, by their path in the whole state.
    """
    tensors = at_paths(part, (name,))
    fresh = [path for path in tensors if path not in known]
    sums = known | dict(zip(fresh, checksums(tensors[path] for path in fresh), strict=True))
    text = f"{spelled(part)}{[sums[path] for path in tensors]}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little") >> 2


def checksums(tensors: Iterable[Tensor]) -> list[int]:
    """Of each tensor; the host waits once for each device."""
    sums = [checksum(tensor) for tensor in tensors]
    devices = {total.device for total in sums}
    read = {
        device: iter(torch.stack([one for one in sums if one.device == device]).tolist())
        for device in devices
    }
    return [next(read[total.device]) for total in sums]


def checksum(tensor: Tensor) -> Tensor:
    """Of the bits of one tensor, each weighed by its place; on its device, nobody waits."""
    flat = _bytes_of(tensor)
    whole = flat.numel() // 4 * 4
    total = flat[whole:].to(torch.int64).sum()
    numbers = flat[:whole].view(torch.int32)
    size = _PART if tensor.device.type == "cpu" else _PART_ON_DEVICE
    weights = _weights(size, tensor.device)
    for start in range(0, numbers.numel(), size):
        part = numbers[start : start + size].to(torch.int64)
        total = total * _MIXER + (part * weights[: part.numel()]).sum()
    return total


@lru_cache(maxsize=4)
def _weights(size: int, device: torch.device) -> Tensor:
    return torch.arange(1, 2 * size, 2, device=device)


def spelled(value: Any) -> str:
    """Plain values as they are, of tensors the kind."""
    if isinstance(value, Tensor):
        return f"{value.dtype}{tuple(value.shape)}"
    if isinstance(value, dict):
        return f"{{{','.join(f'{key!r}:{spelled(value[key])}' for key in keys_of(value))}}}"
    if isinstance(value, list | tuple):
        return f"[{','.join(spelled(inner) for inner in value)}]"
    return repr(value)


def _meta(_: Path, tensor: Tensor) -> Tensor:
    return torch.empty(tensor.shape, dtype=tensor.dtype, device="meta")


def _to_receive(own: dict[Path, Tensor], places: dict[Path, str]) -> Change:
    """For each tensor of an outline one to receive into, where possible the one that is there."""

    def receiving(path: Path, kind: Tensor) -> Tensor:
        mine = own.get(path)
        same = mine is not None and mine.dtype == kind.dtype and mine.shape == kind.shape
        if mine is not None and same and mine.device.type == places[path]:
            return mine
        return torch.empty(kind.shape, dtype=kind.dtype, device=places[path])

    return receiving


def _broadcast(body: Tensor) -> None:
    dist.broadcast(body, 0)


def _passing(group: Group) -> Callable[[Tensor], None]:
    """From those who were there to the newcomers: each gets it from one of them."""

    def passing(body: Tensor) -> None:
        fresh = range(group.settled, group.workers)
        if group.worker in fresh:
            dist.recv(body, group.worker % group.settled)
            return
        mine = [worker for worker in fresh if worker % group.settled == group.worker]
        for sent in [dist.isend(body, worker) for worker in mine]:
            if sent is not None:
                sent.wait()

    return passing


def _travel(tensors: list[Tensor], carry: Callable[[Tensor], None]) -> None:
    """All on one device: large ones alone, small ones in packs."""
    pack: list[Tensor] = []
    for tensor in tensors:
        if tensor.nbytes >= PACK_BYTES and tensor.is_contiguous():
            carry(tensor.detach())
            continue
        if sum(one.nbytes for one in pack) + tensor.nbytes > PACK_BYTES:
            _travel_together(pack, carry)
            pack = []
        pack.append(tensor)
    _travel_together(pack, carry)


def _travel_together(pack: list[Tensor], carry: Callable[[Tensor], None]) -> None:
    if not pack:
        return
    body = torch.cat([_bytes_of(tensor) for tensor in pack])
    carry(body)
    start = 0
    for tensor in pack:
        piece = body[start : start + tensor.nbytes].clone()  # aligned as its own kind must be
        tensor.detach().copy_(piece.view(tensor.dtype).view(tensor.shape))
        start += tensor.nbytes


def _bytes_of(tensor: Tensor) -> Tensor:
    return tensor.detach().contiguous().reshape(-1).view(torch.uint8)
