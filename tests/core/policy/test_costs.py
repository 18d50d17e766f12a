"""The rule of least cost: laws of the search and of the price, and what it is told."""

from collections.abc import Callable
from dataclasses import replace
from itertools import accumulate
from math import inf, isfinite, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.errors import InvalidInputError
from headway.core.policy.costs import CostScaler, descend
from headway.core.policy.scalers import Size
from headway.core.scale import ScaleCode
from headway.core.types import Snapshot
from headway.testing.scalers import SIXTEEN, training, want
from headway.testing.snapshots import bounds, job, nodes, snapshot

ADDED = st.lists(st.integers(0, 100), min_size=16, max_size=16)  # by each node more
GAINS = ADDED.map(lambda added: list(accumulate(sorted(added, reverse=True), initial=0)))
SIZES = st.integers(1, 16)
TIMES = st.integers(0, 400)  # node-hours that an hour of the jobs is worth


def size(least: int, most: int) -> Size:
    return Size(present=least, asked=least, least=least, most=most)


def cost_of(gains: list[int], time: int) -> Callable[[int], float]:
    return lambda nodes: (nodes + time) / gains[nodes] if gains[nodes] else inf


@given(gains=GAINS, time=TIMES, ends=st.tuples(SIZES, SIZES), start=SIZES)
def test_where_each_node_adds_less_the_cheapest_of_all_sizes_is_found(
    gains: list[int], time: int, ends: tuple[int, int], start: int
) -> None:
    within, cost = size(min(ends), max(ends)), cost_of(gains, time)
    found = descend(cost, within.bounded(start), within)
    assert cost(found) == min(map(cost, range(within.least, within.most + 1)))


@given(
    costs=st.lists(st.sampled_from([0.0, 1.0, 2.0, inf, nan]), min_size=40, max_size=40),
    ends=st.tuples(st.integers(1, 40), st.integers(1, 40)),
    start=st.integers(1, 40),
)
def test_whatever_the_costs_it_ends_at_an_allowed_size_that_costs_no_more(
    costs: list[float], ends: tuple[int, int], start: int
) -> None:
    """Plateaus, infinite costs and costs that are no numbers included."""
    within = size(min(ends), max(ends))
    begin = within.bounded(start)
    found = descend(lambda nodes: costs[nodes - 1], begin, within)
    assert within.least <= found <= within.most
    if isfinite(costs[begin - 1]):
        assert costs[found - 1] <= costs[begin - 1]


@given(gains=GAINS, times=st.tuples(TIMES, TIMES), start=SIZES)
def test_the_more_time_is_worth_the_larger_the_cluster(
    gains: list[int], times: tuple[int, int], start: int
) -> None:
    cheap, dear = (descend(cost_of(gains, time), start, size(1, 16)) for time in sorted(times))
    assert cheap <= dear


@given(epochs=st.lists(st.tuples(GAINS, SIZES), min_size=1, max_size=6), time=TIMES)
def test_no_choice_of_sizes_for_a_run_has_less_node_hours_and_worth_of_time_together(
    epochs: list[tuple[list[int], int]], time: int
) -> None:
    """Each epoch is an hour's work of one GPU, and no other plan is both quicker and cheaper."""
    progress = [[1 + gain for gain in gains] for gains, _ in epochs]

    def total(sizes: list[int]) -> float:
        took_h = [1 / gains[nodes] for gains, nodes in zip(progress, sizes, strict=True)]
        return sum((nodes + time) * one_h for nodes, one_h in zip(sizes, took_h, strict=True))

    ours = [descend(cost_of(gains, time), 1, size(1, 16)) for gains in progress]
    assert total(ours) <= total([nodes for _, nodes in epochs]) * (1 + 1e-9)


@pytest.mark.parametrize("noise_scale", [300.0, 3_000.0, 30_000.0, 300_000.0])
def test_of_a_job_alone_it_wants_the_cheapest_size(noise_scale: float) -> None:
    wanted, probe = want(CostScaler(least_saving=0.0), training(64, noise_scale=noise_scale))
    cost = {n: (n + 16) / probe.gain(n) for n in range(1, 17)}
    assert cost[wanted.nodes] == min(cost.values())
    assert wanted.code is (ScaleCode.KEPT if wanted.nodes == 4 else ScaleCode.COST_LOWER)
    assert dict(wanted.numbers)["cost"] == cost[4]
    assert dict(wanted.numbers).get("cost_after", cost[4]) == cost[wanted.nodes]


def test_more_noise_never_means_fewer_nodes() -> None:
    sizes = [
        want(CostScaler(), training(64, noise_scale=noise))[0].nodes
        for noise in (100.0, 1_000.0, 10_000.0, 100_000.0, 1_000_000.0)
    ]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1]


