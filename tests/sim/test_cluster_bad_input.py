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


UNIVERSE = "&a [x, x], &b [*a, *a], " + ", ".join(
    f"&{chr(at)} [*{chr(at - 1)}, *{chr(at - 1)}]" for at in range(ord("c"), ord("z") + 1)
)
HUGE = "0x" + "f" * 9000


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (f"nodes: [{{gpus: {HUGE}}}]", "gpus must be .* not a huge number"),
        (f"nodes: [{{gpus: 4}}]\nchanges: [{{at_s: {HUGE}, lost: x}}]", "not a huge number"),
        (f"nodes: [{{gpus: [{UNIVERSE}]}}]", "gpus must be a whole number"),
        (f"nodes: [{{gpus: 4, gpu_type: [{UNIVERSE}]}}]", "gpu_type must be a name"),
        ('nodes: [{gpus: 4, gpu_type: "\\uD800"}]', "gpu_type must be a name"),
        ("nodes: [{gpus: 4, rack: null}]", "rack must be a name .* not None"),
        ("nodes: [{gpus: 4, rack: true}]", "rack must be a name .* not True"),
        ("nodes: [{gpus: 4}]\ntruth: &t {measured_on: *t}", "measured_on must be a name"),
        ("nodes: [{gpus: 4}]\nnodes: [{gpus: 8}]", "'nodes' is named twice"),
    ],
)
def test_a_value_that_yaml_makes_large_or_odd_is_shown_in_short(
    tmp_path: Path, text: str, named: str
) -> None:
    """Past bugs: tracebacks, a rack called None, and messages that aliases made endless."""
    path = tmp_path / "cluster.yaml"
    path.write_text(text)
    with pytest.raises(InvalidInputError, match=named) as raised:
        parse_cluster(str(path))
    assert len(str(raised.value)) < 1000


@pytest.mark.parametrize(
    ("file", "named"),
    [('"a\\0b"', "file must be a name"), ("speeds.json", "no speed of 'LM' on v100")],
)
def test_a_table_of_speeds_that_no_gpu_has_is_refused(
    tmp_path: Path, file: str, named: str
) -> None:
    """Past bug: a ratio of 1e616 was taken, and every job of it ended at once or never."""
    row = "('LM', 1)"
    (tmp_path / "speeds.json").write_text(
        f'{{"t4": {{"{row}": {{"null": 1}}}}, "v100": {{"{row}": {{"null": 1e308}}}}}}'
    )
    path = tmp_path / "cluster.yaml"
    path.write_text(
        "nodes: [{gpus: 4, gpu_type: t4}, {gpus: 4, gpu_type: v100}]\n"
        f"truth: {{measured_on: t4, throughputs: {{file: {file}, rows: {{bert: LM}}}}}}"
    )
    with pytest.raises(InvalidInputError, match=named):
        parse_cluster(str(path))
