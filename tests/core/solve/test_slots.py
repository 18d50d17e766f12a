"""Slots and whole bins: choices against enumeration, arrangements as laws."""

from itertools import combinations, product
from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.solve.outcome import Status
from headway.core.solve.slots import Bins, Options, Shapes, arrange, choose
from headway.core.types import IntArray

SEEDS = st.integers(0, 2**32 - 1)


def bins(*size: int, kind: tuple[int, ...] = (), occupied: tuple[int, ...] = ()) -> Bins:
    sizes = np.array(size, dtype=np.int64)
    return Bins(
        kind=np.array(kind or (0,) * len(size), dtype=np.int64),
        size=sizes,
        room=sizes - np.array(occupied or (0,) * len(size), dtype=np.int64),
    )


def random_bins(rng: np.random.Generator) -> Bins:
    size = rng.integers(1, 8, rng.integers(1, 5))
    occupied = np.where(rng.random(len(size)) < 0.2, rng.integers(0, size + 1), 0)
    return Bins(kind=rng.integers(0, 2, len(size)), size=size, room=size - occupied)


def random_options(rng: np.random.Generator, there: Bins) -> tuple[Options, np.ndarray]:
    """Some shapes for each of a few items, most of them better than nothing."""
    shapes = Shapes.of(there, 64)
    items = int(rng.integers(1, 5))
    item, shape = np.nonzero(rng.random((items, len(shapes.kind))) < 0.6)
    options = Options(item=item, shape=shapes.at(shape), cost=rng.uniform(-1, 1, len(item)))
    return options, rng.uniform(0.5, 1.5, items)


def triples(options: Options, chosen: tuple[int, ...]) -> list[tuple[int, int, int]]:
    of = options.shape
    return [(int(of.kind[c]), int(of.unit[c]), int(of.number[c])) for c in chosen if c >= 0]


def fits(there: Bins, wanted: list[tuple[int, int, int]]) -> bool:
    """Whether some arrangement exists; written apart from the code, by search."""
    rows = list(zip(there.kind.tolist(), there.size.tolist(), there.room.tolist(), strict=True))

    def search(left: list[int], rest: list[tuple[int, int, int]]) -> bool:
        if not rest:
            return True
        kind, unit, number = rest[0]
        slot = number == 1 and unit in {1, 2, 4, 8}
        able = [
            index
            for index, (own, size, _) in enumerate(rows)
            if own == kind and (left[index] >= unit if slot else size == left[index] == unit)
        ]
        return any(
            search([r - unit * (i in taken) for i, r in enumerate(left)], rest[1:])
            for taken in combinations(able, number)
        )

    return search([room for *_, room in rows], wanted)


def least_cost(there: Bins, options: Options, nothing: np.ndarray) -> float:
    least = inf
    own = [[-1, *np.flatnonzero(options.item == item).tolist()] for item in range(len(nothing))]
    for chosen in product(*own):
        costs = [options.cost[c] if c >= 0 else nothing[item] for item, c in enumerate(chosen)]
        if sum(costs) < least and fits(there, triples(options, chosen)):
            least = float(sum(costs))
    return least


@given(seed=SEEDS)
def test_a_choice_is_the_best_that_can_be_arranged(seed: int) -> None:
    """So the sums are exact: they forbid no arrangement and allow nothing else."""
    rng = np.random.default_rng(seed)
    there = random_bins(rng)
    options, nothing = random_options(rng, there)
    chosen = choose(there, options, nothing, rel_gap=0.0)
    assert chosen.outcome.status is Status.OPTIMAL
    assert chosen.option is not None
    assert fits(there, triples(options, tuple(chosen.option.tolist())))
    assert chosen.outcome.objective == pytest.approx(least_cost(there, options, nothing), abs=1e-6)


@given(seed=SEEDS)
def test_whatever_is_chosen_is_arranged_wherever_things_lay(seed: int) -> None:
    rng = np.random.default_rng(seed)
    there = random_bins(rng)
    options, nothing = random_options(rng, there)
    chosen = choose(there, options, nothing).option
    assert chosen is not None
    taken = options.at(chosen[chosen >= 0])
    before = np.zeros((len(nothing), len(there.room)), dtype=np.int64)
    for index, item in enumerate(taken.item.tolist()):
        shape = taken.shape.at(np.array([index]))
        able = np.flatnonzero((there.kind == shape.kind) & (there.size >= shape.unit))
        if rng.random() < 0.7 and len(able) >= shape.number[0]:
            before[item, rng.permutation(able)[: shape.number[0]]] = shape.unit
    pieces = arrange(there, taken, before)
    assert (pieces.sum(axis=0) <= there.room).all()
    for index, item in enumerate(taken.item.tolist()):
        on = np.flatnonzero(pieces[item])
        assert len(on) == taken.shape.number[index]
        assert (pieces[item, on] == taken.shape.unit[index]).all()
        assert (there.kind[on] == taken.shape.kind[index]).all()
        if taken.shape.whole[index]:
            assert (pieces[item, on] == there.size[on]).all()
    unnamed = np.setdiff1d(np.arange(len(nothing)), taken.item)
    assert not pieces[unnamed].any()


