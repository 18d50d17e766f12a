"""What a job is lent of what its kind has shown, and what it is not."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.predict.kinds import MOST_BEYOND, Kind, Kinds
from headway.core.types import NOTHING, JobView
from headway.testing.snapshots import job, report, running


def working(view: JobView, work: float) -> JobView:
    return replace(view, spec=replace(view.spec, work_examples=work))


def shown(name: str = "net-1", *, gpus: int = 8) -> JobView:
    return running(job(name), {"n0": gpus})


def slower(view: JobView) -> JobView:
    """Its steps take another time than those of others."""
    assert view.report is not None
    fit = view.report.throughput
    fit = replace(fit, beta_grad_s=10 * fit.beta_grad_s)
    return replace(view, report=replace(view.report, throughput=fit))


def moved(on: Sequence[dict[str, int]], alike: Sequence[bool]) -> list[bool]:
    """Whether a job is lent what its kind has shown, as it is moved from one placement to the next.

    Of each placement it is told whether its steps there take as long as the kind's.
    """
    kinds, lends = Kinds(), []
    for per_node, as_long in zip(on, alike, strict=True):
        view = running(job("net-2"), per_node)
        view = replace(view if as_long else slower(view), max_gpus_held=4)
        kinds = kinds.updated([shown(), view])
        lends.append(kinds.lent(view) is not view)
    return lends


class TestKind:
    def test_a_number_at_the_end_makes_no_other_kind(self) -> None:
        assert Kind.of(job("net-1")) == Kind.of(job("net-22")) == Kind.of(job("net"))

    def test_nor_does_another_length(self) -> None:
        """With it in the kind, owners who erred in it by 30 % had nothing lent: 8 % more JCT."""
        assert Kind.of(working(job("net-1"), 5.0)) == Kind.of(job("net-1"))

    def test_another_name_or_contract_does(self) -> None:
        kinds = {
            Kind.of(job("net-1")),
            Kind.of(job("web-1")),
            Kind.of(job("net-1", adaptive=False)),
        }
        assert len(kinds) == 3

    def test_the_same_name_of_another_tenant_is_another_kind(self) -> None:
        """A job that waits cannot show that what it calls ``train`` is another training."""
        mine = job("train-2")
        theirs = replace(mine, spec=replace(mine.spec, tenant="speech"))
        assert Kind.of(theirs) != Kind.of(mine)
        assert Kinds().updated([shown("train-1")]).lent(theirs) is theirs
        assert Kinds().updated([shown("train-1")]).lent(mine) is not mine


class TestLent:
    def test_a_new_job_knows_the_speed_and_may_hold_what_its_kind_held(self) -> None:
        lent = Kinds().updated([shown()]).lent(job("net-2"))
        assert lent.report is not None
        assert lent.report.throughput == report().throughput
        assert lent.report.progress_examples == 0.0
        assert 2 * lent.max_gpus_held == 8

    def test_it_is_not_lent_the_noise_scale_of_another_time_of_a_training(self) -> None:
        lent = Kinds().updated([shown()]).lent(job("net-2"))
        assert lent.report is not None
        assert lent.report.noise_scale is None

    def test_a_job_of_another_kind_is_lent_nothing(self) -> None:
        other = job("web-2")
        assert Kinds().updated([shown()]).lent(other) == other

    def test_what_a_job_knows_of_as_many_gpus_itself_is_its_own(self) -> None:
        own = shown("net-2", gpus=8)
        assert Kinds().updated([shown(gpus=8)]).lent(own) is own

    def test_a_job_whose_steps_take_another_time_is_not_of_the_kind(self) -> None:
        slow = slower(shown("net-2", gpus=2))
        assert Kinds().updated([shown(), slow]).lent(slow) is slow

    def test_one_that_agrees_later_on_as_many_gpus_is_of_the_kind(self) -> None:
        """Judged for good on its first steps a young job costs 0.5 % of the average JCT."""
        agrees = shown("net-2", gpus=2)
        kinds = Kinds().updated([shown(), slower(agrees)]).updated([shown(), agrees])
        assert kinds.lent(agrees) is not agrees

    def test_a_job_that_agrees_is_lent_the_fit_of_more_gpus(self) -> None:
        wide = shown()
        assert wide.report is not None
        fit = replace(wide.report.throughput, alpha_node_s=0.7)
        kinds = Kinds().updated([replace(wide, report=replace(wide.report, throughput=fit))])
        lent = kinds.lent(shown("net-2", gpus=2))
        assert lent.report is not None
        assert lent.report.throughput == fit

    def test_the_job_that_held_most_is_remembered(self) -> None:
        kinds = Kinds().updated([shown(gpus=8)]).updated([shown("net-3", gpus=2)])
        assert 2 * kinds.lent(job("net-2")).max_gpus_held == 8


class TestVerdict:
    @pytest.mark.parametrize("on_two", [True, False])
    def test_it_changes_once_where_two_and_four_gpus_tell_otherwise(self, on_two: bool) -> None:
        """A YOLO that agreed on 2 GPUs and not on 4 was moved to and fro each round, 85 times.

        Then who agreed on 4 and not on 2 still was.
        """
        two, four = {"n0": 2}, {"n0": 4}
        lends = moved([two, four, two, four, two], [on_two, not on_two] * 2 + [on_two])
        assert lends == [on_two, *[not on_two] * 4]

    def test_who_is_spread_wider_on_fewer_gpus_is_not_judged_by_one_node(self) -> None:
        """4 GPUs of one node say nothing of how fast 2 nodes synchronise."""
        assert moved([{"n0": 1, "n1": 1}, {"n0": 4}], [False, True]) == [False, False]

    @given(data=st.data())
    def test_it_changes_at_most_once_with_each_new_placement(self, data: st.DataObject) -> None:
        """However often a job is moved, if a placement always tells the same of it."""
        placements = [{"n0": 1}, {"n0": 2}, {"n0": 1, "n1": 1}, {"n0": 4}, {"n0": 2, "n1": 2}]
        which = st.integers(0, len(placements) - 1)
        path = data.draw(st.lists(which, min_size=1, max_size=12))
        tells = data.draw(st.tuples(*[st.booleans()] * len(placements)))
        lends = moved([placements[one] for one in path], [tells[one] for one in path])
        changes = sum(now != before for before, now in pairwise(lends))
        assert changes < len(set(path))

    @pytest.mark.parametrize("first", [True, False])
    def test_it_is_found_anew_when_the_kind_has_shown_more(self, first: bool) -> None:
        agrees = shown("net-2", gpus=2)
        four, two = shown("net-2", gpus=4), replace(agrees, max_gpus_held=4)
        four, two = (four, slower(two)) if first else (slower(four), two)
        kinds = Kinds().updated([shown(), four]).updated([shown(), two])
        assert (kinds.lent(two) is not two) is first
        kinds = kinds.updated([shown("net-3", gpus=16), two])
        assert (kinds.lent(two) is not two) is not first

    @pytest.mark.parametrize("alike", [True, False])
    def test_who_waits_keeps_it(self, alike: bool) -> None:
        ran = shown("net-2", gpus=4)
        ran = ran if alike else slower(ran)
        waits = replace(ran, allocation=NOTHING)
        kinds = Kinds().updated([shown(), ran])
        later = kinds.updated([shown("net-3", gpus=16), waits])
        assert later.verdicts == kinds.verdicts
        assert (later.lent(waits) is not waits) is alike

    def test_there_is_none_on_who_never_ran_is_gone_or_has_no_lender(self) -> None:
        kinds = Kinds().updated([shown(), job("net-2")])
        assert kinds.verdicts == {}
        kinds = kinds.updated([shown("net-2", gpus=4)])
        assert list(kinds.verdicts) == ["net-2"]
        assert kinds.updated([]).verdicts == {}
        assert kinds.updated([shown("net-2", gpus=8)]).verdicts == {}


class TestOverrun:
    def at(self, progress: float) -> JobView:
        view = working(shown(), 100.0)
        assert view.report is not None
        return replace(view, report=replace(view.report, progress_examples=progress))

    def test_a_kind_that_keeps_its_word_is_taken_at_it(self) -> None:
        assert Kinds().updated([self.at(100.0)]).overrun(self.at(0.0)) == 1.0

    def test_a_kind_that_went_beyond_it_is_not(self) -> None:
        kinds = Kinds().updated([self.at(300.0)]).updated([self.at(50.0)])
        assert kinds.overrun(self.at(0.0)) == 3.0

    def test_of_one_that_declares_nothing_nothing_is_held_against(self) -> None:
        assert Kinds().updated([shown()]).overrun(shown()) == 1.0

    def test_one_that_declared_next_to_nothing_makes_no_other_endless(self) -> None:
        """``--work 1e-300``: the next job of its name that said 10**9 had an infinity to go."""
        told = replace(self.at(1e8), spec=replace(shown().spec, work_examples=1e-300))
        assert Kinds().updated([told]).overrun(self.at(0.0)) == MOST_BEYOND
