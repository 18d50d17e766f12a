"""Laws of an outlook: mass is conserved, order is kept, and the own future is never read."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.adaptation import Adaptation, Regime
from headway.core.predict.history import History, past
from headway.core.predict.outlook import SURE, outlook

Make = Callable[..., Adaptation]
Regimes = Callable[..., list[Regime]]


def ladder(sizes: int, epochs: float, rule: str = "gns") -> Adaptation:
    return Adaptation(
        rule=rule,
        model="m",
        configurations=tuple(16 * 2**place for place in range(sizes)),
        epochs=epochs,
        samples_per_epoch=100,
    )


@st.composite
def trajectories(draw: st.DrawFn, sizes: int = 5) -> tuple[Adaptation, list[Regime]]:
    adaptation = ladder(sizes, draw(st.integers(20, 200)))
    last = int(adaptation.epochs) - 1
    starts = draw(st.lists(st.integers(1, last), max_size=sizes - 1, unique=True))
    begun = zip(adaptation.configurations, [0, *sorted(starts)], strict=False)
    return adaptation, [Regime(batch_size=size, began_epoch=float(first)) for size, first in begun]


@given(mine=trajectories(), others=st.lists(trajectories(), max_size=5))
def test_the_epochs_ahead_sum_to_those_that_were_left(
    mine: tuple[Adaptation, list[Regime]], others: list[tuple[Adaptation, list[Regime]]]
) -> None:
    adaptation, begun = mine
    history = History.of(past(each, run, each.epochs) for each, run in others)
    found = outlook(adaptation, begun, history)
    assert sum(found.expected) == pytest.approx(adaptation.epochs - begun[-1].began_epoch)
    assert len(found.expected) == len(found.batch_sizes)
    assert found.batch_sizes[0] == begun[-1].batch_size
    assert min(found.expected) > 0
    assert found.concentration >= 1


def test_without_any_news_every_configuration_takes_as_long(adaptation: Make) -> None:
    """Dir(N/K, ..., N/K), Shockwave's prior."""
    found = outlook(adaptation(epochs=100.0), ())
    assert found.batch_sizes == (16, 32, 64, 128)
    assert found.expected == (25.0,) * 4
    assert found.learned_from == 0


def test_the_restatement_rule(adaptation: Make, regimes: Regimes) -> None:
    """Dir(m_1, ..., m_k, S_k, ..., S_k) with S_k = (N - sum(m)) / (K - k)."""
    found = outlook(adaptation(epochs=100.0), regimes((16, 0), (32, 40)))
    assert found.batch_sizes == (32, 64, 128)
    assert found.expected == (20.0,) * 3
    assert found.began_epoch == 40.0


def test_behind_the_last_configuration_the_rest_is_certain(
    adaptation: Make, regimes: Regimes
) -> None:
    found = outlook(adaptation(epochs=100.0), regimes((16, 0), (32, 40), (64, 50), (128, 60)))
    assert (found.batch_sizes, found.expected) == ((128,), (40.0,))


def test_a_batch_that_went_down_may_grow_again(adaptation: Make, regimes: Regimes) -> None:
    """Accordion falls back in critical regimes; the published predictor knows no order at all."""
    accordion = adaptation(16, 256, rule="accordion")
    found = outlook(accordion, regimes((16, 0), (256, 31), (16, 60)))
    assert (found.batch_sizes, found.expected) == ((16, 256), (20.0, 20.0))


def test_the_prior_is_learned_from_other_jobs_of_the_model(
    adaptation: Make, regimes: Regimes
) -> None:
    mine, other = adaptation(epochs=80.0), adaptation(epochs=100.0)
    ran = regimes((16, 0), (32, 31), (64, 41), (128, 51))
    history = History.of([past(other, ran, 100.0)])
    found = outlook(mine, regimes((16, 0)), history)
    assert found.batch_sizes == (16, 32, 64, 128)
    assert found.expected == (31.0, 10.0, 10.0, 29.0)
    assert found.learned_from == 1
    stranger = outlook(adaptation(epochs=80.0, model="ResNet-18"), regimes((16, 0)), history)
    assert stranger == outlook(adaptation(epochs=80.0), regimes((16, 0)))


@given(future=st.lists(st.integers(11, 99), min_size=1, max_size=3, unique=True))
def test_the_own_future_is_not_read(future: list[int]) -> None:
    """The published predictor is given every epoch's batch size and duration beforehand. Here two
    jobs that have shown the same are foreseen alike, whatever comes."""
    adaptation = ladder(4, 100.0)
    starts = [0, *sorted(future)]
    trajectory = [
        Regime(batch_size=size, began_epoch=float(first))
        for size, first in zip(adaptation.configurations, starts, strict=False)
    ]
    shown = [regime for regime in trajectory if regime.began_epoch <= 10]
    history = History.of([past(adaptation, shown, 10.0)])
    assert outlook(adaptation, shown, history) == outlook(adaptation, trajectory[:1])


def test_a_declared_schedule_is_known(adaptation: Make, regimes: Regimes) -> None:
    declared = adaptation(16, 32, 64, rule="declared", epochs=10.0, starts=(0.0, 3.0, 7.0))
    first = outlook(declared, ())
    assert (first.batch_sizes, first.expected) == ((16, 32, 64), (3.0, 4.0, 3.0))
    assert first.concentration == SURE
    later = outlook(declared, regimes((16, 0), (32, 3)))
    assert (later.batch_sizes, later.expected) == ((32, 64), (4.0, 3.0))


def test_a_schedule_that_reaches_beyond_the_end(adaptation: Make, regimes: Regimes) -> None:
    declared = adaptation(16, 32, 64, rule="declared", epochs=5.0, starts=(0.0, 3.0, 7.0))
    assert outlook(declared, ()).expected == (3.0, 2.0)
    assert outlook(declared, regimes((16, 5))).expected == (0.0,)


def test_an_accurate_past_makes_sure(adaptation: Make, regimes: Regimes) -> None:
    def concentration(*starts: float) -> float:
        pasts = []
        for index, start in enumerate(starts):
            other = adaptation(16, 32, epochs=100.0 + 10 * index)
            pasts.append(past(other, regimes((16, 0), (32, start)), other.epochs))
        return outlook(adaptation(16, 32), regimes((16, 0)), History.of(pasts)).concentration

    assert concentration(31, 31, 31) > concentration(21, 41, 31) >= 2
