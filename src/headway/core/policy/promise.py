"""What each job is promised, and what anything that it may hold would make of it."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from headway.core.types import BoolArray, Float64, FloatArray

HOUR_S = 3600.0
MOST_COST = 1e100  # of (T / E)^q, which is no less than its inverse; so that no sum overflows


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """Of every job: when it would end in the egalitarian cluster, and when it is to end in this.

    All times are ages, from submission on.
    """

    known: BoolArray  # False: how long it takes is a guess
    age_s: Float64[FloatArray, " jobs"]
    left_s: Float64[FloatArray, " jobs"]  # to its end at its share, from where it is
    egalitarian_s: Float64[FloatArray, " jobs"]  # how old it would be at its end with its share
    share_per_s: Float64[FloatArray, " jobs"]  # mean goodput at its share until then
    growth: Float64[FloatArray, " jobs"]  # GPUs that it has on average until then, over its share
    error: Float64[FloatArray, " jobs"]  # relative standard error of ``left_s``
    lookahead_s: Float64[FloatArray, " jobs"]  # how long a decision is expected to last

    @property
    def rho_hat(self) -> Float64[FloatArray, " jobs"]:
        """Age at the end over that in the egalitarian cluster, with its share from now on.

        Above 1 if the job is behind its virtual clock.
        """
        return np.asarray((self.age_s + self.left_s) / self.egalitarian_s)

    def to_the_next_end(
        self, pace: Float64[FloatArray, " jobs"], least_s: Float64[FloatArray, " jobs"]
    ) -> Self:
        """With look-aheads to the soonest end at these paces, no less than ``least_s``.

        Then all is decided anew, and what that job held is free. With an hour ahead, 16 GPUs of a
        job with minutes left seemed to be worth an hour of 16 GPUs to another.
        """
        soonest_s = (self.left_s / np.maximum(pace, 1e-12)).min()
        lookahead_s = np.minimum(self.lookahead_s, np.maximum(least_s, soonest_s))
        return replace(self, lookahead_s=lookahead_s)

    def finish_s(
        self, pace: FloatArray, delay_s: Float64[FloatArray, " jobs"] | float = 0.0
    ) -> FloatArray:
        """Age at the end, if it has a pace as long as the decision lasts, then its share.

        The pace is goodput over ``share_per_s``, its first axis that of jobs; ``delay_s`` passes
        before there is any.
        """
        wide = (slice(None), *[None] * (pace.ndim - 1))
        age_s, left_s, lookahead_s = (
            one[wide] for one in (self.age_s, self.left_s, self.lookahead_s)
        )
        delay_s = np.broadcast_to(delay_s, self.age_s.shape)[wide]
        gain_s = pace * np.maximum(lookahead_s - delay_s, 0.0)
        soon_s = delay_s + left_s / np.maximum(pace, 1e-12)
        return np.asarray(age_s + np.where(gain_s >= left_s, soon_s, lookahead_s + left_s - gain_s))

    def cost(
        self,
        finish_s: FloatArray,
        *,
        b: FloatArray | float,
        q: float,
        near: float = 0.0,
        makespan: float = 0.0,
    ) -> FloatArray:
        """E^b (T / E)^q (E / R)^near (1 + makespan g) of an age T at the end; in E^b E in hours.

        R is what is left, no less than a look-ahead: a decision lasts no shorter; E / R is at
        least 1, so who is behind its clock loses nothing; g is ``growth``.

        A second less of T spares s GPU-seconds, s being the GPUs that the job has on average until
        its end; the cluster of G GPUs is done s / G seconds sooner. By Little's law a percent of
        its makespan is as much as one of the average completion time if a second of it counts as
        the n jobs that are active: n s / G is g, s over the equal share G / n.
        """
        wide = (slice(None), *[None] * (finish_s.ndim - 1))
        egalitarian_s = self.egalitarian_s[wide]
        most = MOST_COST ** (1.0 / q)
        rho = np.clip(finish_s / egalitarian_s, 1.0 / most, most)
        over_left = egalitarian_s / np.maximum(self.left_s, self.lookahead_s)[wide]
        nearness = np.maximum(over_left, 1.0) ** near
        spared = 1.0 + makespan * self.growth[wide]
        return np.asarray((egalitarian_s / HOUR_S) ** b * rho**q * nearness * spared)
