"""Hypothesis strategies for the batch contract: bounds and records."""

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from headway.core.types import (
    BatchChange,
    BatchContract,
    BatchMode,
    BatchRule,
    ChangeCode,
    RuleName,
)

NAMES = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), max_size=12)
COUNTS = st.integers(0, 10**9)


@st.composite
def batch_contracts(draw: st.DrawFn) -> BatchContract:
    """Bounds that agree with each other and with the mode."""
    mode = draw(st.sampled_from(BatchMode))
    initial = draw(st.integers(1, 4096))
    may_grow = mode in {BatchMode.ADAPTIVE, BatchMode.SCHEDULE}
    growth = draw(st.integers(1, 32)) if may_grow else 1
    least = draw(st.integers(1, initial))
    return BatchContract(
        initial_batch_size=initial,
        max_batch_size=initial * growth,
        min_batch_per_gpu=least,
        max_batch_per_gpu=draw(st.integers(least, 8192)),
        max_accum_steps=draw(st.integers(0, 15)),
        mode=mode,
        rule=BatchRule(name=draw(st.sampled_from(RuleName)))
        if mode is BatchMode.SCHEDULE
        else None,
        max_lr_factor=draw(st.none() | st.floats(1, 100)),
        freeze_before_samples=draw(st.sampled_from([0, 10_000])),
        freeze_after_samples=draw(st.sampled_from([None, 10**6])),
    )


def batch_changes() -> SearchStrategy[BatchChange]:
    """A record of the batch contract."""
    return st.builds(
        BatchChange,
        samples=COUNTS,
        gpus=st.integers(1, 64),
        batch_per_gpu=st.integers(1, 4096),
        accum_steps=st.integers(0, 15),
        old_batch_size=st.integers(1, 10**6),
        new_batch_size=st.integers(1, 10**6),
        lr_factor=st.floats(0.01, 100),
        lr_rule=st.sampled_from(["adascale", "linear", "sqrt", "legw", "hold"]),
        noise_scale=st.none() | st.floats(0, 1e9),
        noise_scale_error=st.none() | st.floats(0, 1e9),
        predicted_gain=st.floats(0, 100),
        why=NAMES,
        code=st.sampled_from(ChangeCode),
        old_gpus=st.integers(0, 64),
        halve_every=st.integers(0, 64),
        lr=st.none() | st.floats(0, 10),
        betas=st.none() | st.tuples(st.floats(0, 1), st.floats(0, 1)),
    )
