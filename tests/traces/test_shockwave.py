"""The tables agree with what the published simulator gives, epoch by epoch."""

import csv
from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.traces.shockwave import DOUBLES_AT, LARGEST, MODES, Key, batch_sizes, configurations

KEYS = st.sampled_from([*DOUBLES_AT, Key("Transformer", 16, 1), Key("LM", 5, 8)])


def test_every_published_regime(shared_data: Path) -> None:
    """``batch_size_regimes.csv``: the published rules, evaluated for 100 and for 300 epochs."""
    jobs: dict[tuple[str, ...], list[int]] = defaultdict(list)
    with (shared_data / "shockwave" / "batch_size_regimes.csv").open() as file:
        for row in csv.DictReader(file):
            names = ("policy", "model", "initial_batch_size", "scale_factor", "num_epochs")
            length = int(row["last_epoch"]) - int(row["first_epoch"]) + 1
            jobs[tuple(row[name] for name in names)] += [int(row["batch_size"])] * length
    assert len(jobs) > 100
    for (mode, model, size, workers, epochs), expected in jobs.items():
        key = Key(model, int(size), 1 if workers == "any" else int(workers))
        assert list(batch_sizes(mode, key, int(epochs))) == expected, (mode, key, epochs)


@given(mode=st.sampled_from(MODES), key=KEYS, epochs=st.integers(1, 400))
def test_only_configurations_of_the_rule_are_reached(mode: str, key: Key, epochs: int) -> None:
    sizes = batch_sizes(mode, key, epochs)
    assert len(sizes) == epochs
    assert sizes[0] == key.batch_size == configurations(mode, key)[0]
    assert set(sizes) <= set(configurations(mode, key))
    assert max(sizes) <= LARGEST.get(key.model, key.batch_size)


@pytest.mark.parametrize(
    ("epochs", "last"),
    [(12, [10, 20]), (21, [20, 20]), (22, [20, 10]), (23, [40, 10]), (43, [80, 10])],
)
def test_a_job_that_ends_behind_its_second_doubling_falls_back(
    epochs: int, last: list[int]
) -> None:
    """LM from 10 on one GPU doubles at 11, 21 and 41; the published loop ends one early."""
    assert list(batch_sizes("gns", Key("LM", 10, 1), epochs)[-2:]) == last
