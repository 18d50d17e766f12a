"""Plans and regimes that are simple enough to be reckoned by hand."""

from collections.abc import Callable

import pytest

from headway.core.adaptation import Adaptation, Regime

Make = Callable[..., Adaptation]
Regimes = Callable[..., list[Regime]]


@pytest.fixture
def adaptation() -> Make:
    def make(
        *configurations: int,
        epochs: float = 100.0,
        rule: str = "gns",
        model: str = "LM",
        starts: tuple[float, ...] = (),
    ) -> Adaptation:
        return Adaptation(
            rule=rule,
            model=model,
            configurations=configurations or (16, 32, 64, 128),
            epochs=epochs,
            samples_per_epoch=1_000,
            starts=starts,
        )

    return make


@pytest.fixture
def regimes() -> Regimes:
    def make(*pairs: tuple[int, float]) -> list[Regime]:
        return [Regime(batch_size=size, began_epoch=float(began)) for size, began in pairs]

    return make
