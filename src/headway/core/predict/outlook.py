"""How a job is expected to go on from the regime that it is in: sizes, epochs, and how sure."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from headway.core.adaptation import Adaptation, Regime
from headway.core.predict.history import Change, History, next_change
from headway.core.predict.rules import RULES, Rule, rule_of

LEAST_ERROR_EPOCHS = 0.5  # changes come with whole epochs
MOST_REGIMES = 64  # that are looked ahead
SURE = 1e9  # concentration of a declared trajectory


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """The trajectory that is kept for a job; it changes when a regime begins, or with news."""

    batch_sizes: tuple[int, ...]  # the present one first
    expected: tuple[float, ...]  # epochs of each, from the beginning of the present regime
    began_epoch: float
    concentration: float  # of the Dirichlet distribution of what is left
    learned_from: int = 0  # jobs that the prior was learned from; 0: the uniform prior


def outlook(
    adaptation: Adaptation,
    regimes: Sequence[Regime],
    history: History | None = None,
    rules: Mapping[str, Rule] = RULES,
) -> Outlook:
    """From what a job has run and what other jobs have shown.

    Without either it is the uniform prior: every configuration that is left takes as many epochs.
    """
    begun = regimes or (Regime(batch_size=adaptation.configurations[0], began_epoch=0.0),)
    if adaptation.starts:
        return _declared(adaptation, begun[-1])
    learned = None if history is None else _learned(adaptation, begun, history)
    return learned or _uniform(adaptation, begun[-1], rule_of(adaptation, rules))


def _uniform(adaptation: Adaptation, present: Regime, rule: Rule) -> Outlook:
    """The restatement rule's S_k = (N - sum(m)) / (K - k) for each; flat over all ways to split.

    The published concentration, one for each epoch, would be far too sure of itself.
    """
    sizes = rule.ahead(adaptation, present.batch_size)
    left = max(adaptation.epochs - present.began_epoch, 0.0)
    return Outlook(
        batch_sizes=sizes,
        expected=(left / len(sizes),) * len(sizes),
        began_epoch=present.began_epoch,
        concentration=float(len(sizes)),
    )


def _declared(adaptation: Adaptation, present: Regime) -> Outlook:
    """Nothing is random where the owner said when each configuration begins."""
    ends = (*adaptation.starts[1:], adaptation.epochs)
    # a change comes with a whole epoch, so a start between two of them counts from the next
    ahead = [
        (size, min(end, adaptation.epochs) - max(start, present.began_epoch))
        for size, start, end in zip(adaptation.configurations, adaptation.starts, ends, strict=True)
        if min(end, adaptation.epochs) > max(start, present.began_epoch)
    ] or [(present.batch_size, max(adaptation.epochs - present.began_epoch, 0.0))]
    sizes, expected = zip(*ahead, strict=True)
    return Outlook(
        batch_sizes=sizes,
        expected=expected,
        began_epoch=present.began_epoch,
        concentration=SURE,
    )


def _learned(adaptation: Adaptation, begun: Sequence[Regime], history: History) -> Outlook | None:
    """The trajectory that jobs which began alike went through; None where there are none."""
    initial, present = adaptation.configurations[0], begun[-1]
    sizes = [regime.batch_size / initial for regime in begun]
    like = history.like(adaptation, sizes)
    if not like:
        return None
    ahead, changes = [sizes[-1]], [Change(present.began_epoch, 0.0)]
    while len(ahead) < MOST_REGIMES:
        prefix = sizes + ahead[1:]
        coming = next_change(like, prefix, adaptation.epochs, changes[-1].at_epoch)
        if coming is None:
            break
        ahead.append(coming[0])
        changes.append(coming[1])
    moments = [
        *(change.at_epoch for change in changes),
        max(adaptation.epochs, present.began_epoch),
    ]
    expected = tuple(end - start for start, end in pairwise(moments))
    return Outlook(
        batch_sizes=tuple(round(size * initial) for size in ahead),
        expected=expected,
        began_epoch=present.began_epoch,
        concentration=_concentration(expected, changes),
        learned_from=len(like),
    )


def _concentration(expected: Sequence[float], changes: Sequence[Change]) -> float:
    """That of the Dirichlet whose first change is off by as much as it was among other jobs."""
    left = math.fsum(expected)
    if len(changes) < 2 or left <= 0:
        return SURE
    share = expected[0] / left
    error = max(changes[1].error_epochs, LEAST_ERROR_EPOCHS) / left
    return max(share * (1.0 - share) / error**2 - 1.0, float(len(expected)))
