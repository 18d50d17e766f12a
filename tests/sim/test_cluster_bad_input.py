"""``--cluster``: what is no cluster, or one that no machine could count, is one clear line."""

from pathlib import Path

import pytest

from headway.core.errors import InvalidInputError
from headway.sim.cluster import MAX_GPUS, MAX_NODES, parse_cluster


@pytest.mark.parametrize(
    "text",
    [
        *("0x4", "4x0", "4x", "x", "-1x4", "1.5x4", "٤x٤", "a" * 300, "9" * 5000 + "x4"),
        *("4x" + "9" * 30, f"{MAX_NODES + 1}x1", f"1x{MAX_GPUS + 1}"),
    ],
)
def test_nonsense_is_bad_input(text: str) -> None:
    with pytest.raises(InvalidInputError, match="--cluster"):
        parse_cluster(text)


def test_the_largest_is_counted() -> None:
    assert parse_cluster(f"{MAX_NODES}x{MAX_GPUS}").gpus == MAX_NODES * MAX_GPUS


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("nodes: [{gpus: 4, speed: 3}]", "unknown field 'speed'"),
        ("nodes: [{gpus: 0}]", "gpus must be a whole number from 1"),
        (f"nodes: [{{gpus: {10**30}}}]", "gpus must be a whole number from 1"),
        (f"nodes: [{{gpus: 4, count: {10**8}}}]", "count must be a whole number from 1"),
        (f"nodes: [{{gpus: 4, count: {MAX_NODES}}}, {{gpus: 4}}]", "lower a count"),
        ("nodes: 2001-99-99", "is not YAML"),
        ("[" * 5000, "nested too deep"),
        (f"nodes: [{{gpus: 4}}]\nchanges: [{{at_s: {'9' * 400}, lost: node-0}}]", "at_s must be"),
        ("nodes: [{gpus: 4}]\nchanges: [{at_s: .inf, lost: node-0}]", "at_s must be"),
        ("nodes: [{gpus: 4}]\nchanges: [{at_s: .nan, lost: node-0}]", "at_s must be"),
    ],
)
def test_a_file_that_is_no_cluster_names_the_field(tmp_path: Path, text: str, named: str) -> None:
    """Most of these were a traceback, or never came to an end."""
    path = tmp_path / "cluster.yaml"
    path.write_text(text)
    with pytest.raises(InvalidInputError, match=named):
        parse_cluster(str(path))
