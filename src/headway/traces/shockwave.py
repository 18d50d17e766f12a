"""When jobs of Shockwave's traces change their batch size: tables of the published simulator.

The traces name a rule (accordion, gns) and not the epochs of its changes; those are facts of the
published simulator (uw-mad-dash/shockwave, MIT), keyed by model, per-worker batch size and number
of workers. Sizes here are per worker.
"""

from typing import NamedTuple

from headway.core.adaptation import STATIC

ACCORDION, GNS = "accordion", "gns"
MODES = (STATIC, ACCORDION, GNS)
EPOCH_EXAMPLES = {  # one worker's pass over its data set
    "ResNet-18": 50_000,
    "ResNet-50": 100_000,
    "Transformer": 10_000,
    "LM": 59_675,
    "Recommendation": 117_907,
    "CycleGAN": 6_287,
    "A3C": 4,
}
LARGEST = {"ResNet-18": 256, "ResNet-50": 128, "LM": 80, "Recommendation": 8_192}
HELD_SHARE = 0.3  # of a job's epochs that Accordion's jobs begin with at the initial size


class Key(NamedTuple):
    """What a table of the noise-scale rule depends on."""

    model: str
    batch_size: int
    workers: int


DOUBLES_AT: dict[Key, tuple[int, ...]] = {  # epochs in which the batch doubles once more
    Key("ResNet-18", 16, 1): (31, 41, 51, 71),
    Key("ResNet-18", 32, 1): (21, 31, 51),
    Key("ResNet-18", 64, 1): (11, 31),
    Key("ResNet-18", 128, 1): (11,),
    Key("ResNet-18", 16, 2): (21, 31, 91, 111),
    Key("ResNet-18", 32, 2): (11, 21, 41),
    Key("ResNet-18", 64, 2): (21, 41),
    Key("ResNet-18", 128, 2): (41,),
    Key("ResNet-18", 16, 4): (11, 21, 81, 91),
    Key("ResNet-18", 32, 4): (21, 31, 61),
    Key("ResNet-18", 64, 4): (11, 61),
    Key("ResNet-18", 128, 4): (11,),
    Key("ResNet-50", 64, 1): (101,),
    Key("ResNet-50", 32, 2): (101, 111),
    Key("ResNet-50", 64, 2): (81,),
    Key("ResNet-50", 32, 4): (131, 221),
    Key("ResNet-50", 64, 4): (191,),
    Key("LM", 5, 1): (31, 41, 61, 71),
    Key("LM", 10, 1): (11, 21, 41),
    Key("LM", 20, 1): (11, 41),
    Key("LM", 40, 1): (11,),
    Key("LM", 5, 2): (31, 51, 61, 71),
    Key("LM", 10, 2): (11, 31, 41),
    Key("LM", 20, 2): (31, 41),
    Key("LM", 40, 2): (11,),
    Key("LM", 5, 4): (11, 31, 71, 91),
    Key("LM", 10, 4): (11, 31, 61),
    Key("LM", 20, 4): (11, 61),
    Key("LM", 40, 4): (61,),
    Key("Recommendation", 512, 1): (21, 41, 71, 91),
    Key("Recommendation", 1024, 1): (21, 51, 91),
    Key("Recommendation", 2048, 1): (21, 41),
    Key("Recommendation", 4096, 1): (41,),
}


def configurations(mode: str, key: Key) -> tuple[int, ...]:
    """The sizes that a job's rule can reach, in order; a short job may end before the last."""
    initial = key.batch_size
    if mode == ACCORDION and initial < LARGEST.get(key.model, 0):
        return (initial, LARGEST[key.model])
    if mode == GNS:
        return tuple(initial * 2**times for times in range(len(DOUBLES_AT.get(key, ())) + 1))
    return (initial,)


def batch_sizes(mode: str, key: Key, epochs: int) -> tuple[int, ...]:
    """The size in each epoch of a job of so many epochs."""
    if mode == ACCORDION:
        return tuple(_accordion(key, epoch, epochs) for epoch in range(epochs))
    if mode == GNS:
        return _gns(key, epochs)
    return (key.batch_size,) * epochs


def _accordion(key: Key, epoch: int, epochs: int) -> int:
    """The largest size outside of critical regimes, once the first part of the job is over."""
    if epoch <= HELD_SHARE * epochs or _critical(key, epoch):
        return key.batch_size
    return LARGEST.get(key.model, key.batch_size)


def _critical(key: Key, epoch: int) -> bool:
    """Whether the published list has this epoch as critical."""
    match key.model:
        case "ResNet-18":
            first = 20 if key.batch_size == 256 else 10
            return epoch < first or 150 <= epoch < 160 or 250 <= epoch < 260
        case "ResNet-50":
            return epoch % 30 < 10
        case "LM":
            return epoch < 10
        case "Recommendation":
            first = {512: 30, 1024: 30, 2048: 40}.get(key.batch_size, 10)
            return epoch < first or 60 <= epoch < 70 or 80 <= epoch < 90
    return True


def _gns(key: Key, epochs: int) -> tuple[int, ...]:
    """Doublings at fixed epochs.

    The published tables end one epoch early: a job whose last epoch lies behind the second
    doubling spends that epoch at its initial size. The published figures include it.
    """
    times = [sum(first <= epoch for first in DOUBLES_AT.get(key, ())) for epoch in range(epochs)]
    if times and times[-1] > 1:
        times[-1] = 0
    return tuple(key.batch_size * 2**each for each in times)
