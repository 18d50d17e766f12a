"""What may come next by a rule."""

from collections.abc import Callable
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from headway.core.adaptation import Adaptation
from headway.core.predict.rules import OTHER, RULES, rule_of

Make = Callable[..., Adaptation]


@given(
    rule=st.sampled_from(sorted(RULES)),
    sizes=st.lists(st.integers(1, 99), min_size=1, max_size=6, unique=True),
    place=st.integers(0, 5),
)
def test_what_is_ahead_begins_with_the_present_and_keeps_the_order(
    rule: str, sizes: list[int], place: int
) -> None:
    adaptation = Adaptation(
        rule=rule, model="m", configurations=tuple(sizes), epochs=9, samples_per_epoch=1
    )
    present = sizes[place % len(sizes)]
    ahead = rule_of(adaptation).ahead(adaptation, present)
    assert ahead[0] == present
    assert ahead == (
        adaptation.configurations[sizes.index(present) :] if rule != "static" else ahead[:1]
    )


def test_a_size_outside_of_the_plan_stands_alone(adaptation: Make) -> None:
    assert rule_of(adaptation()).ahead(adaptation(), 17) == (17,)


def test_a_rule_that_nobody_knows_goes_through_its_configurations(adaptation: Make) -> None:
    mine = adaptation(rule="mine")
    assert rule_of(mine) is OTHER
    assert OTHER.ahead(mine, 32) == (32, 64, 128)


def test_a_new_rule_needs_a_method_and_a_name(adaptation: Make) -> None:
    @dataclass(frozen=True)
    class Halves:
        """From the largest down."""

        def ahead(self, adaptation: Adaptation, batch_size: int) -> tuple[int, ...]:
            return tuple(size for size in reversed(adaptation.configurations) if size <= batch_size)

    mine = adaptation(rule="halves")
    assert rule_of(mine, {"halves": Halves()}).ahead(mine, 64) == (64, 32, 16)
