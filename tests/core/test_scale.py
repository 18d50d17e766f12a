"""Every code that a log may hold is explained to those who read it."""

from pathlib import Path

import pytest

from headway.core.scale import ScaleCode, Scaling

REASONS = Path(__file__).parents[2] / "docs" / "reference" / "reasons.md"


@pytest.mark.parametrize("code", ScaleCode)
def test_each_code_is_in_the_reference(code: ScaleCode) -> None:
    assert f"`{code}`" in REASONS.read_text()


def test_a_size_without_more_takes_nothing_away() -> None:
    assert Scaling(nodes=3).leaving == ()
    assert Scaling(nodes=3).code is ScaleCode.KEPT
