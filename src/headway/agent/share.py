"""The state of a job to all its workers, and what shows that all then hold the same.

A state is nested dictionaries, lists and tuples of tensors and plain values, as a checkpoint's.
Worker 0 tells what it is made of, with a checksum of each tensor. What a worker holds already is
not sent to it: where those who were there before differ, all get worker 0's; the rest goes to
newcomers alone, from one of the others each. Tensors stay on their device, small ones go together.
"""

import hashlib
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, final

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed import Work

from headway.agent.exchange import Exchange
from headway.agent.tree import Change, Path, at_paths, keys_of, mapped, packed, unpacked

ALONE_BYTES = 1 << 20  # smaller tensors travel together
PACK_BYTES = 1 << 22  # at most so many bytes of them
UNDER_WAY = 16  # bodies at a time: the packs among them are copies
_PART = 1 << 20  # numbers that are added up at a time
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
    own, first, fresh = at_paths(state), group.worker == 0, group.worker >= group.settled
    sums = {} if fresh else dict(zip(own, checksums(own.values()), strict=True))
    places = {path: str(tensor.device.type) for path, tensor in own.items()}
    message = packed([told, mapped(state, _meta), places, sums]) if first else b""
    told, outline, places, wanted = unpacked(group.exchange.tell(message))
    amiss = [not fresh and sums.get(path) != total for path, total in wanted.items()]
    for_all = group.exchange.summed(torch.tensor(amiss, dtype=torch.int32)).tolist()
    whole = mapped(outline, _to_receive(own, places))
    found, passing = at_paths(whole), _Passing(group)
    for kind in sorted(set(places.values())):
        here = [one for one in zip(wanted, for_all, strict=True) if places[one[0]] == kind]
        _travel([found[path] for path, to_all in here if to_all], _broadcast, receives=not first)
        if passing.concerns_us:
            _travel([found[path] for path, to_all in here if not to_all], passing, receives=fresh)
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
    bodies = [_bytes_of(tensor) for tensor in tensors]
    sums = [checksum(body) for body in bodies if body.device.type != "cpu"]
    devices = {total.device for total in sums}
    read = {
        device: iter(torch.stack([one for one in sums if one.device == device]).tolist())
        for device in devices
    }
    return [
        zlib.crc32(body.numpy().data) if body.device.type == "cpu" else next(read[body.device])
        for body in bodies
    ]


def checksum(body: Tensor) -> Tensor:
    """Of some bytes, each weighed by its place; on their device, nobody waits."""
    whole = body.numel() // 4 * 4
    total = body[whole:].to(torch.int64).sum()
    aligned = body if body.storage_offset() % 4 == 0 else body.clone()
    numbers = aligned[:whole].view(torch.int32)
    weights = _weights(body.device)
    for start in range(0, numbers.numel(), _PART):
        part = numbers[start : start + _PART].to(torch.int64)
        total = total * _MIXER + (part * weights[: part.numel()]).sum()
    return total


@lru_cache(maxsize=4)
def _weights(device: torch.device) -> Tensor:
    return torch.arange(1, 2 * _PART, 2, device=device)


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


def _broadcast(body: Tensor) -> list[Work]:
    return _begun(dist.broadcast(body, 0, async_op=True))


def _begun(*works: Work | None) -> list[Work]:
    """None is of who has no part in it."""
    return [work for work in works if work is not None]


@final
class _Passing:
    """From those who were there to the newcomers: each gets it from one of them."""

    def __init__(self, group: Group) -> None:
        fresh, settled = range(group.settled, group.workers), group.settled
        of = group.worker
        self._from = of % settled if of in fresh else None
        self._to = [worker for worker in fresh if worker % settled == of]

    @property
    def concerns_us(self) -> bool:
        """Whether this worker receives or sends anything."""
        return self._from is not None or bool(self._to)

    def __call__(self, body: Tensor) -> list[Work]:
        if self._from is not None:
            return _begun(dist.irecv(body, self._from))
        return _begun(*(dist.isend(body, worker) for worker in self._to))


def _travel(
    tensors: Iterable[Tensor], carry: Callable[[Tensor], list[Work]], *, receives: bool
) -> None:
    """All on one device: large ones alone, small ones in packs; several are under way at a time."""
    under_way: deque[tuple[list[Work], Tensor, list[Tensor]]] = deque()
    for pack in [*_packs(tensors), []]:
        while under_way and (not pack or len(under_way) >= UNDER_WAY):
            works, body, inside = under_way.popleft()
            for work in works:
                work.wait()
            if receives:
                _unpack(body, inside)
        if pack:
            in_place = len(pack) == 1 and pack[0].is_contiguous()
            body = _bytes_of(pack[0]) if in_place else torch.cat([_bytes_of(one) for one in pack])
            under_way.append((carry(body), body, [] if in_place else pack))


def _packs(tensors: Iterable[Tensor]) -> Iterator[list[Tensor]]:
    """By their sizes alone, which all workers agree on: how they lie in memory may differ."""
    pack: list[Tensor] = []
    for tensor in tensors:
        if pack and sum(one.nbytes for one in [*pack, tensor]) > PACK_BYTES:
            yield pack
            pack = []
        if tensor.nbytes >= ALONE_BYTES:
            yield [tensor]
        elif tensor.nbytes:
            pack.append(tensor)
    if pack:
        yield pack


def _unpack(body: Tensor, tensors: list[Tensor]) -> None:
    start = 0
    for tensor in tensors:
        piece = body[start : start + tensor.nbytes].clone()  # aligned as its own kind must be
        tensor.detach().copy_(piece.view(tensor.dtype).view(tensor.shape))
        start += tensor.nbytes


def _bytes_of(tensor: Tensor) -> Tensor:
    return tensor.detach().contiguous().reshape(-1).view(torch.uint8)
