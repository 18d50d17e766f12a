"""This machine as a node."""

import os
from pathlib import Path

from headway.engines.machine import cpus, memory_gb, this_node


def test_a_process_that_is_tied_to_one_cpu_has_one() -> None:
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(before)})
        assert cpus() == 1.0
    finally:
        os.sched_setaffinity(0, before)
    assert cpus() == len(before)


def test_memory_is_the_machines_or_what_a_container_is_given(tmp_path: Path) -> None:
    limit = tmp_path / "memory.max"
    whole = memory_gb(limit)
    assert whole is not None
    assert whole > 0.1
    limit.write_text("max\n")
    assert memory_gb(limit) == whole
    limit.write_text("50000000\n")
    assert memory_gb(limit) == 0.05


def test_the_node_has_all_of_it() -> None:
    node = this_node(2, "cpu")
    assert (node.gpus, node.gpu_type, node.cpus) == (2, "cpu", cpus())
    assert node.memory_gb == memory_gb()
