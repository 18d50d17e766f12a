"""Shares of hand-made clusters, and laws of a fair share over random ones."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.ids import JobId
from headway.core.metrics.entitlement import Entitlement, filled
from headway.core.types import JobSpec
from headway.testing.snapshots import bounds, job

CLAIMS = st.lists(
    st.tuples(st.floats(0.01, 100.0), st.integers(1, 64)), min_size=1, max_size=8
).map(lambda rows: np.array(rows, dtype=np.float64))


def spec(
    name: str, *, tenant: str = "default", weight: float = 1.0, most: int = 8, least: int = 1
) -> JobSpec:
    made = job(name, gpus=bounds(least=least, most=most)).spec
    return replace(made, tenant=tenant, weight=weight)


def entitled(
    gpus: int, *specs: JobSpec, tenants: dict[str, float] | None = None
) -> dict[str, float]:
    """GPUs of each job, by what it was entitled to in a second."""
    cluster = Entitlement(gpus=gpus, tenants=tenants or {})
    for one in specs:
        cluster.come(one)
    cluster.advance(1.0)
    return {str(one.job_id): cluster.gpu_s(one.job_id) for one in specs}


class TestShares:
    def test_a_weight_of_nearly_nothing_is_one(self) -> None:
        """A service told of it with a warning of NumPy's: the quotient was too large."""
        with np.errstate(all="raise", under="ignore"):
            shares = filled(8.0, np.array([1e-310, 1.0]), np.array([64.0, 4.0]))
        assert shares == pytest.approx([4.0, 4.0])

    def test_equal_jobs_share_equally(self) -> None:
        assert entitled(8, spec("a"), spec("b")) == {"a": 4.0, "b": 4.0}

    def test_what_one_cannot_use_the_others_have(self) -> None:
        shares = entitled(8, spec("a", most=1), spec("b"), spec("c"))
        assert shares == {"a": 1.0, "b": 3.5, "c": 3.5}

    def test_a_job_alone_is_not_behind_for_gpus_that_it_cannot_use(self) -> None:
        assert entitled(64, spec("a", most=2)) == {"a": 2.0}

    def test_a_job_that_needs_more_than_there_are_takes_no_share(self) -> None:
        assert entitled(4, spec("a", least=8), spec("b")) == {"a": 0.0, "b": 4.0}

    def test_without_a_table_jobs_count_by_their_own_weights(self) -> None:
        shares = entitled(8, spec("a", weight=3.0, tenant="x"), spec("b", tenant="y"))
        assert shares == {"a": 6.0, "b": 2.0}

    def test_with_a_table_more_jobs_are_no_larger_share(self) -> None:
        """A budget is split: a tenant with three jobs has no more than one with one."""
        many = [spec(name, tenant="x") for name in ("a", "b", "c")]
        shares = entitled(12, *many, spec("d", tenant="y", most=12), tenants={"x": 2.0})
        assert shares == pytest.approx({"a": 8 / 3, "b": 8 / 3, "c": 8 / 3, "d": 4.0})


def test_shares_change_as_jobs_come_and_go_and_nodes_too() -> None:
    cluster, a, b = Entitlement(gpus=4), spec("a"), spec("b")
    cluster.come(a)
    cluster.advance(10.0)  # a 4
    cluster.come(b)
    cluster.advance(10.0)  # 2 each
    cluster.resize(2)
    cluster.advance(10.0)  # 1 each
    cluster.go(a.job_id)
    cluster.advance(10.0)  # b 2
    assert (cluster.gpu_s(a.job_id), cluster.gpu_s(b.job_id)) == (70.0, 50.0)
    assert cluster.gpu_s(JobId("never")) == 0.0


def test_another_table_holds_from_when_it_comes() -> None:
    cluster, a, b = Entitlement(gpus=4), spec("a", tenant="x"), spec("b", tenant="y")
    cluster.come(a)
    cluster.come(b)
    cluster.advance(10.0)  # 2 each
    cluster.weigh({"x": 3.0})
    cluster.advance(10.0)  # 3 and 1
    assert (cluster.gpu_s(a.job_id), cluster.gpu_s(b.job_id)) == (50.0, 30.0)


@given(st.integers(0, 200), CLAIMS)
def test_all_that_can_be_used_is_shared_and_nobody_has_too_much(
    gpus: int, claims: np.ndarray[tuple[int, int], np.dtype[np.float64]]
) -> None:
    weight, most = claims.T
    share = filled(gpus, weight, most)
    assert share.sum() == pytest.approx(min(gpus, most.sum()))
    assert (share <= most * (1 + 1e-9)).all()
    assert (share >= 0).all()


@given(st.integers(0, 200), CLAIMS)
def test_who_has_less_than_it_can_use_has_no_less_for_its_weight_than_any(
    gpus: int, claims: np.ndarray[tuple[int, int], np.dtype[np.float64]]
) -> None:
    """The definition of weighted max-min fairness."""
    weight, most = claims.T
    level = filled(gpus, weight, most) / weight
    hungry = level * weight < most * (1 - 1e-9)
    assert (level[hungry] >= level.max() * (1 - 1e-6)).all()
