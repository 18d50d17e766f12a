"""The rules for a size on instances with known answers, their bounds, and what they are told."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.errors import InvalidInputError
from headway.core.policy.costs import CostScaler
from headway.core.policy.scalers import (
    GoodputScaler,
    Scaler,
    Size,
    ThroughputScaler,
    nearest,
    scaling,
)
from headway.core.scale import ScaleCode
from headway.testing.scalers import SIXTEEN, training, want
from headway.testing.snapshots import job, nodes, snapshot


@given(
    slope=st.floats(0.01, 2),
    target=st.floats(0, 1),
    least=st.integers(1, 20),
    more=st.integers(0, 40),
)
def test_binary_search_finds_the_nearest_of_all_sizes(
    slope: float, target: float, least: int, more: int
) -> None:
    asked = set[int]()

    def value(size: int) -> float:
        asked.add(size)
        return 1 / (1 + slope * (size - 1))

    size = Size(present=1, asked=1, least=least, most=least + more)
    found = nearest(value, target, size)
    tried = len(asked)
    distance = {n: round(abs(value(n) - target), 9) for n in range(least, least + more + 1)}
    assert distance[found] == min(distance.values())
    assert found == min(n for n in distance if distance[n] == distance[found])
    assert tried <= 2 + np.log2(more + 1) + 1


@pytest.mark.parametrize("noise_scale", [300.0, 3_000.0, 30_000.0, 300_000.0])
def test_outside_of_the_band_the_size_nearest_to_its_middle_is_wanted(noise_scale: float) -> None:
    wanted, probe = want(GoodputScaler(), training(64, noise_scale=noise_scale))
    distance = {n: abs(probe.utility(n) - 7 / 12) for n in range(1, 17)}
    inside = 1 / 2 <= probe.utility(4) <= 2 / 3
    assert wanted.nodes == (4 if inside else min(distance, key=lambda n: distance[n]))
    assert wanted.code in {ScaleCode.KEPT, ScaleCode.UTILITY_HIGH, ScaleCode.UTILITY_LOW}
    assert dict(wanted.numbers)["utility"] == pytest.approx(probe.utility(4))


def test_more_noise_never_means_fewer_nodes() -> None:
    sizes = [
        want(GoodputScaler(), training(64, noise_scale=noise))[0].nodes
        for noise in (100.0, 1_000.0, 10_000.0, 100_000.0, 1_000_000.0)
    ]
    assert sizes == sorted(sizes)
    assert sizes[0] < 4 < sizes[-1]


def test_the_published_rule_goes_down_to_one_half_at_once() -> None:
    """Pollux, section 5.4.1: above U = 2/3 as many nodes as leave about L = 1/2."""
    seen = training(64, noise_scale=30_000.0)
    middle, _ = want(GoodputScaler(), seen)
    published, probe = want(GoodputScaler(target=1 / 2), seen)
    assert published.nodes > middle.nodes > 4
    assert abs(probe.utility(published.nodes) - 1 / 2) < abs(probe.utility(middle.nodes) - 1 / 2)


def test_at_the_edge_nothing_is_asked_about() -> None:
    """On a crowded cluster of the largest size a round would else cost six decisions."""
    at_most = replace(SIXTEEN, most=4)
    wanted, probe = want(GoodputScaler(), training(64, noise_scale=1e6), at_most)
    assert wanted.code is ScaleCode.KEPT
    assert probe.tried == 1  # by the test itself


def test_nodes_on_their_way_count_as_there() -> None:
    seen = training(64, noise_scale=30_000.0)
    wanted, _ = want(GoodputScaler(), seen)
    coming = replace(SIXTEEN, asked=wanted.nodes)
    assert want(GoodputScaler(), seen, coming)[0].nodes == wanted.nodes


def test_throughput_is_blind_to_what_a_batch_is_worth() -> None:
    """Or et al. see the same job at the start and at the end of its training."""
    scaler = ThroughputScaler()
    early, late = (want(scaler, training(64, noise_scale=noise))[0] for noise in (1.0, 1e6))
    assert early == late
    seen = scaler.view(training(64, noise_scale=1.0)).jobs[0]
    assert seen.spec.batch.min_batch_per_gpu == seen.spec.batch.max_batch_per_gpu == 128
    unreported = replace(job("a"), report=None)
    assert scaler.view(snapshot(nodes(4), unreported)).jobs[0].report is None


@pytest.mark.parametrize(
    ("least_gain", "nodes_wanted", "code"),
    [
        (0.0, 5, ScaleCode.GAIN_HIGH),
        (1.0, 3, ScaleCode.GAIN_LOW),
    ],
)
def test_throughput_takes_a_step_out_or_in_by_what_a_node_adds(
    least_gain: float, nodes_wanted: int, code: ScaleCode
) -> None:
    wanted, _ = want(ThroughputScaler(least_gain=least_gain), training(64))
    assert (wanted.nodes, wanted.code) == (nodes_wanted, code)
    assert {name for name, _ in wanted.numbers} >= {"gain_ahead", "gain_behind"}


def test_throughput_waits_until_its_last_step_is_done() -> None:
    coming = replace(SIXTEEN, asked=5)
    wanted, probe = want(ThroughputScaler(least_gain=0.0), training(64), coming)
    assert wanted.nodes == 5
    assert probe.tried == 1  # by the test itself


@pytest.mark.parametrize("scaler", [CostScaler(), GoodputScaler(), ThroughputScaler()])
@pytest.mark.parametrize(
    ("size", "nodes_wanted", "code"),
    [
        (Size(present=20, asked=20, least=1, most=16), None, ScaleCode.OUT_OF_BOUNDS),
        (Size(present=4, asked=4, least=6, most=16, needed=6), None, ScaleCode.JOB_NEEDS),
        (Size(present=4, asked=4, least=6, most=16), None, ScaleCode.OUT_OF_BOUNDS),
        (Size(present=4, asked=4, least=4, most=4), 4, ScaleCode.KEPT),
    ],
)
def test_bounds_bind(scaler: Scaler, size: Size, nodes_wanted: int | None, code: ScaleCode) -> None:
    wanted, _ = want(scaler, training(64), size)
    assert size.least <= wanted.nodes <= size.most
    assert wanted.code is code
    assert nodes_wanted in (None, wanted.nodes)


def test_a_size_that_is_as_it_was_is_kept_whatever_led_to_it() -> None:
    assert scaling(SIXTEEN, 4, ScaleCode.UTILITY_LOW, {}).code is ScaleCode.KEPT


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: GoodputScaler(min_nodes=0), "goodput.min_nodes and goodput.max_nodes"),
        (lambda: GoodputScaler(min_nodes=5, max_nodes=4), "1 <= min <= max"),
        (lambda: GoodputScaler(max_nodes=10**6), "not 1 and 1000000"),
        (lambda: GoodputScaler(low=0.8), "goodput.low and goodput.high"),
        (lambda: GoodputScaler(target=0.9), "goodput.target must be from 0.5"),
        (lambda: GoodputScaler(in_rounds=0), "goodput.in_rounds must be at least 1"),
        (lambda: ThroughputScaler(least_gain=2.0), "throughput.least_gain must be from 0 to 1"),
        (lambda: ThroughputScaler(min_nodes=0), "throughput.min_nodes"),
    ],
)
def test_settings_beyond_sense_are_refused(make: Callable[[], Scaler], said: str) -> None:
    with pytest.raises(InvalidInputError, match=said):
        make()
