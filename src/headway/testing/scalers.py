"""One job alone on nodes that a rule sizes, and what the rule wants for it."""

from dataclasses import replace

import numpy as np

from headway.core.policy.pollux import Pollux
from headway.core.policy.probe import Probe
from headway.core.policy.scalers import Scaler, Size
from headway.core.scale import Scaling
from headway.core.types import Snapshot
from headway.testing.snapshots import bounds, job, nodes, report, snapshot

SIXTEEN = Size(present=4, asked=4, least=1, most=16)


def training(held: int, *, noise_scale: float = 5_000.0) -> Snapshot:
    """One job on four nodes that has held so many GPUs."""
    view = job("a", gpus=bounds(most=64))
    view = replace(view, max_gpus_held=held, report=report(noise_scale=noise_scale))
    return snapshot(nodes(4, 4, 4, 4), view)


def want(scaler: Scaler, seen: Snapshot, size: Size = SIXTEEN) -> tuple[Scaling, Probe]:
    """What it wants, and whom it asked; the size that is there was asked about before."""
    policy = Pollux()
    rng = np.random.default_rng(0)
    seen = scaler.view(seen)
    probe = Probe(policy=policy, seen=seen, memory=policy.start(), rng=rng)
    return scaler.want(probe, size, probe.gain(size.present)), probe
