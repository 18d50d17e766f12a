"""The truth in a cluster file: ratios by hand and from measured tables, and what is bad input."""

import gzip
import json
from pathlib import Path

import pytest

from headway.core.errors import InvalidInputError
from headway.core.types import widest
from headway.sim.cluster import parse_cluster
from headway.sim.hardware import Hardware

NODES = "nodes: [{gpus: 4, gpu_type: v100}, {gpus: 4, gpu_type: k80}]\n"
TABLE = {
    "v100": {"('ResNet-50 (batch size 64)', 1)": {"null": 8.0, "('A3C', 1)": [1.0, 2.0]}},
    "k80": {
        "('ResNet-50 (batch size 64)', 1)": {"null": 2.0},
        "('ResNet-50 (batch size 64)', 2)": {"null": 3.0},
        "('A3C', 1)": {"null": 0.0},
    },
}


def hardware(folder: Path, text: str) -> Hardware:
    path = folder / "mixed.yaml"
    path.write_text(NODES + text)
    return parse_cluster(str(path)).hardware


def test_nominal_speeds_are_told_to_everybody_and_the_truth_is_kept_apart(tmp_path: Path) -> None:
    path = tmp_path / "mixed.yaml"
    path.write_text(
        NODES + "gpu_types: {k80: {speed: 0.2}}\n"
        "truth: {measured_on: v100, ratios: {k80: {bert: 0.3}}, cross_rack_sync: 2}"
    )
    cluster = parse_cluster(str(path))
    assert [(node.gpu_type, node.speed) for node in cluster.nodes] == [("v100", 1.0), ("k80", 0.2)]
    assert cluster.hardware == Hardware(
        speeds={"v100": 1.0, "k80": 0.2},
        measured_on="v100",
        ratios={"k80": {"bert": 0.3}},
        cross_rack_sync=2.0,
    )
    assert widest(cluster.nodes) == 4


def test_ratios_from_a_table_of_gavels_by_explicit_rows(tmp_path: Path) -> None:
    (tmp_path / "table.json.gz").write_bytes(gzip.compress(json.dumps(TABLE).encode()))
    text = (
        "truth: {measured_on: v100, ratios: {k80: {bert: 0.3}}, throughputs: "
        "{file: table.json.gz, rows: {imagenet: ResNet-50 (batch size 64)}}}"
    )
    assert hardware(tmp_path, text).ratios == {"k80": {"imagenet": 0.25, "bert": 0.3}}


def test_published_tables_can_be_read(tmp_path: Path, shared_data: Path) -> None:
    """Gavel's simulation table: ResNet-50 with a batch of 64 on one GPU of each type."""
    table = shared_data / "gavel" / "simulation_throughputs.json.gz"
    text = (
        f"truth: {{measured_on: v100, throughputs: {{file: {table}, "
        "rows: {imagenet: ResNet-50 (batch size 64)}}}"
    )
    known = json.loads(gzip.decompress(table.read_bytes()))
    row = "('ResNet-50 (batch size 64)', 1)"
    share = known["k80"][row]["null"] / known["v100"][row]["null"]
    assert hardware(tmp_path, text).ratio("imagenet", "k80") == pytest.approx(share)
    assert 0.05 < share < 0.5


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("gpu_types: {a100: {speed: 2}}", "no node has GPUs of type 'a100'; there are k80, v100"),
        ("gpu_types: {k80: {speed: 0}}", r"gpu_types.k80.speed must be a number from 0.001"),
        ("gpu_types: {k80: {speed: yes}}", r"gpu_types.k80.speed must be a number"),
        ("gpu_types: {k80: {}}", r"gpu_types.k80.speed must be a number"),
        ("gpu_types: {k80: 2}", "gpu_types.k80 must be a mapping with speed"),
        ("gpu_types: [k80]", "gpu_types must be a mapping by GPU type"),
        ("truth: {ratios: {k80: {a: 1}}}", "name the GPU type of the profiles in measured_on"),
        ("truth: {measured_on: v100, ratios: {t4: {a: 1}}}", "no node has GPUs of type 't4'"),
        ("truth: {measured_on: v100, ratios: {k80: {a: -1}}}", "truth.ratios.k80.a must be"),
        ("truth: {measured_on: v100, ratios: {k80: 3}}", "ratios.k80 must be a mapping by profile"),
        ("truth: {cross_rack_sync: 0.5}", "cross_rack_sync must be a number from 1"),
        ("truth: {speed: 3}", "unknown field 'speed'"),
        ("truth: {measured_on: v100, throughputs: {rows: {}}}", "throughputs: file is missing"),
        ("truth: {measured_on: v100, throughputs: {file: no.json, rows: {}}}", "no.json"),
        (
            "truth: {measured_on: v100, throughputs: {file: mixed.yaml, rows: {}}}",
            "mixed.yaml is no throughput table",
        ),
        (
            "truth: {measured_on: p100, throughputs: {file: t.json, rows: {a: 'ResNet-50 "
            "(batch size 64)'}}}",
            "the file has no GPU type 'p100'; it has k80, v100",
        ),
        (
            "truth: {measured_on: v100, throughputs: {file: t.json, rows: {a: A3C}}}",
            "the file has no speed of 'A3C' on k80",
        ),
    ],
)
def test_bad_truth_is_named_with_its_place(tmp_path: Path, text: str, named: str) -> None:
    (tmp_path / "t.json").write_text(json.dumps(TABLE))
    with pytest.raises(InvalidInputError, match=named):
        hardware(tmp_path, text)
