"""The batch schedule of a job in a table: a declared one, or a rule with its numbers."""

from headway.core.errors import InvalidInputError
from headway.core.model.schedule import parse_schedule
from headway.core.types import BatchContract, BatchRule, RuleName, ScheduledBatch


def parse(text: str) -> tuple[tuple[ScheduledBatch, ...], BatchRule | None]:
    """``0:64 2M:128``, or ``accordion``, or with how often it looks and eta: ``accordion 10 0.5``.

    Raises:
        InvalidInputError: it is neither; the message says what is wrong.
    """
    words = text.split()
    if not words or words[0] not in list(RuleName):
        return parse_schedule(text), None
    rule = BatchRule(name=RuleName(words[0]))
    try:
        every = int(words[1]) if len(words) > 1 else rule.every_epochs
        eta = float(words[2]) if len(words) > 2 else rule.eta
    except ValueError:
        every, eta = 0, 0.0
    if every < 1 or not 0 < eta <= 1 or len(words) > 3:
        raise InvalidInputError(f"schedule: {text!r} is no rule; write it as in {words[0]} 10 0.5")
    return (), BatchRule(name=rule.name, every_epochs=every, eta=eta)


def text_of(batch: BatchContract) -> str:
    """What ``parse`` reads as the same; nothing where there is no schedule."""
    if batch.rule is not None:
        return f"{batch.rule.name} {batch.rule.every_epochs} {batch.rule.eta!r}"
    return " ".join(f"{step.from_samples}:{step.batch_size}" for step in batch.schedule)
