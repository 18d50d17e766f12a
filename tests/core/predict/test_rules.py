"""What may come next by a rule, and when a live job decides."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.plans import BatchPlan
from headway.core.predict.rules import OTHER, RULES, Accordion, Epoch, NoiseScale, rule_of

Plan = Callable[..., BatchPlan]


@given(
    rule=st.sampled_from(sorted(RULES)),
    sizes=st.lists(st.integers(1, 99), min_size=1, max_size=6, unique=True),
    place=st.integers(0, 5),
)
def test_what_is_ahead_begins_with_the_present_and_keeps_the_order(
    rule: str, sizes: list[int], place: int
) -> None:
    plan = BatchPlan(
        rule=rule, model="m", configurations=tuple(sizes), epochs=9, samples_per_epoch=1
    )
    present = sizes[place % len(sizes)]
    ahead = rule_of(plan).ahead(plan, present)
    assert ahead[0] == present
    assert ahead == (plan.configurations[sizes.index(present) :] if rule != "static" else ahead[:1])


def test_a_size_outside_of_the_plan_stands_alone(plan: Plan) -> None:
    assert rule_of(plan()).ahead(plan(), 17) == (17,)


def test_a_rule_that_nobody_knows_goes_through_its_configurations(plan: Plan) -> None:
    assert rule_of(plan(rule="mine")) is OTHER
    assert OTHER.ahead(plan(), 32) == (32, 64, 128)
    assert OTHER.next_batch_size(plan(), 32, [Epoch(1.0, 1.0)]) == 32


def test_a_new_rule_needs_two_methods_and_a_name(plan: Plan) -> None:
    @dataclass(frozen=True)
    class Halves:
        """From the largest down."""

        decides_every: int = 1

        def ahead(self, plan: BatchPlan, batch_size: int) -> tuple[int, ...]:
            return tuple(size for size in reversed(plan.configurations) if size <= batch_size)

        def next_batch_size(self, plan: BatchPlan, batch_size: int, measured: object) -> int:
            return max(batch_size // 2, plan.configurations[0])

    mine = plan(rule="halves")
    assert rule_of(mine, {"halves": Halves()}).ahead(mine, 64) == (64, 32, 16)


def epochs(norms: list[float], noise: list[float] | None = None) -> list[Epoch]:
    return [Epoch(*pair) for pair in zip(norms, noise or norms, strict=True)]


@pytest.mark.parametrize(
    ("norms", "expected"),
    [
        ([9.0] * 10, 16),  # nothing to compare with yet: critical
        ([9.0] * 19, 64),  # not at the end of an interval: as it is
        ([9.0] * 19 + [5.0], 128),  # 44 % less: large
        ([9.0] * 19 + [4.5], 16),  # 50 %: critical
        ([9.0] * 19 + [14.0], 16),  # a growth counts like a fall
    ],
)
def test_accordion_is_small_while_the_norm_changes_by_half(
    plan: Plan, norms: list[float], expected: int
) -> None:
    """Accordion's rule as Shockwave's job runs it: every 10 epochs, threshold 50 %."""
    assert Accordion().next_batch_size(plan(), 64, epochs(norms)) == expected


@pytest.mark.parametrize(
    ("noise", "present", "expected"),
    [
        ([1.0] * 9 + [2.0], 16, 32),  # above the mean of the last ten
        ([1.0] * 9 + [0.5], 16, 16),
        ([1.0] * 10, 16, 16),  # not above
        ([1.0] * 8 + [2.0], 16, 16),  # not at the end of an interval
        ([1.0] * 9 + [2.0], 128, 128),  # the cap
        ([9.0] * 10 + [1.0] * 9 + [2.0], 64, 128),  # what lies further back does not count
    ],
)
def test_the_noise_scale_rule_goes_up_when_noise_grows(
    plan: Plan, noise: list[float], present: int, expected: int
) -> None:
    """The script behind Shockwave's gns jobs: every 10 epochs, against the mean of the ten."""
    assert NoiseScale().next_batch_size(plan(), present, epochs(noise)) == expected


def test_a_declared_schedule_is_followed_to_the_epoch(plan: Plan) -> None:
    declared = plan(16, 32, 64, rule="declared", starts=(0.0, 3.0, 7.5))
    rule = rule_of(declared)
    seen = [rule.next_batch_size(declared, 16, epochs([1.0] * done)) for done in range(10)]
    assert seen == [16, 16, 16, 32, 32, 32, 32, 32, 64, 64]


def test_static_stays(plan: Plan) -> None:
    rule = rule_of(plan(rule="static"))
    assert rule.next_batch_size(plan(), 32, epochs([1.0] * 10)) == 32
