"""Accordion and GNS: when a job that carries such a rule changes its batch size by itself.

- Accordion (Agarwal et al. 2021): while the gradient norm changes by the share eta or more between
  two looks the job is in a critical regime and trains at M0; otherwise at its largest batch.
- GNS (McCandlish et al. 2018, as in Shockwave's workloads): where the noise scale exceeds the batch
  the batch is doubled, up to the largest; it never shrinks.

Both look every so many epochs. The order of configurations is known beforehand, only how long
each lasts is not (Shockwave, section 5).
"""

from dataclasses import dataclass, replace
from math import isfinite

from headway.core.types import BatchContract, BatchRule, ChangeCode, RuleName


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochSigns:
    """What was measured in an epoch; None: nothing."""

    gradient_norm: float | None = None
    noise_scale: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleState:
    """What a rule remembers between epochs."""

    batch_size: int
    epochs: int = 0
    gradient_norm: float | None = None  # when it last looked


def configurations(contract: BatchContract) -> tuple[int, ...]:
    """The batch sizes that the rule can reach, in the order in which they first come."""
    first, most = contract.initial_batch_size, contract.max_batch_size
    if contract.rule is None or first >= most:
        return (first,)
    if contract.rule.name is RuleName.ACCORDION:
        return (first, most)
    sizes = [first]
    while sizes[-1] < most:
        sizes.append(min(2 * sizes[-1], most))
    return tuple(sizes)


def after_epoch(
    contract: BatchContract, rule: BatchRule, state: RuleState, signs: EpochSigns, *, may: bool
) -> tuple[RuleState, ChangeCode | None]:
    """The state after one more epoch, and why the batch size is another one where it is.

    Where it may not change the batch, the rule only goes on looking.
    """
    state = replace(state, epochs=state.epochs + 1)
    if state.epochs % rule.every_epochs:
        return state, None
    look = _accordion if rule.name is RuleName.ACCORDION else _gns
    wanted, code = look(contract, rule, state, signs)
    norm = signs.gradient_norm
    if norm is not None and isfinite(norm):
        state = replace(state, gradient_norm=norm)
    if wanted == state.batch_size or not may:
        return state, None
    return replace(state, batch_size=wanted), code


def _accordion(
    contract: BatchContract, rule: BatchRule, state: RuleState, signs: EpochSigns
) -> tuple[int, ChangeCode]:
    before, now = state.gradient_norm, signs.gradient_norm
    if before is None or now is None or not isfinite(now):
        return state.batch_size, ChangeCode.CRITICAL
    if abs(before - now) >= rule.eta * before:
        return contract.initial_batch_size, ChangeCode.CRITICAL
    return contract.max_batch_size, ChangeCode.CALM


def _gns(
    contract: BatchContract, rule: BatchRule, state: RuleState, signs: EpochSigns
) -> tuple[int, ChangeCode]:
    phi, size = signs.noise_scale, state.batch_size
    grows = phi is not None and phi > size
    return min(2 * size, contract.max_batch_size) if grows else size, ChangeCode.NOISE_ABOVE_BATCH
