"""The table of nodes."""

from typing import Any

from headway.cli.nodes import table

NODE: dict[str, Any] = {
    "node_id": "n0",
    "gpu_type": "a100",
    "rack": None,
    "speed": 1.0,
    "gpus": 4,
    "free_gpus": 1,
    "cpus": None,
    "free_cpus": None,
    "memory_gb": None,
    "free_memory_gb": None,
    "jobs": {"wide": 3},
}


def test_cpus_and_memory_have_columns_where_a_node_says_how_much_it_has() -> None:
    columns, rows = table([NODE])
    assert columns == ("node", "type", "rack", "speed", "gpus", "free", "jobs")
    assert rows == [("n0", "a100", "-", "1", "4", "1", "wide 3")]
    told = NODE | {"node_id": "n1", "memory_gb": 64.0, "free_memory_gb": 12.5}
    columns, rows = table([NODE, told])
    assert columns[-2:] == ("memory_gb", "jobs")
    assert [row[-2] for row in rows] == ["-", "12.5/64"]
