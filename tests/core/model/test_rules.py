"""Accordion and GNS on courses of gradient norms and noise scales that can be followed by hand."""

from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.model.rules import EpochSigns, RuleState, after_epoch, configurations
from headway.core.types import BatchContract, BatchMode, BatchRule, ChangeCode, RuleName


def contract(name: RuleName, every: int = 1, eta: float = 0.5) -> BatchContract:
    return BatchContract(
        initial_batch_size=32,
        max_batch_size=256,
        max_batch_per_gpu=256,
        mode=BatchMode.SCHEDULE,
        rule=BatchRule(name=name, every_epochs=every, eta=eta),
    )


def course(batch: BatchContract, signs: list[EpochSigns], *, may: bool = True) -> list[int]:
    """The batch size after each epoch."""
    state, sizes = RuleState(batch_size=32), []
    assert batch.rule is not None
    for sign in signs:
        state, _ = after_epoch(batch, batch.rule, state, sign, may=may)
        sizes.append(state.batch_size)
    return sizes


def norms(*values: float | None) -> list[EpochSigns]:
    return [EpochSigns(gradient_norm=value) for value in values]


def noises(*values: float | None) -> list[EpochSigns]:
    return [EpochSigns(noise_scale=value) for value in values]


def test_accordion_leaves_the_critical_regime_and_comes_back() -> None:
    """Norms that halve are critical, norms that stay are not; a jump is critical again."""
    batch = contract(RuleName.ACCORDION)
    assert course(batch, norms(8, 4, 2, 1.5, 1.4, 3, 2.9)) == [32, 32, 32, 256, 256, 32, 256]


def test_eta_is_the_share_that_is_critical() -> None:
    assert course(contract(RuleName.ACCORDION, eta=0.2), norms(10, 8.1, 6.4)) == [32, 256, 32]


def test_accordion_looks_every_so_many_epochs_and_compares_those() -> None:
    batch = contract(RuleName.ACCORDION, every=3)
    assert course(batch, norms(9, 9, 9, 1, 1, 8, 8, 8, 1)) == [32] * 5 + [256] * 3 + [32]


@pytest.mark.parametrize("broken", [None, nan, inf])
def test_a_norm_that_was_not_measured_changes_nothing(broken: float | None) -> None:
    assert course(contract(RuleName.ACCORDION), norms(5, broken, 5)) == [32, 32, 256]


def test_gns_doubles_while_the_noise_scale_exceeds_the_batch() -> None:
    batch = contract(RuleName.GNS)
    assert course(batch, noises(20, 40, None, 64, 65, 1e6, 1e6)) == [32, 64, 64, 64, 128, 256, 256]


def test_every_batch_of_a_course_is_one_of_the_configurations() -> None:
    assert configurations(contract(RuleName.GNS)) == (32, 64, 128, 256)
    assert configurations(contract(RuleName.ACCORDION)) == (32, 256)


signs = st.builds(
    EpochSigns,
    gradient_norm=st.none() | st.floats(min_value=0) | st.just(nan),
    noise_scale=st.none() | st.floats(min_value=0, allow_nan=False),
)


@given(st.sampled_from(RuleName), st.integers(1, 4), st.lists(signs, max_size=30))
def test_whatever_is_measured_the_owner_s_bounds_hold(
    name: RuleName, every: int, measured: list[EpochSigns]
) -> None:
    batch = contract(name, every)
    sizes = course(batch, measured)
    assert set(sizes) <= set(configurations(batch))
    if name is RuleName.GNS:
        assert sizes == sorted(sizes)
    assert course(batch, measured, may=False) == [32] * len(measured)


def test_a_change_says_why() -> None:
    batch = contract(RuleName.ACCORDION)
    assert batch.rule is not None
    state = RuleState(batch_size=32, gradient_norm=1.0)
    state, code = after_epoch(batch, batch.rule, state, EpochSigns(gradient_norm=1.0), may=True)
    assert code is ChangeCode.CALM
    state, code = after_epoch(batch, batch.rule, state, EpochSigns(gradient_norm=9.0), may=True)
    assert code is ChangeCode.CRITICAL
