"""Checkpoints: whole or not there, repeatable, loadable without unpickling code."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
import torch

from headway.agent.checkpoint import KEPT, CheckpointStore, LineLog
from headway.agent.job import MisuseError


def test_any_number_of_saves_and_the_last_two_are_kept(tmp_path: Path) -> None:
    """AdaptDL's second save in one incarnation raised "Directory not empty" and wedged the job."""
    store = CheckpointStore(tmp_path / "checkpoints")
    for number in range(5):
        store.save({"number": number, "tensor": torch.full((3,), float(number))})
        loaded = store.load()
        assert loaded is not None
        assert loaded["number"] == number
        assert torch.equal(loaded["tensor"], torch.full((3,), float(number)))
    names = sorted(path.name for path in store.folder.iterdir())
    assert names == ["00000004.json", "00000004.pt", "00000005.json", "00000005.pt"]
    assert len(names) == 2 * KEPT


def test_without_a_checkpoint_there_is_nothing(tmp_path: Path) -> None:
    assert CheckpointStore(tmp_path / "never").load() is None


@pytest.mark.parametrize("damage", ["short", "flipped", "no manifest", "torn manifest"])
def test_a_damaged_one_is_noticed_and_the_one_before_is_used(tmp_path: Path, damage: str) -> None:
    store = CheckpointStore(tmp_path)
    store.save({"number": 1})
    store.save({"number": 2})
    state, manifest = tmp_path / "00000002.pt", tmp_path / "00000002.json"
    body = state.read_bytes()
    if damage == "short":
        state.write_bytes(body[:-10])
    elif damage == "flipped":
        state.write_bytes(body[:100] + bytes([body[100] ^ 1]) + body[101:])
    elif damage == "no manifest":
        manifest.unlink()
    else:
        manifest.write_bytes(manifest.read_bytes()[:20])
    with pytest.warns(UserWarning, match="00000002.pt is damaged"):
        loaded = store.load()
    assert loaded == {"number": 1}
    store.save({"number": 3})
    assert store.load() == {"number": 3}


def test_a_save_that_dies_half_way_leaves_the_last_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = CheckpointStore(tmp_path)
    store.save({"number": 1})

    def no_space(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as full:
        full.setattr(os, "fsync", no_space)
        with pytest.raises(OSError, match="No space"):
            store.save({"number": 2})
    assert store.load() == {"number": 1}
    store.save({"number": 2})
    assert store.load() == {"number": 2}


@pytest.mark.parametrize("replaced", [0, 1])  # how many files were complete when it was killed
def test_a_writer_that_is_killed_leaves_nothing_to_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, replaced: int
) -> None:
    """Written while training goes on, a checkpoint may be cut anywhere; the next must not fear."""
    store, real, left = CheckpointStore(tmp_path), Path.replace, [replaced]
    store.save({"number": 1})

    def dies(path: Path, target: Path) -> Path:
        if left[0] == 0:
            raise KeyboardInterrupt
        left[0] -= 1
        return real(path, target)

    with monkeypatch.context() as killed:
        killed.setattr(Path, "replace", dies)
        with pytest.raises(KeyboardInterrupt):
            store.save({"number": 2})
    assert store.load() == {"number": 1}
    store.save({"number": 3})
    assert store.load() == {"number": 3}


def test_what_a_crash_cut_short_is_none_of_the_two_that_are_kept(tmp_path: Path) -> None:
    """It once took the place of a whole one, which left nothing to fall back on."""
    store = CheckpointStore(tmp_path)
    store.save({"number": 1})
    (tmp_path / "00000002.pt").write_bytes(b"half")
    store.save({"number": 3})
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["00000001.json", "00000001.pt", "00000003.json", "00000003.pt"]


def test_an_object_that_needs_code_to_load_is_found_when_it_is_saved(tmp_path: Path) -> None:
    """torch >= 2.6 refuses it at resume, which is too late."""
    store = CheckpointStore(tmp_path)
    with pytest.raises(MisuseError, match=r"state\['part'\]\[0\] is a LineLog"):
        store.save({"part": [LineLog(tmp_path)]})
    with pytest.raises(MisuseError, match="is a float64"):
        store.save({"rate": np.float64(0.1)})
    assert store.load() is None


def test_a_log_survives_a_line_that_a_crash_cut(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    log = LineLog(path)
    assert log.lines() == []
    log.append(b'{"a":1}')
    with path.open("ab") as file:
        file.write(b'{"b":')
    log.append(b'{"c":3}')
    assert [json.loads(line) for line in log.lines()] == [{"a": 1}, {"c": 3}]
