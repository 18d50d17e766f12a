"""The state of every generator of random numbers that a training script draws from."""

import random
from typing import Any

import numpy as np
import torch


def random_state() -> dict[str, Any]:
    """As tensors and plain values, so that it can be loaded without unpickling code."""
    state = np.random.get_state(legacy=False)  # noqa: NPY002
    version, internal, gauss_next = random.getstate()
    return {
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state() if torch.cuda.is_available() else None,
        "numpy": [
            torch.from_numpy(state["state"]["key"].astype(np.int64)),
            state["state"]["pos"],
            state["has_gauss"],
            state["gauss"],
        ],
        "python": [version, list(internal), gauss_next],
    }


def set_random_state(state: dict[str, Any]) -> None:
    """Go on where ``random_state`` was taken."""
    torch.set_rng_state(state["torch"])
    if state["cuda"] is not None and torch.cuda.is_available():
        torch.cuda.set_rng_state(state["cuda"])
    keys, position, has_gauss, gauss = state["numpy"]
    numpys = ("MT19937", keys.numpy().astype(np.uint32), position, has_gauss, gauss)
    np.random.set_state(numpys)  # noqa: NPY002
    version, internal, gauss_next = state["python"]
    random.setstate((version, tuple(internal), gauss_next))


def diverge(*key: int) -> None:
    """Give this worker random numbers of its own: dropout must differ between workers."""
    seed = seed_of(torch.initial_seed(), *key)
    torch.manual_seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002
    random.seed(seed)


def seed_of(*key: int) -> int:
    """One seed from several numbers."""
    words = [part for number in key for part in (number % 2**32, number // 2**32 % 2**32)]
    return int(np.random.SeedSequence(words).generate_state(1, np.uint64)[0] >> 1)
