"""Mixtures of resources bound the window that they relax."""

import pytest

from headway.core.solve.mixtures import relaxed
from headway.core.solve.window import Window
from headway.testing.windows import direct_optimum, random_window


@pytest.mark.parametrize("seed", range(20))
def test_every_mixture_has_an_optimum_above_the_windows(seed: int) -> None:
    window = random_window(seed, items=4, rounds=3, others=1 + seed % 2)
    best = direct_optimum(window)
    assert all(direct_optimum(_coarse(one)) >= best - 1e-6 for one in relaxed(window))


def test_the_first_is_gpus_alone_and_no_width_is_nothing() -> None:
    window = random_window(3, others=2)
    first, *mixed = relaxed(window)
    assert (first.width == window.width).all()
    assert first.capacity == window.capacity
    assert len(mixed) == 6  # two others, three pairs, all three
    assert all((one.width > 0).all() and not one.finely for one in mixed)


def _coarse(window: Window) -> Window:
    """In units that a mixed-integer program can bear; widths rounded down."""
    if window.finely:
        return window
    width = window.width * 100_000 // window.capacity
    return Window(
        value=window.value,
        left=window.left,
        width=width,
        capacity=100_000,
        price=window.price,
        tail=window.tail,
    )
