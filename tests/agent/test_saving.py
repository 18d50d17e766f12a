"""Who saves when a switch has failed, and in which order the parts are restored."""

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from headway.agent.checkpoint import CheckpointStore
from headway.agent.exchange import Exchange
from headway.agent.saving import Saver
from headway.protocol.messages import EpochCount


def a_saver(folder: Path, *, first: bool = False) -> Saver:
    saver = Saver(CheckpointStore(folder), Exchange(0, 1), first=first)
    saver.register("model", nn.Linear(2, 1))
    return saver


def gathered(saver: Saver, samples: int) -> dict[str, Any]:
    return saver.gather({"cursor": {"samples": samples}}, np.zeros(3, dtype=np.int32))


def test_of_those_that_stay_one_saves(tmp_path: Path) -> None:
    """Whoever comes first: worker 0 may be the one that was killed."""
    one, other = a_saver(tmp_path), a_saver(tmp_path)
    one.rescue(gathered(one, 64), "2 64")
    other.rescue(gathered(other, 64), "2 64")
    assert len(list(tmp_path.glob("*.pt"))) == 1
    other.rescue(gathered(other, 96), "3 96")
    again = a_saver(tmp_path, first=True)
    assert again.saved("cursor") == {"samples": 96}
    assert torch.equal(again.saved("parts")["model"]["weight"], other.parts()["model"]["weight"])


def test_a_mark_that_cannot_be_read_stops_nobody(tmp_path: Path) -> None:
    one = a_saver(tmp_path)
    one.rescue(gathered(one, 64), "2 64")
    (tmp_path / "00000001.json").write_text("{")
    one.rescue(gathered(one, 64), "2 64")
    assert a_saver(tmp_path, first=True).saved("cursor") == {"samples": 64}


def test_training_goes_on_while_a_copy_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is saved is the moment of the order; its epochs are safe when it is, and not before."""
    may_go_on, real = threading.Event(), CheckpointStore.save

    def slow(store: CheckpointStore, state: dict[str, Any], *, mark: str = "") -> bool:
        may_go_on.wait()
        return real(store, state, mark=mark)

    monkeypatch.setattr(CheckpointStore, "save", slow)
    saver = a_saver(tmp_path, first=True)
    weight = saver.parts()["model"]["weight"]
    before = weight.clone()
    saver.epochs.append(EpochCount(epoch=0, samples=3, read_least=1, read_most=1))
    assert saver.save(gathered(saver, 64), wait=False) == ()
    weight.zero_()
    saver.epochs.append(EpochCount(epoch=1, samples=3, read_least=1, read_most=1))
    assert saver.writes
    may_go_on.set()
    assert [one.epoch for one in saver.settled()] == [0]
    again = a_saver(tmp_path, first=True)
    assert torch.equal(again.saved("parts")["model"]["weight"], before)
    assert [one.epoch for one in saver.save(gathered(saver, 96), wait=True)] == [1]
    assert saver.settled() == ()


def test_a_copy_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file where the folder should be")
    saver = a_saver(tmp_path / "taken", first=True)
    saver.save(gathered(saver, 64), wait=False)
    with pytest.raises(FileExistsError):
        saver.settled()


def test_what_comes_last_is_restored_last(tmp_path: Path) -> None:
    """A learning-rate scheduler sets the rate of its optimizer when it is restored."""
    restored = []

    class Part:
        def __init__(self, name: str) -> None:
            self.name = name

        def state_dict(self) -> dict[str, Any]:
            return {}

        def load_state_dict(self, _: dict[str, Any], /) -> None:
            restored.append(self.name)

    saver = Saver(CheckpointStore(tmp_path), Exchange(0, 1), first=True)
    saver.register("optimizer", Part("optimizer"), last=True)
    saver.register("scheduler", Part("scheduler"))
    states: dict[str, dict[str, Any]] = {"optimizer": {}, "scheduler": {}}
    saver.load(states, of=lambda name, state: True)
    assert restored == ["scheduler", "optimizer"]
    saver.load(states, of=lambda name, state: name == "optimizer")
    assert restored == ["scheduler", "optimizer", "optimizer"]
