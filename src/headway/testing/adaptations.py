"""Hypothesis strategies for jobs that change their batch size by themselves."""

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from headway.core.adaptation import Adaptation, Regime

BATCH_SIZES = st.integers(1, 10**6)
EPOCHS = st.floats(0, 1e6)


def adaptations() -> SearchStrategy[Adaptation]:
    """What an owner might say."""
    return st.builds(
        Adaptation,
        rule=st.sampled_from(["static", "accordion", "gns", "declared", "other"]),
        model=st.text(min_size=1, max_size=8),
        configurations=st.lists(BATCH_SIZES, min_size=1, max_size=4).map(tuple),
        epochs=st.floats(0.01, 1e6),
        samples_per_epoch=st.integers(1, 10**9),
        starts=st.lists(EPOCHS, max_size=3).map(tuple),
    )


def regimes() -> SearchStrategy[tuple[Regime, ...]]:
    """What an agent might report of them."""
    one = st.builds(
        Regime,
        batch_size=BATCH_SIZES,
        began_epoch=EPOCHS,
        epoch_s=st.none() | st.floats(1e-6, 1e9),
        gpus=st.integers(0, 64),
    )
    return st.lists(one, max_size=3).map(tuple)
