"""From one generation of workers to the next without a restart, as far as that can be done."""

from dataclasses import dataclass
from enum import Enum, auto

from headway.agent.crew import Crew
from headway.agent.forkserver import Seat
from headway.agent.seats import Table
from headway.agent.switching import Switching
from headway.protocol.messages import Directive


class Outcome(Enum):
    """What has become of a switch in one turn."""

    WAITING = auto()
    ORDERED = auto()
    DROPPED = auto()  # before it was ordered: the crew trains on
    FAILED = auto()  # after that: whoever can saves and leaves


@dataclass
class Passage:
    """The switches of one job's workers, one at a time."""

    table: Table
    grace_s: float  # from the order of a switch until it has failed
    switching: Switching | None = None
    _given_up: int | None = None  # the generation to which no switch is tried any more

    def may(self, crew: Crew, wanted: Directive | None) -> bool:
        """Whether what is wanted may come about without a restart."""
        if wanted is None or not crew.switches or crew.asked:
            return False
        survives = any(worker.slot in wanted.slots for worker in crew.workers)
        return survives and not wanted.cancel and wanted.generation != self._given_up

    def begin(self, crew: Crew, wanted: Directive) -> tuple[Seat, ...]:
        """The newcomers that must get ready; perhaps none."""
        self.switching, seats = self.table.invite(wanted, crew)
        return seats

    def go_on(self, wanted: Directive | None, *, leaving: bool) -> Outcome:
        """Order it once everybody is ready; see whether it still can be done."""
        switching = self.switching
        if switching is None:
            return Outcome.WAITING
        goal = switching.directive.generation
        same = wanted is not None and bool(wanted.slots) and wanted.generation == goal
        cancelled = wanted is not None and wanted.cancel
        if switching.failed(self.grace_s) or cancelled:
            self._given_up = goal
        elif switching.ordered_s is not None:
            return Outcome.WAITING
        elif same and not leaving:
            return self._order(switching)
        self.drop()
        return Outcome.DROPPED if switching.ordered_s is None else Outcome.FAILED

    def joined(self, generation: int | None) -> bool:
        """Whether this news completes the switch."""
        switching = self.switching
        if switching is None or generation != switching.directive.generation:
            return False
        switching.complete()
        self.switching = None
        return True

    def drop(self) -> None:
        """Do without."""
        if self.switching is not None:
            self.switching.abandon()
        self.switching = None

    def _order(self, switching: Switching) -> Outcome:
        if not switching.ready:
            return Outcome.WAITING
        switching.order()
        self.table.order(switching.plan)
        return Outcome.ORDERED
