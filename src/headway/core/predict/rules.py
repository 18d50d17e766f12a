"""Rules by which a job changes its batch size: what may come next, never when.

A forecast needs one method of a rule. A new one that listens to the gradient needs that and a name
in the mapping that ``outlook`` is given.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, final

from headway.core.adaptation import DECLARED, STATIC, Adaptation


class Rule(Protocol):
    """How a job adapts its batch size: the order is known, the moments are not."""

    def ahead(self, adaptation: Adaptation, batch_size: int) -> tuple[int, ...]:
        """The present configuration and those that may still follow, in order."""
        ...


@final
@dataclass(frozen=True)
class Static:
    """The batch size stays as it is."""

    def ahead(self, adaptation: Adaptation, batch_size: int) -> tuple[int, ...]:
        """Only the present one."""
        return (batch_size,)


@final
@dataclass(frozen=True)
class Ladder:
    """Configurations in their order; a size that is none of them stands alone.

    So it is with declared schedules, with a noise scale that lets the batch grow step by step, and
    with Accordion, whose small size is followed by the large one. Accordion may come back: what
    follows the large size only other jobs can show, and from the small one it goes up again.
    """

    def ahead(self, adaptation: Adaptation, batch_size: int) -> tuple[int, ...]:
        """All from the present one on."""
        sizes = adaptation.configurations
        return sizes[sizes.index(batch_size) :] if batch_size in sizes else (batch_size,)


RULES: Mapping[str, Rule] = {
    STATIC: Static(),
    DECLARED: Ladder(),
    "accordion": Ladder(),
    "gns": Ladder(),
}
OTHER = Ladder()  # a rule that is not known by name


def rule_of(adaptation: Adaptation, rules: Mapping[str, Rule] = RULES) -> Rule:
    """The rule of a job; one that nobody knows goes through its configurations in order."""
    return rules.get(adaptation.rule, OTHER)