@given(seed=SEEDS)
def test_what_lies_well_stays(seed: int) -> None:
    rng = np.random.default_rng(seed)
    there = random_bins(rng)
    options, nothing = random_options(rng, there)
    chosen = choose(there, options, nothing).option
    assert chosen is not None
    taken = options.at(chosen[chosen >= 0])
    shuffled = taken.at(rng.permutation(len(taken.item)))
    lying = arrange(there, shuffled, np.zeros((len(nothing), len(there.room)), dtype=np.int64))
    assert arrange(there, taken, lying).tolist() == lying.tolist()


def slots(*unit: int) -> Options:
    count = len(unit)
    one = np.ones(count, dtype=np.int64)
    shape = Shapes(kind=0 * one, unit=np.array(unit, dtype=np.int64), number=one)
    return Options(item=np.arange(count), shape=shape, cost=np.zeros(count))


def lying(*rows: tuple[int, ...]) -> IntArray:
    return np.array(rows, dtype=np.int64)


def test_the_smaller_one_makes_room_for_the_larger() -> None:
    """Two bins hold 1 each; a slot of 4 is wanted: one of them joins the other."""
    pieces = arrange(bins(4, 4), slots(1, 1, 4), lying((1, 0), (0, 1), (0, 0)))
    assert pieces.tolist() == [[0, 1], [0, 1], [4, 0]]


def test_the_least_is_moved() -> None:
    pieces = arrange(bins(4, 4), slots(2, 1, 4), lying((2, 0), (0, 1), (0, 0)))
    assert pieces.tolist() == [[2, 0], [1, 0], [0, 4]]


def test_a_newcomer_takes_the_fullest_bin_that_fits() -> None:
    pieces = arrange(bins(4, 4, 4), slots(1, 2, 2), lying((0, 1, 0), (2, 0, 0), (0, 0, 0)))
    assert pieces[2].tolist() == [2, 0, 0]


def test_shapes_are_powers_of_two_in_a_bin_and_whole_bins_of_a_size() -> None:
    """Two bins of 4 and one of 6; a third of 4 is occupied in part."""
    shapes = Shapes.of(bins(4, 6, 4, 4, occupied=(0, 0, 0, 1)), most=8)
    parts = zip(shapes.unit.tolist(), shapes.number.tolist(), shapes.whole.tolist(), strict=True)
    assert list(parts) == [
        (1, 1, False),
        (2, 1, False),
        (4, 1, False),
        (6, 1, True),
        (4, 2, True),
    ]
    assert shapes.below().tolist() == [0, 1, 2, 4, 6]
    assert Shapes.of(bins(4, 6), most=4).total.tolist() == [1, 2, 4]


def test_shapes_lie_in_one_kind() -> None:
    shapes = Shapes.of(bins(2, 2, 2, kind=(0, 1, 1)), most=64)
    assert list(zip(shapes.kind.tolist(), shapes.total.tolist(), strict=True)) == [
        (0, 1),
        (0, 2),
        (1, 1),
        (1, 2),
        (1, 4),
    ]
    assert shapes.below().tolist() == [0, 1, 0, 1, 2]


def test_what_items_hold_is_recognised_by_kind_and_bins() -> None:
    there = bins(4, 4, 6, 4, kind=(0, 0, 0, 1))
    shapes = Shapes.of(there, most=8)
    held = lying((2, 0, 0, 0), (4, 4, 0, 0), (0, 2, 6, 0), (4, 0, 0, 4), (0, 0, 0, 0), (0, 0, 6, 0))
    total = [set(shapes.total[row].tolist()) for row in shapes.held(there, held)]
    slot = {1, 2, 4}
    assert total == [slot, {8}, set(), set(), set(), slot | {6}]


def test_equal_powers_of_two_need_one_sum_a_kind() -> None:
    """As in Sia's own program: GPUs of each type; whole bins are counted besides."""
    there = bins(4, 4, 4, 4, kind=(0, 0, 1, 1))
    shapes = Shapes.of(there, most=4)
    options = Options(item=0 * shapes.kind, shape=shapes, cost=np.zeros(len(shapes.kind)))
    assert choose(there, options, np.ones(1)).rows == 1 + 2


def test_without_options_everybody_gets_nothing() -> None:
    there = bins(4, occupied=(4,))
    none = np.zeros(0, dtype=np.int64)
    options = Options(item=none, shape=Shapes.of(there, most=4), cost=np.zeros(0))
    chosen = choose(there, options, np.array([1.0, 2.0]))
    assert chosen.option is not None
    assert chosen.option.tolist() == [-1, -1]
    assert chosen.outcome.objective == 3.0
