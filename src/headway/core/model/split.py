"""How a batch is shared out over GPUs and passes: one answer for models, agents and simulation."""

from typing import NamedTuple, TypeVar

from headway.core.errors import InvalidInputError
from headway.core.types import BatchContract, FloatArray
from headway.core.words import counted

Whole = TypeVar("Whole", int, FloatArray)


class Choice(NamedTuple):
    """How a job splits its batch: m, s, and the batch size M that a step really reads."""

    batch_per_gpu: int
    accum_steps: int
    batch_size: int


def fewest_passes(batch_size: Whole, gpus: Whole, most_per_gpu: Whole) -> tuple[Whole, Whole]:
    """(m, passes) of the fewest passes that fit in memory; whole numbers, also in arrays.

    Where the batch does not divide evenly some passes are shorter, and m is the longest.
    """
    passes = -(-batch_size // (gpus * most_per_gpu))
    return -(-batch_size // (gpus * passes)), passes


def split_batch(
    contract: BatchContract, batch_size: int, gpus: int, *, frozen: bool = False
) -> Choice:
    """This batch on so many GPUs, as far as the contract lets it.

    An adaptive batch gives way where it must: each GPU gets its least, and no more passes are made
    than are allowed. Any other batch stays as it is; GPUs that find no sample in it idle.

    Raises:
        InvalidInputError: a batch that may not change needs more passes than are allowed.
    """
    most = gpus * contract.max_batch_per_gpu * (contract.max_accum_steps + 1)
    if contract.adapts and not frozen:
        least = max(contract.initial_batch_size, gpus * contract.min_batch_per_gpu)
        batch_size = min(max(batch_size, least), contract.max_batch_size, most)
    if batch_size > most:
        raise InvalidInputError(
            f"a batch of {batch_size} needs more than {contract.max_accum_steps} accumulation "
            f"steps of {contract.max_batch_per_gpu} on {counted(gpus, 'GPU')}: allow more of "
            "either, or ask for more GPUs"
        )
    m, passes = fewest_passes(batch_size, gpus, contract.max_batch_per_gpu)
    return Choice(m, passes - 1, batch_size)
