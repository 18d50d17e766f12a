"""The ratings are read from wherever they are, and every one of them is used."""

import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch

from benchmarks.ml100k import INSIDE, TEST, Factors, ratings, split

TEXT = "user_id:token\titem_id:token\trating:float\ttimestamp:float\n9\t70\t3\t881\n4\t70\t5\t882\n"


def wheel(folder: Path) -> Path:
    path = folder / "recbole-9.9-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as made:
        made.writestr(INSIDE, TEXT)
    return path


def test_they_are_the_same_from_a_folder_a_wheel_or_a_table(tmp_path: Path) -> None:
    packed = wheel(tmp_path)
    with_names, without = tmp_path / "ml-100k.inter", tmp_path / "u.data"
    with_names.write_text(TEXT)
    without.write_text(TEXT.split("\n", 1)[1])
    for where in (tmp_path, packed, with_names, without):
        assert ratings(where).tolist() == [[9, 70, 3, 881], [4, 70, 5, 882]]


def test_where_they_are_missing_it_is_said_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="pip download recbole"):
        ratings(tmp_path)


def test_they_are_split_once_and_counted_from_zero() -> None:
    count = TEST + 30
    users, items = np.arange(count) % 7 * 10, np.arange(count) % 5 + 100
    task = split(np.stack([users, items, np.arange(count), users], axis=1).astype(np.float64))
    pairs, known = task.train.tensors
    assert len(pairs) == 30
    assert sorted([*known.tolist(), *task.test_labels.tolist()]) == list(range(count))
    every = torch.cat([pairs, task.test_inputs])
    assert every.amin(0).tolist() == [0, 0]
    assert every.amax(0).tolist() == [6, 4]


def test_a_rating_is_what_is_usual_and_how_user_and_item_match() -> None:
    net = Factors(users=2, items=3, usual=3.5)
    for table in net.tables:
        torch.nn.init.constant_(table.weight, 0.5)
    torch.nn.init.constant_(net.biases[1].weight, 0.25)
    predicted, squares = net(torch.tensor([[0, 2], [1, 0]]))
    assert predicted.tolist() == [3.5 + 0.25 + 16 * 0.25] * 2
    assert squares.item() == 2 * 16 * 0.25
