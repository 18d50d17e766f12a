"""Ways to fill a node: all of them, each once."""

from itertools import product

import pytest

from headway.core.solve.patterns import fillings, stays


def every_filling(room: int, sizes: tuple[int, ...]) -> set[tuple[int, ...]]:
    """Counts per size that fit, by trying them all."""
    ranges = [range(room // size + 1) for size in sizes]
    return {
        counts
        for counts in product(*ranges)
        if sum(count * size for count, size in zip(counts, sizes, strict=True)) <= room
    }


@pytest.mark.parametrize("room", range(9))
@pytest.mark.parametrize("sizes", [(1, 2, 3, 4), (2, 3), (1, 4, 8), (5,)])
def test_fillings_are_all_that_fit_each_once(room: int, sizes: tuple[int, ...]) -> None:
    found = [tuple(row) for row in fillings(room, sizes, True).tolist()]
    assert len(set(found)) == len(found)
    assert set(found) == every_filling(room, sizes)


@pytest.mark.parametrize("room", range(9))
@pytest.mark.parametrize("sizes", [(1, 2, 3, 4), (2, 3), (1, 4, 8), (5,)])
def test_full_fillings_are_those_that_nothing_fits_beside(
    room: int, sizes: tuple[int, ...]
) -> None:
    full = {tuple(row) for row in fillings(room, sizes, False).tolist()}
    fit = every_filling(room, sizes)
    one_more = [
        tuple(count + (at == more) for at, count in enumerate(counts))
        for counts in fit
        for more in range(len(sizes))
    ]
    can_grow = {
        tuple(count - (at == more) for at, count in enumerate(grown))
        for grown in one_more
        if grown in fit
        for more in range(len(sizes))
        if grown[more] > 0
    }
    assert full == fit - can_grow


def test_the_number_of_fillings_is_that_of_the_partitions() -> None:
    """Partitions of 0..4 and of 0..8: 1+1+2+3+5 and so on to 22."""
    assert len(fillings(4, (1, 2, 3, 4), True)) == 12
    assert len(fillings(8, tuple(range(1, 9)), True)) == 67


def test_without_sizes_a_node_is_one_hole() -> None:
    assert fillings(4, (), True).shape == (1, 0)


def test_those_who_stay_fit_and_one_of_them_spans_at_most() -> None:
    counts, stayer, left = stays(4, ((1, 2), (2, 1)), (1, 3))
    states = {
        (one, two, int(who)): int(room)
        for (one, two), who, room in zip(counts.tolist(), stayer, left, strict=True)
    }
    expected = {
        (one, two, who): 4 - one - 2 * two - {-1: 0, 0: 1, 1: 3}[who]
        for one in range(3)
        for two in range(2)
        for who in (-1, 0, 1)
        if one + 2 * two + {-1: 0, 0: 1, 1: 3}[who] <= 4
    }
    assert states == expected


def test_a_remembered_answer_cannot_be_spoilt() -> None:
    with pytest.raises(ValueError, match="read-only"):
        fillings(4, (1, 2), True)[0, 0] = 7
