"""A crew on its way to become the next generation: who stays, who comes, and how it goes.

Newcomers get ready while the others train on; only then is the switch ordered.
"""

import signal
import time
from dataclasses import dataclass, field

from headway.agent.crew import Crew, Worker, send
from headway.protocol.messages import Directive, SwitchPlan

PREPARE_S = 600.0  # newcomers may have data to load


@dataclass
class Switching:
    """One switch of one crew."""

    crew: Crew
    directive: Directive
    plan: SwitchPlan
    staying: list[Worker]
    began_s: float = field(default_factory=time.monotonic)
    ordered_s: float | None = None

    @property
    def ready(self) -> bool:
        """Whether all newcomers can join at any moment."""
        return all(worker.ready for worker in self.crew.coming)

    def failed(self, within_s: float) -> bool:
        """Whether it cannot be completed, or has taken too long since it was ordered.

        Workers that finish meanwhile have done nothing wrong: their crew is about to end.
        """
        if any(worker.code is not None for worker in self.crew.coming):
            return True
        now_s = time.monotonic()
        if self.ordered_s is None:
            return now_s - self.began_s > PREPARE_S
        lost = any(worker.code not in {None, 0} for worker in self.staying)
        return lost or now_s - self.ordered_s > within_s

    def order(self) -> None:
        """The workers are told: from now on some leave, as they should."""
        self.ordered_s = time.monotonic()
        self.crew.crossing, self.crew.stepped = True, False

    def complete(self) -> None:
        """The crew is of the next generation, and has yet to make a step."""
        crew = self.crew
        crew.parted += [worker for worker in crew.workers if worker not in self.staying]
        crew.workers = [*self.staying, *crew.coming]
        crew.coming = []
        crew.generation = self.directive.generation
        for rank, worker in enumerate(crew.workers):
            worker.rank = rank
        crew.crossing, crew.unproven = False, True

    def abandon(self) -> None:
        """Do without the newcomers."""
        send(self.crew.coming, signal.SIGKILL)
        self.crew.parted += self.crew.coming
        self.crew.coming = []
        self.crew.crossing = False