def test_where_time_is_worth_nothing_the_size_is_the_most_efficient() -> None:
    wanted, probe = want(CostScaler(job_hour=0.0), training(64))
    assert probe.gain(wanted.nodes) / wanted.nodes == max(probe.gain(n) / n for n in range(1, 17))


def test_a_saving_that_is_too_small_moves_nothing() -> None:
    seen = training(64, noise_scale=30_000.0)
    moved, _ = want(CostScaler(least_saving=0.0), seen)
    numbers = dict(moved.numbers)
    saved = 1 - numbers["cost_after"] / numbers["cost"]
    assert moved.nodes != 4
    assert want(CostScaler(least_saving=saved - 1e-6), seen)[0].nodes == moved.nodes
    kept, _ = want(CostScaler(least_saving=saved + 1e-6), seen)
    assert (kept.nodes, kept.code) == (4, ScaleCode.KEPT)
    assert "cost_after" not in dict(kept.numbers)


def test_nodes_on_their_way_count_as_there() -> None:
    seen = training(64, noise_scale=30_000.0)
    wanted, _ = want(CostScaler(), seen)
    coming = replace(SIXTEEN, asked=wanted.nodes)
    assert want(CostScaler(), seen, coming)[0].nodes == wanted.nodes > 4


def crowd(waiting: int) -> Snapshot:
    """The same job, and others that can run on no cluster of the allowed sizes."""
    seen = training(64, noise_scale=10_000.0)
    hopeless = [job(f"w{n}", gpus=bounds(least=99, most=99)) for n in range(waiting)]
    return replace(seen, jobs=(*seen.jobs, *hopeless))


def test_the_time_of_jobs_that_wait_counts_too() -> None:
    sizes = [want(CostScaler(), crowd(waiting))[0].nodes for waiting in (0, 2, 60)]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1]


def test_on_a_crowded_cluster_of_the_largest_size_nothing_is_asked_about() -> None:
    """A round would else cost five decisions."""
    at_most = replace(SIXTEEN, most=4)
    for waiting, full in ((0, False), (4, True), (40, True)):
        wanted, probe = want(CostScaler(), crowd(waiting), at_most)
        assert (probe.tried == 1) is full, "once by the test itself"
        assert wanted.code is ScaleCode.KEPT


def test_what_was_given_back_of_the_largest_size_is_asked_for_again() -> None:
    going = replace(SIXTEEN, asked=2, most=4)
    assert want(CostScaler(), crowd(40), going)[0].nodes == 4


def test_without_jobs_or_without_a_choice_nothing_is_asked_about() -> None:
    nobody = snapshot(nodes(4, 4, 4, 4))
    for seen, within in ((nobody, SIXTEEN), (training(64), size(4, 4))):
        wanted, probe = want(CostScaler(), seen, within)
        assert (wanted.nodes, wanted.code, probe.tried) == (4, ScaleCode.KEPT, 1)


def test_from_a_size_that_buys_nothing_it_looks_for_one_that_does() -> None:
    """Its cost is infinite and so are those around it; a log holds finite numbers alone."""
    view = job("a", gpus=bounds(least=40, most=64))
    wanted, _ = want(CostScaler(), snapshot(nodes(4, 4), replace(view, max_gpus_held=64)))
    assert 10 <= wanted.nodes <= 16
    assert isfinite(dict(wanted.numbers)["cost_after"])
    assert "cost" not in dict(wanted.numbers)


def test_where_no_size_buys_anything_the_size_is_kept() -> None:
    wanted, _ = want(CostScaler(), snapshot(nodes(4, 4), job("a", gpus=bounds(least=99, most=99))))
    assert (wanted.nodes, wanted.code) == (4, ScaleCode.KEPT)
    assert {name for name, _ in wanted.numbers} == {"nodes_before", "nodes_after"}


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"min_nodes": 5, "max_nodes": 4}, "cost.min_nodes and cost.max_nodes"),
        ({"in_rounds": 0}, "cost.in_rounds must be at least 1, not 0"),
        ({"job_hour": -1.0}, "cost.job_hour must be from 0 to 10000, not -1"),
        ({"job_hour": nan}, "cost.job_hour must be from 0 to 10000, not nan"),
        ({"least_saving": 1.0}, "cost.least_saving must be at least 0 and below 1, not 1"),
    ],
)
def test_settings_beyond_sense_are_refused(settings: dict[str, float], said: str) -> None:
    with pytest.raises(InvalidInputError, match=said) as refused:
        CostScaler(**settings)  # type: ignore[arg-type]
    assert len(str(refused.value).splitlines()) == 1
