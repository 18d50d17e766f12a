"""Windows for tests: at random, and the direct program that finds the best table of rounds."""

import numpy as np

from headway.core.solve.assembly import Assembly
from headway.core.solve.milp import solve_mixed
from headway.core.solve.outcome import Status
from headway.core.solve.window import Window


def random_window(
    seed: int, *, items: int = 5, rounds: int = 4, wide: bool = True, others: int = 0
) -> Window:
    """Items near their end and long ones, late jumps of value, a price that matters or not.

    With ``others`` rounds have room for as many other needs, of which items have some or none.
    """
    rng = np.random.default_rng(seed)
    capacity = int(rng.integers(2, 5))
    total = rng.uniform(0.5, 3.0 * rounds, (items, 1))
    ran = np.arange(rounds + 1) - rng.choice([0.0, 0.2], (items, 1))  # some lose a part at first
    left = np.maximum(total - np.maximum(ran, 0.0), 0.0)
    done = 1.0 - left / (total + rng.uniform(0.0, 3.0, (items, 1)))
    weight = rng.uniform(0.2, 2.0, (items, 1)) ** 5
    value = weight * np.log(np.maximum(done, 1e-6))
    late = rng.random(items) < 0.3  # nothing before the last rounds
    value[late, 1:-1] = value[late, :1]
    price = float(rng.choice([0.0, 0.01, 0.3, 5.0]))
    width = rng.integers(1, capacity + 1, items) if wide else np.ones(items, dtype=np.int64)
    rooms = rng.integers(3, 9, others)
    return Window(
        others=np.minimum(rng.integers(0, 5, (items, others)), rooms),
        rooms=rooms,
        value=value,
        left=left,
        width=width,
        capacity=capacity,
        price=price,
    )


def direct_optimum(window: Window) -> float:
    """The most there is, by HiGHS: a column for each item and round, and one for each count."""
    items, rounds = len(window.width), window.rounds
    assembly = Assembly()
    runs = assembly.add_columns(np.zeros(items * rounds), upper=1.0).reshape(items, rounds)
    picks = assembly.add_columns(-window.value.ravel(), upper=1.0).reshape(items, rounds + 1)
    longest = assembly.add_columns(np.array([window.price]), integer=False)
    one = assembly.add_rows(items, lower=1.0, upper=1.0)
    assembly.add_entries(np.repeat(one, rounds + 1), picks.ravel(), 1.0)
    same = assembly.add_rows(items, lower=0.0, upper=0.0)
    assembly.add_entries(np.repeat(same, rounds), runs.ravel(), -1.0)
    counts = np.tile(np.arange(rounds + 1.0), items)
    assembly.add_entries(np.repeat(same, rounds + 1), picks.ravel(), counts)
    needs, room = window.needs().astype(np.float64), window.room_of_round()
    above = assembly.add_rows(items, upper=0.0)
    assembly.add_entries(np.repeat(above, rounds + 1), picks.ravel(), window.left.ravel())
    assembly.add_entries(above, np.repeat(longest, items), -1.0)
    for need, has in zip(needs.T, room.tolist(), strict=True):
        full = assembly.add_rows(rounds, upper=float(has))
        assembly.add_entries(np.tile(full, items), runs.ravel(), np.repeat(need, rounds))
        area = (window.left * need[:, None] / has).ravel()
        load = assembly.add_rows(1, upper=0.0)
        assembly.add_entries(np.repeat(load, area.size), picks.ravel(), area)
        assembly.add_entries(load, longest, -1.0)
    outcome = solve_mixed(assembly.program(), rel_gap=1e-9)
    assert outcome.status is Status.OPTIMAL
    return -outcome.objective
