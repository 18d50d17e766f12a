"""Is each sample read once an epoch, whatever sizes the job is given on the way?

``python benchmarks/accounting.py [--sequences N] [--json]``: epochs of 1 to 400 samples through the
agent's loader, with a random sequence of workers, batch sizes and passes, a worker yielding at a
random step each time. Counts what the workers were handed and what the loader says they were.
"""

import json
import random
from dataclasses import dataclass, field

import click
import numpy as np
import torch
from torch.utils.data import DataLoader, TensorDataset

from headway.agent.data import ElasticLoader
from headway.agent.plan import Cursor, Pass, Split

INITIAL = 8


class YieldedError(Exception):
    """The worker leaves at a step boundary."""


@dataclass
class Driver:
    """Moves on at the last pass of a step, and yields after so many steps."""

    loader: ElasticLoader
    split: Split
    cursor: Cursor
    left: int
    halve_every: int
    steps: int = 0
    made: list[Pass] = field(default_factory=list)

    def begin_pass(self, one: Pass) -> None:
        self.made = [*self.made, one] if one.index else [one]

    def end_pass(self, one: Pass) -> bool:
        if one.last:
            self.loader.made(self.made)
            self.cursor.move(one.step_size, 0.0)
            self.steps += 1
            self.left -= 1
            if self.left == 0:
                raise YieldedError
        return False

    def end_epoch(self) -> None:
        """Nothing is left."""


def generation(
    data: TensorDataset, split: Split, position: int, steps: int, halve_every: int
) -> tuple[int, np.ndarray, np.ndarray]:
    """Where all workers of one allocation stop; what they were handed, and what they counted."""
    handed, counted = np.zeros((2, len(data)), dtype=np.int64)
    reached = position
    for worker in range(split.workers):
        source = DataLoader(data, batch_size=INITIAL, shuffle=True)
        loader = ElasticLoader(source, seed=3, worker=worker, initial_batch_size=INITIAL)
        driver = Driver(loader, split, Cursor(position=position), steps, halve_every)
        loader.drive(driver)
        try:
            for (batch,) in loader:
                if driver.made[-1].samples:
                    np.add.at(handed, batch.numpy(), 1)
        except YieldedError:
            pass
        counted += loader.counts
        reached = driver.cursor.position
    return reached, handed, counted


def epoch(rng: random.Random) -> tuple[bool, int]:
    """Whether every sample was handed out and counted once, and how many sizes there were."""
    data = TensorDataset(torch.arange(rng.randint(1, 400)))
    handed, counted = np.zeros((2, len(data)), dtype=np.int64)
    position, sizes = 0, 0
    while position < len(data):
        split = Split(rng.randint(1, 120), rng.randint(1, 8), rng.randint(1, 40))
        halve_every = rng.choice((0, 2, 4)) if split.workers == 1 else 0
        position, more, told = generation(data, split, position, rng.randint(1, 4), halve_every)
        handed, counted, sizes = handed + more, counted + told, sizes + 1
    return bool((handed == 1).all() and (counted == 1).all()), sizes


@click.command()
@click.option("--sequences", default=1000, show_default=True, type=click.IntRange(1))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def main(sequences: int, as_json: bool) -> None:
    """Read many epochs."""
    rng = random.Random(0)
    found = [epoch(rng) for _ in range(sequences)]
    answer = {
        "sequences": sequences,
        "once": sum(right for right, _ in found),
        "most_sizes": max(sizes for _, sizes in found),
    }
    click.echo(json.dumps(answer) if as_json else str(answer))


if __name__ == "__main__":
    main()
