"""Makes a job from the environment; the only place that builds things."""

import os

import torch

from headway.agent.alone import LoneJob
from headway.agent.checkpoint import CheckpointStore
from headway.agent.context import from_environment
from headway.agent.exchange import Exchange, meet
from headway.agent.job import Job
from headway.agent.loop import Loop
from headway.agent.saving import Saver
from headway.agent.scheduled import ScheduledJob
from headway.agent.trial import Trial
from headway.protocol.environment import CHECKPOINTS, NEWS_FD, RENDEZVOUS, TRIAL


def attached(*, checkpoint_every_s: float) -> Job:
    """The job of this process."""
    if TRIAL in os.environ:
        return _trial()
    context = from_environment()
    if context is None:
        return LoneJob()
    cuda = torch.cuda.is_available()
    if not cuda:
        torch.set_num_threads(1)  # a slot is one core, and a neighbour has the next one
    else:
        torch.cuda.set_device(context.local_worker % torch.cuda.device_count())
    if context.workers > 1 and not context.joins:
        meet(context.rendezvous, context.worker, context.workers)
    exchange = Exchange(context.worker, context.workers)
    store = CheckpointStore(context.job_dir / CHECKPOINTS)
    saver = Saver(store, exchange, first=context.first, joins=context.joins)
    return ScheduledJob(context, Loop(context, saver, exchange, checkpoint_every_s))


def _trial() -> Job:
    env = os.environ
    trial = Trial(int(env[TRIAL]), int(env[NEWS_FD]))
    if torch.cuda.is_available():
        torch.cuda.set_device(trial.device)
    if trial.workers > 1:
        meet(env[RENDEZVOUS], trial.worker, trial.workers)
    return trial
