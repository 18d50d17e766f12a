"""Weights of jobs and budgets of tenants: their laws, and what they do to Pollux's decisions."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.core.errors import InvalidInputError
from headway.core.policy import has_setting, make
from headway.core.policy.pollux import Pollux
from headway.core.policy.shares import (
    job_weights,
    parse_tenants,
    power_sum_factors,
    tenants_text,
)
from headway.core.types import Decision, JobView
from headway.testing.snapshots import bounds, decide, job, nodes, report, snapshot

WEIGHTS = st.floats(0.01, 100)


def owned(name: str, tenant: str = "default", weight: float = 1.0) -> JobView:
    """A job that once held eight GPUs and waits."""
    view = job(name, gpus=bounds(most=8))
    spec = replace(view.spec, tenant=tenant, weight=weight)
    return replace(view, spec=spec, max_gpus_held=8, report=report())


@st.composite
def queues(draw: st.DrawFn) -> list[JobView]:
    count = draw(st.integers(1, 6))
    return [
        owned(f"j{at}", draw(st.sampled_from("abc")), draw(st.floats(0.01, 100)))
        for at in range(count)
    ]


@given(queues(), st.dictionaries(st.sampled_from("ab"), WEIGHTS))
def test_weights_have_mean_one_and_only_ratios_count(
    jobs: list[JobView], tenants: dict[str, float]
) -> None:
    weight = job_weights(jobs, tenants)
    assert weight.mean() == pytest.approx(1.0)
    doubled = [replace(view, spec=replace(view.spec, weight=2 * view.spec.weight)) for view in jobs]
    assert job_weights(doubled, tenants).tolist() == weight.tolist()
    twice = {name: 2 * tenants.get(name, 1.0) for name in "abc"}
    assert job_weights(jobs, twice) == pytest.approx(job_weights(jobs, {"a": 1, **tenants}))


@given(queues(), st.dictionaries(st.sampled_from("abc"), WEIGHTS, min_size=1))
def test_a_tenant_splits_its_budget_by_the_weights_of_its_jobs(
    jobs: list[JobView], tenants: dict[str, float]
) -> None:
    weight = job_weights(jobs, tenants)
    budgets = {}
    for view, share in zip(jobs, weight.tolist(), strict=True):
        budgets[view.spec.tenant] = budgets.get(view.spec.tenant, 0.0) + share
    for one in budgets:
        for two in budgets:
            ratio = tenants.get(one, 1.0) / tenants.get(two, 1.0)
            assert budgets[one] / budgets[two] == pytest.approx(ratio)


def test_jobs_of_equal_weight_without_a_table_weigh_exactly_one() -> None:
    for weight in (1.0, 3.3, 1e-5):
        jobs = [owned(name, weight=weight) for name in "abcdefg"]
        assert job_weights(jobs, {}).tolist() == [1.0] * 7
        assert power_sum_factors(job_weights(jobs, {}), -1.0).tolist() == [1.0] * 7


def test_a_table_is_text_and_back() -> None:
    table = {"vision": 2.0, "speech": 0.5}
    assert tenants_text(table) == "speech:0.5,vision:2"
    assert parse_tenants(tenants_text(table)) == table
    assert parse_tenants("") == {}
    assert has_setting("pollux", "tenants")
    assert not has_setting("fifo", "tenants")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("vision", "must be TENANT:WEIGHT"),
        (":2", "must be TENANT:WEIGHT"),
        ("a:1,a:2", "a is named twice"),
        ("a:0", "the weight of a must be a number from 0.001 to 1000, not '0'"),
        ("a:nan", "the weight of a must be"),
        ("a:much", "the weight of a must be"),
    ],
)
def test_a_table_beyond_sense_is_refused(text: str, said: str) -> None:
    with pytest.raises(InvalidInputError, match=said):
        make("pollux", {"tenants": text})


@pytest.mark.parametrize("table", [{}, {"a,b": 1}, {" ": 1}, {1: 1, "1": 2}, {"a": None}])
def test_a_table_of_a_file_is_judged_too(table: dict) -> None:
    with pytest.raises(InvalidInputError, match="tenants"):
        tenants_text(table)


def held(decision: Decision) -> dict[str, int]:
    return {name: allocation.gpus for name, allocation in decision.allocations.items()}


def test_who_weighs_more_holds_more() -> None:
    jobs = owned("a", weight=8.0), owned("b")
    assert held(decide(Pollux(), snapshot(nodes(8), owned("a"), owned("b")))) == {"a": 4, "b": 4}
    shares = held(decide(Pollux(), snapshot(nodes(8), *jobs)))
    assert shares["a"] > 4 > shares["b"] >= 1


def test_more_jobs_do_not_make_a_tenant_larger() -> None:
    """Three jobs of one against one of the other, on eight GPUs."""
    jobs = [*(owned(f"a{at}", "many") for at in range(3)), owned("b", "one")]
    alone = held(decide(Pollux(), snapshot(nodes(8), *jobs)))
    assert alone == {"a0": 2, "a1": 2, "a2": 2, "b": 2}
    by_tenant = held(decide(Pollux(tenants="one:1,many:1"), snapshot(nodes(8), *jobs)))
    assert by_tenant["b"] in {4, 5}
    one_of_three = held(decide(Pollux(tenants="one:3,many:9"), snapshot(nodes(8), *jobs)))
    assert one_of_three == alone


@given(
    weights=st.lists(st.floats(0.3, 3), min_size=2, max_size=6),
    p=st.floats(-5, -0.1),
)
def test_linear_speedups_are_shared_in_proportion_to_weights(
    weights: list[float], p: float
) -> None:
    """No other way to share 1 has a smaller sum: moving a little from one to another costs."""
    weight = np.array(weights)
    share, factor = weight / weight.sum(), power_sum_factors(weight, p)
    slope = factor * p * share ** (p - 1)
    assert slope == pytest.approx(np.full(len(share), slope[0]))


@settings(max_examples=25)
@given(
    seed=st.integers(0, 2**32 - 1),
    factor=st.floats(1.1, 20),
    p=st.sampled_from([-3.0, -1.0, 0.0, 1.0]),
)
def test_more_weight_never_lowers_a_jobs_speedup(seed: int, factor: float, p: float) -> None:
    """At the exact optimum: else the old plan, with more weight on it, would be the better one."""
    rng = np.random.default_rng(seed)
    jobs = [
        replace(
            owned(f"j{at}", weight=float(rng.uniform(0.2, 5))),
            report=report(noise_scale=float(rng.uniform(100, 20_000))),
        )
        for at in range(rng.integers(2, 6))
    ]
    cluster = nodes(*rng.integers(1, 5, rng.integers(1, 4)).tolist())
    policy = Pollux(p=p, spread=0.0, rel_gap=0.0)
    heavier = replace(jobs[0], spec=replace(jobs[0].spec, weight=factor * jobs[0].spec.weight))
    before, after = (
        decide(policy, snapshot(cluster, *own)) for own in (jobs, [heavier, *jobs[1:]])
    )
    assert speedup(after) >= speedup(before) * (1 - 1e-6)


def speedup(decision: Decision) -> float:
    numbers = next(reason.numbers for reason in decision.reasons if reason.job_id == "j0")
    return dict(numbers)["speedup_after"]


def test_a_weight_is_among_the_reasons_where_weights_differ() -> None:
    even = decide(Pollux(), snapshot(nodes(4), owned("a"), owned("b")))
    assert "weight" not in dict(even.reasons[0].numbers)
    uneven = decide(Pollux(), snapshot(nodes(4), owned("a", weight=3.0), owned("b")))
    assert [dict(reason.numbers)["weight"] for reason in uneven.reasons] == [1.5, 0.5]


@pytest.mark.parametrize(
    "table",
    [{"a": 16**9000}, {16**9000: 1}, {"a": [1]}, {"a": None}, {"\ud800": 1}, {"a\nb": 1}, {"": 1}],
)
def test_a_table_with_a_name_or_a_weight_that_is_none_is_refused(
    table: dict[object, object],
) -> None:
    """Endless numbers were tracebacks, half a letter one as soon as a log was written."""
    with pytest.raises(InvalidInputError, match="tenants: "):
        tenants_text(table)
