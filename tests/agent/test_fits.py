"""The largest batch that fits: found by doubling and bisection, in processes that may die of it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.agent.fits import Cache, find, largest

SCRIPT = """
import os, sys, torch
from torch import nn
from torch.utils.data import TensorDataset
import headway.agent as headway

width = int(sys.argv[1])
job = headway.attach()
model = job.model(nn.Sequential(nn.Linear(8, width), nn.Tanh(), nn.Linear(width, 2)))
optimizer = job.optimizer(torch.optim.Adam(model.parameters()), lr_rule="sqrt")
loader = job.loader(TensorDataset(torch.randn(50, 8), torch.zeros(50).long()), batch_size=4)
for epoch in job.epochs(3):
    for inputs, labels in loader:
        optimizer.zero_grad()
        {trouble}
        nn.functional.cross_entropy(model(inputs), labels).backward()
        optimizer.step()
        job.step()
job.finish()
"""
# as a GPU's allocator does, from the second step on: the optimizer has its state by then
FULL = """
        if optimizer.state and len(inputs) > (37 if job.worker == 0 else int(sys.argv[2])):
            raise torch.OutOfMemoryError("CUDA out of memory.")
"""


class Memory:
    """Room for so many."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.tried: list[int] = []
        self.limit_bytes: int | None = None
        self.identity: str | None = None

    def fits(self, samples: int) -> bool:
        self.tried.append(samples)
        self.identity = "a model"
        return samples <= self.room


@given(room=st.integers(0, 5000), most=st.integers(1, 4096), known=st.integers(0, 5000))
def test_it_is_the_largest_that_fits_and_few_are_tried(room: int, most: int, known: int) -> None:
    memory, known = Memory(room), min(known, room, most)
    assert largest(memory.fits, most, known) == min(room, most)
    assert len(memory.tried) <= 2 * most.bit_length() + 2
    assert all(known < samples <= most for samples in memory.tried)


@given(room=st.integers(1, 600), asked=st.lists(st.integers(1, 600), min_size=1, max_size=4))
def test_what_was_found_is_looked_up(
    tmp_path_factory: pytest.TempPathFactory, room: int, asked: list[int]
) -> None:
    cache, most = Cache(tmp_path_factory.mktemp("c") / "fits.json"), 0
    for now in asked:
        memory = Memory(room)
        assert find(memory, now, cache) == min(room, now)  # type: ignore[arg-type]
        if now <= most:  # asked before: one trial, to know what model it is
            assert len([size for size in memory.tried if size > 2]) == 0
        most = max(most, now)


def run(folder: Path, trouble: str, *words: str, arguments: tuple[str, ...] = ("64", "37")) -> str:
    (folder / "train.py").write_text(SCRIPT.replace("{trouble}", trouble.strip() or "pass"))
    before = (sys.executable, "-m", "headway.agent.fits", f"--cache={folder / 'fits.json'}")
    done = subprocess.run(
        [*before, *words, "--", "train.py", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=170,
        check=False,
    )
    return f"{done.returncode} {done.stdout}{done.stderr}"


def test_a_script_is_tried_until_its_memory_is_full(tmp_path: Path) -> None:
    assert run(tmp_path, FULL) == "0 max_per_gpu: 37\n"
    (kept,) = json.loads((tmp_path / "fits.json").read_text()).values()
    assert kept == [37, 4096]


def test_the_worker_with_the_least_room_decides(tmp_path: Path) -> None:
    said = run(tmp_path, FULL, "--workers=2", "--most=64", arguments=("64", "21"))
    assert "max_per_gpu: 21\n" in said


def test_real_memory_of_a_cpu(tmp_path: Path) -> None:
    """A sample takes 0.8 MB of activations, as much again of gradients, and some to work with."""
    bare = "import torch, psutil; print(psutil.Process().memory_info().vms)"
    vms = subprocess.run([sys.executable, "-c", bare], capture_output=True, check=True).stdout
    limit = int(vms) + 450_000_000
    code, said = run(
        tmp_path, "", f"--memory-bytes={limit}", "--most=512", arguments=("200000", "")
    ).split(" ", 1)
    assert code == "0", said
    found = int(said.split("max_per_gpu: ")[1].split()[0])
    assert 4 <= found < 512


@pytest.mark.parametrize(
    ("trouble", "said"),
    [
        ("raise ValueError('odd labels')", "ValueError: odd labels"),
        ("raise SystemExit(0)", "train.py: it does not train"),
        ("raise torch.OutOfMemoryError('no')", "not even one sample fits"),
    ],
)
def test_another_trouble_is_not_taken_for_memory(tmp_path: Path, trouble: str, said: str) -> None:
    found = run(tmp_path, trouble)
    assert found.startswith("2 ")
    assert said in found
    assert "headway: " in found.splitlines()[-1]
