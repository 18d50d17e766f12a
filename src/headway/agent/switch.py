"""A resize inside living workers: at one step boundary those of one generation become the next.

Whoever stays keeps its process, model and optimizer; newcomers are started and set up before. The
old group is left, a new one made, and worker 0 tells its whole state to all, which afterwards must
be the same, bit by bit, on every worker. If anything fails, who has stayed saves and leaves, and
all start again from that checkpoint.
"""

import os
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from headway.agent.context import Context
from headway.agent.desk import Desk
from headway.agent.exchange import Exchange
from headway.agent.meter import Meter
from headway.agent.rng import diverge, set_random_state
from headway.agent.saving import Saver
from headway.agent.share import Group, fingerprint, share
from headway.agent.stateful import AnyLoader
from headway.agent.steering import Steering
from headway.agent.synchronised import AnyReplica
from headway.agent.tree import packed, unpacked
from headway.core.errors import InvalidInputError
from headway.protocol.environment import YIELDED
from headway.protocol.messages import SwitchPlan, decode_plan

LOOK_EVERY_S = 0.005  # a newcomer, for the others
# whatever the network, a disk or the script's own parts may answer with
FAILURES = (RuntimeError, OSError, ValueError, LookupError, TypeError, AttributeError)


class SwitchError(RuntimeError):
    """The workers do not hold the same state after a switch."""


class Walker(Protocol):
    """Who goes from one generation to the next: the loop."""

    context: Context
    saver: Saver
    exchange: Exchange
    desk: Desk
    loader: AnyLoader | None
    replicas: list[AnyReplica]
    meter: Meter
    steering: Steering

    def gather(self) -> dict[str, Any]: ...

    def enter(self, context: Context) -> None: ...

    def begin(self) -> None: ...

    def save(self) -> None: ...

    def leave(self) -> None: ...


def movable(walker: Walker) -> bool:
    """Whether this worker could become one of another generation."""
    own_groups = dist.is_initialized() and len(dist.distributed_c10d._world.pg_map) > 1
    loader_can = walker.loader is None or walker.loader.movable
    can = walker.context.plan is not None and not own_groups and loader_can
    return can and all(replica.movable for replica in walker.replicas)


def stop(walker: Walker, generation: int) -> None:
    """A collective, which all have agreed to: become this generation, or save and leave."""
    plan = ordered(walker, generation)
    if plan is None:
        walker.save()
        walker.leave()
        raise SystemExit(YIELDED)
    cross(walker, plan)


def ordered(walker: Walker, generation: int) -> SwitchPlan | None:
    """A collective: the plan by which to become this generation; None: save and leave."""
    told = walker.exchange.tell(planned(walker, generation))
    return decode_plan(told) if told else None


def planned(walker: Walker, generation: int) -> bytes:
    """The plan by which to become this generation, as worker 0 has it; empty: there is none."""
    path = walker.context.plan
    if path is None or not walker.context.first or not movable(walker):
        return b""
    try:
        body = path.read_bytes()
        return body if decode_plan(body).orders.generation == generation else b""
    except (OSError, InvalidInputError):
        return b""


def cross(walker: Walker, plan: SwitchPlan) -> None:
    """A collective: be a worker of the next generation when this returns."""
    began_s = time.perf_counter()
    state = walker.gather()
    walker.desk.expect(state["cursor"]["samples"])  # no more than these, and they are not lost
    gathered = unpacked(walker.exchange.tell(packed(state)))
    rank = plan.ranks[walker.context.worker]
    if walker.context.first and rank != 0:
        walker.desk.saved(walker.saver.settled())  # nobody else knows of it
    for replica in walker.replicas:
        replica.part()
    walker.exchange.leave()
    if rank is None:
        walker.desk.close()
        raise SystemExit(YIELDED)
    context = replace(walker.context, worker=rank, workers=plan.workers, orders=plan.orders)
    try:
        _become(walker, context, plan, gathered)
    except FAILURES as error:
        generation = plan.orders.generation
        sys.stderr.write(f"headway: no switch to generation {generation}: {error}\n")
        if rank == 0 or not isinstance(error, SwitchError):
            _rescue(walker, gathered, generation)
        walker.desk.close()
        raise SystemExit(YIELDED) from None
    os.environ |= {"RANK": str(rank), "WORLD_SIZE": str(plan.workers)}
    walker.desk.joined(began_s)


def join(walker: Walker) -> None:
    """A newcomer is set up: it joins when the others are at a step boundary."""
    context = walker.context
    _warm_up()
    walker.desk.ready()
    meeting = Path((context.rendezvous or "").removeprefix("file://"))
    while not meeting.exists():
        time.sleep(LOOK_EVERY_S)
    if context.plan is None:
        raise SwitchError("a newcomer without a plan")
    plan = decode_plan(context.plan.read_bytes())
    _become(walker, replace(context, joins=False), plan, {})
    walker.desk.joined(None)


def go_on(walker: Walker) -> None:
    """Training begins or goes on: what setting up has changed is as it was saved."""
    saver, loader, context = walker.saver, walker.loader, walker.context
    if loader is not None:
        counts = saver.counts(loader.counts.size)
        loader.counts[:] = 0 if counts is None else counts
    random = saver.saved("random")
    if context.first and random is not None:
        set_random_state(random)
    elif not context.first:
        diverge(context.orders.generation, context.worker)
    walker.begin()
    saver.release()


def _become(walker: Walker, context: Context, plan: SwitchPlan, gathered: dict[str, Any]) -> None:
    exchange, saver, rule = walker.exchange, walker.saver, walker.steering.rule
    exchange.enter(
        context.worker,
        context.workers,
        rendezvous=plan.rendezvous,
        patience_s=plan.patience_s,
    )
    settled = sum(rank is not None for rank in plan.ranks)
    group = Group(exchange, context.worker, context.workers, settled)
    shared = share(saver.parts(), group, gathered) if context.workers > 1 else None
    saver.adopt(gathered if shared is None else shared.told, first=context.first)
    walker.enter(context)
    walker.steering.rule = rule
    if walker.loader is not None:
        walker.loader.worker = context.worker
        walker.meter.reads(walker.loader.samples)
    if shared is not None:
        if not context.first:
            saver.load(shared.state, of=shared.differs)
        _compare(saver, exchange, shared.kept)
        for replica in walker.replicas:
            replica.synchronise(same=True)
    exchange.be_patient()
    go_on(walker)


def _compare(saver: Saver, exchange: Exchange, kept: dict[tuple[Any, ...], int]) -> None:
    parts = sorted(saver.parts().items())
    same = exchange.equal([fingerprint(name, part, kept) for name, part in parts])
    differing = [name for (name, _), equal in zip(parts, same, strict=True) if not equal]
    if differing:
        raise SwitchError(f"{', '.join(differing)}: not the same on all workers")


def _rescue(walker: Walker, gathered: dict[str, Any], generation: int) -> None:
    """Save. Where states differ, worker 0's counts; else whoever comes first does it."""
    samples = gathered["cursor"]["samples"]
    walker.desk.saved(walker.saver.rescue(gathered, f"{generation} {samples}"), samples)


def _warm_up() -> None:
    """What the first step of a process pays for is paid before anybody waits for it."""
    dist.init_process_group(
        "gloo",
        store=dist.HashStore(),  # type: ignore[attr-defined]
        rank=0,
        world_size=1,
    )
    model = DistributedDataParallel(nn.Linear(1, 1))
    torch.autograd.backward(model(torch.zeros(1, 1)))
    del model
    dist.destroy_process_group()
