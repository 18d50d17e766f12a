"""What a worker makes anew for each generation that it is part of."""

import time

from headway.agent.context import Context
from headway.agent.meter import Meter
from headway.agent.probe import GradientProbe
from headway.agent.tuner import Tuner


def meter_of(context: Context, probe: GradientProbe | None = None) -> Meter:
    """Measurements among so many workers; ``probe``: of the same worker among others."""
    contract = context.orders.batch
    return Meter(
        workers=context.workers,
        nodes=context.nodes,
        initial_batch_size=contract.initial_batch_size,
        halves=contract.adapts and context.orders.adapts,
        gpu_type=context.gpu_type,
        probe=probe,
    )


def tuner_of(context: Context) -> Tuner:
    """The choice of a batch on so many workers."""
    return Tuner(
        context.orders.batch,
        tunes=context.orders.adapts,
        workers=context.workers,
        nodes=context.nodes,
        clock=time.perf_counter,
        gpu_type=context.gpu_type,
        throughput=context.throughput,
    )
