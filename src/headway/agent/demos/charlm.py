"""A character transformer on the text of Python's own documentation topics."""

import math
import operator
from collections.abc import Sequence
from pydoc_data.topics import topics

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import TensorDataset

import headway.agent as headway
from headway.agent.demos import kit
from headway.agent.job import Job

CONTEXT = 64  # characters that it sees
WIDTH = 64


class CharTransformer(nn.Module):
    """Two layers, four heads: predicts every next character of a window."""

    def __init__(self, characters: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(characters, WIDTH)
        self.place = nn.Parameter(torch.randn(CONTEXT, WIDTH) * 0.02)
        layer = nn.TransformerEncoderLayer(
            WIDTH,
            nhead=4,
            dim_feedforward=4 * WIDTH,
            dropout=0.0,
            batch_first=True,
            norm_first=True,
        )
        self.layers = nn.TransformerEncoder(layer, num_layers=2, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, characters)
        ahead = torch.full((CONTEXT, CONTEXT), -math.inf).triu(diagonal=1)
        self.register_buffer("mask", ahead, persistent=False)

    def forward(self, text: Tensor) -> Tensor:
        hidden = self.embed(text) + self.place
        hidden = self.layers(hidden, mask=self.get_buffer("mask"), is_causal=True)
        logits: Tensor = self.head(self.norm(hidden))
        return logits


def windows() -> tuple[TensorDataset, Tensor, int]:
    """Training windows, testing windows (the last tenth of the text), and the alphabet's size."""
    text = "".join(topics[name] for name in sorted(topics))
    alphabet, codes = np.unique(np.array(list(text)), return_inverse=True)
    whole = (len(codes) - 1) // CONTEXT
    inputs = codes[: whole * CONTEXT].reshape(whole, CONTEXT)
    nexts = codes[1 : whole * CONTEXT + 1].reshape(whole, CONTEXT)
    both = torch.from_numpy(np.stack([inputs, nexts], axis=1).astype(np.int64))
    cut = whole * 9 // 10
    return TensorDataset(both[:cut]), both[cut:], len(alphabet)


def loss_of(model: nn.Module, both: Tensor) -> Tensor:
    """Nats per character of windows and what follows each of their characters."""
    logits = model(both[:, 0])
    return nn.functional.cross_entropy(logits.flatten(0, 1), both[:, 1].flatten())


@torch.no_grad()
def tested(net: nn.Module, test: Tensor) -> float:
    """Nats per character on text that it was not trained on."""
    net.eval()
    parts = torch.split(test, 128)
    total = math.fsum(float(loss_of(net, part)) * len(part) for part in parts)
    net.train()
    return total / len(test)


def train(job: Job, wanted: kit.Options) -> float:
    """Adam 1e-3, tuned for a batch of 16 windows."""
    train_windows, test, characters = windows()
    net = CharTransformer(characters)
    model = job.model(net)
    rule = wanted.lr_rule or "adam_scale"
    optimizer = job.optimizer(torch.optim.Adam(net.parameters(), lr=1e-3), lr_rule=rule)
    loader = job.loader(train_windows, batch_size=16, seed=wanted.seed)
    scheduler = kit.cosine(job, optimizer)
    for epoch in job.epochs(wanted.epochs):
        for (both,) in loader:
            optimizer.zero_grad()
            loss = loss_of(model, both)
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            job.step(loss=loss)
            scheduler.step()
        if job.worker == 0:  # the others wait at their next step
            kit.tell(job, epoch, tested(net, test), wanted)
    return tested(net, test) if job.worker == 0 else math.nan


def main(argv: Sequence[str] | None = None) -> None:
    """Train and show."""
    wanted = kit.options("Text by a transformer", epochs=6, target=1.85, argv=argv)
    torch.manual_seed(wanted.seed)
    with headway.attach() as job:
        reached = train(job, wanted)
    kit.show(job, "charlm nats per character", reached, wanted.target, better=operator.le)


if __name__ == "__main__":
    main()
