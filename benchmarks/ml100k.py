"""Training script: the 100,000 film ratings of MovieLens by biased matrix factorisation.

``headway submit -- python benchmarks/ml100k.py --ratings FOLDER``; Adam 2e-3, tuned for 256. The
ratings may not be passed on, so none are here. The wheel of recbole on PyPI carries them, for
research: ``pip download recbole --no-deps --dest FOLDER``. Only that file is read, nothing of it is
imported. FOLDER may also be such a wheel, or MovieLens' own table of ratings.
"""

import argparse
import io
import operator
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

import headway.agent as headway
from headway.agent.demos import kit
from headway.agent.job import Job
from headway.core.types import Float64, FloatArray

WHEEL = "recbole-*.whl"
INSIDE = "recbole/dataset_example/ml-100k/ml-100k.inter"
FACTORS = 16
DECAY = 0.03  # of the rows that a batch looks up
TEST = 20_000
BATCH = 256


def ratings(where: Path) -> Float64[FloatArray, "ratings 4"]:
    """User, item, rating, and when; as the table has them."""
    wheels = sorted(where.glob(WHEEL)) if where.is_dir() else [where]
    if not wheels or not wheels[-1].is_file():
        raise SystemExit(f"--ratings {where}: no {WHEEL} there: pip download recbole --no-deps")
    if wheels[-1].suffix != ".whl":
        return table(wheels[-1].read_text(encoding="utf-8"))
    with zipfile.ZipFile(wheels[-1]) as wheel:
        return table(wheel.read(INSIDE).decode())


def table(text: str) -> Float64[FloatArray, "ratings 4"]:
    """Of lines of four numbers; a first line of names is passed over."""
    named = int(not text[:1].isdigit())
    return np.loadtxt(io.StringIO(text), skiprows=named, dtype=np.float64, ndmin=2)


def split(table: Float64[FloatArray, "ratings 4"]) -> kit.Task:
    """The last 20,000 of a fixed permutation are for testing; users and items from 0."""
    (_, users), (_, items) = (np.unique(table[:, c], return_inverse=True) for c in (0, 1))
    pairs = np.stack([users, items], axis=1)
    order = np.random.RandomState(0).permutation(len(table))
    x, y = torch.from_numpy(pairs[order]), torch.from_numpy(table[order, 2]).float()
    train = torch.utils.data.TensorDataset(x[:-TEST], y[:-TEST])
    return kit.Task(train, x[-TEST:], y[-TEST:])


class Factors(nn.Module):
    """A rating is what is usual, what is usual of the user and of the item, and how they match."""

    def __init__(self, users: int, items: int, usual: float) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(rows, FACTORS) for rows in (users, items))
        self.biases = nn.ModuleList(nn.Embedding(rows, 1) for rows in (users, items))
        self.usual = nn.Parameter(torch.tensor(usual))
        for embedding in self.tables:
            nn.init.normal_(embedding.weight, std=0.1)  # type: ignore[arg-type]
        for embedding in self.biases:
            nn.init.zeros_(embedding.weight)  # type: ignore[arg-type]

    def forward(self, pairs: Tensor) -> tuple[Tensor, Tensor]:
        """Ratings, and the mean square of the factors that they were made from."""
        user, item = (table(pairs[:, c]) for c, table in enumerate(self.tables))
        biases = [bias(pairs[:, c]).squeeze(1) for c, bias in enumerate(self.biases)]
        squares = (user.square().sum(1) + item.square().sum(1)).mean()
        return self.usual + biases[0] + biases[1] + (user * item).sum(1), squares


def train(job: Job, task: kit.Task, wanted: kit.Options) -> float:
    """The usual loop; the root of the mean squared error on the test ratings at the end."""
    pairs, known = task.train.tensors
    rows = torch.cat([pairs, task.test_inputs]).amax(0) + 1
    net = Factors(int(rows[0]), int(rows[1]), float(known.mean()))
    model = job.model(net)
    optimizer = job.optimizer(
        torch.optim.Adam(net.parameters(), lr=2e-3), lr_rule=wanted.lr_rule or "adam_scale"
    )
    loader = job.loader(task.train, batch_size=BATCH, seed=wanted.seed)
    scheduler = kit.cosine(job, optimizer)
    reached = float("inf")
    for epoch in job.epochs(wanted.epochs):
        for inputs, labels in loader:
            optimizer.zero_grad()
            predicted, squares = model(inputs)
            loss = (predicted - labels).square().mean() + DECAY * squares
            loss.backward()
            optimizer.step()
            job.step(loss=loss)
            scheduler.step()
        with torch.no_grad():
            predicted, _ = net(task.test_inputs)
            reached = float((predicted - task.test_labels).square().mean().sqrt())
        kit.tell(job, epoch, reached, wanted)
    return reached


def main(argv: Sequence[str] | None = None) -> None:
    """Train on 80,000, test on 20,000."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--ratings", type=Path, required=True, help="folder with recbole's wheel")
    own, others = parser.parse_known_args(argv)
    wanted = kit.options("Ratings of films", epochs=15, target=0.945, argv=others)
    task = split(ratings(own.ratings))
    torch.manual_seed(wanted.seed)
    with headway.attach() as job:
        reached = train(job, task, wanted)
    kit.show(job, "ml-100k error", reached, wanted.target, better=operator.le)


if __name__ == "__main__":
    main()
