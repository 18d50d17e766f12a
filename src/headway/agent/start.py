"""Makes a job from the environment; the only place that builds things."""

import torch
import torch.distributed as dist

from headway.agent.alone import LoneJob
from headway.agent.checkpoint import CheckpointStore
from headway.agent.context import Context, from_environment
from headway.agent.exchange import Exchange
from headway.agent.job import Job
from headway.agent.loop import Loop
from headway.agent.saving import Saver
from headway.agent.scheduled import ScheduledJob
from headway.protocol.environment import CHECKPOINTS


def attached(*, checkpoint_every_s: float) -> Job:
    """The job of this process."""
    context = from_environment()
    if context is None:
        return LoneJob()
    cuda = torch.cuda.is_available()
    if not cuda:
        torch.set_num_threads(1)  # a slot is one core, and a neighbour has the next one
    if context.workers > 1:
        _meet(context, cuda=cuda)
    exchange = Exchange(context.worker, context.workers)
    store = CheckpointStore(context.job_dir / CHECKPOINTS)
    saver = Saver(store, exchange, first=context.first)
    return ScheduledJob(context, Loop(context, saver, exchange, checkpoint_every_s))


def _meet(context: Context, *, cuda: bool) -> None:
    """Join the other workers of this generation. Numbers to agree on stay on the host."""
    if cuda:
        torch.cuda.set_device(context.local_worker % torch.cuda.device_count())
    dist.init_process_group(
        "cpu:gloo,cuda:nccl" if cuda else "gloo",
        init_method=context.rendezvous,
        rank=context.worker,
        world_size=context.workers,
    )
