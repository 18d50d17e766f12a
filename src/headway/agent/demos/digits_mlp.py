"""Handwritten digits (1,797 images of scikit-learn) by a small multilayer perceptron."""

import operator
from collections.abc import Sequence

import torch
from sklearn.datasets import load_digits
from torch import nn

import headway.agent as headway
from headway.agent.demos import kit


def network() -> nn.Sequential:
    """What is trained."""
    return nn.Sequential(
        nn.Dropout(0.2),
        nn.Linear(64, 512),
        nn.ReLU(),
        nn.Linear(512, 512),
        nn.ReLU(),
        nn.Linear(512, 10),
    )


def main(argv: Sequence[str] | None = None) -> None:
    """Train; SGD 0.05 with momentum, tuned for a batch of 32."""
    wanted = kit.options("Digits by a perceptron", epochs=200, target=0.95, argv=argv)
    images, labels = load_digits(return_X_y=True)
    task = kit.split(images / 16, labels, test=360)
    torch.manual_seed(wanted.seed)
    with headway.attach() as job:
        net = network()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
        reached = kit.train_classifier(job, net, optimizer, task, wanted)
    kit.show(job, "digits-mlp accuracy", reached, wanted.target, better=operator.ge)


if __name__ == "__main__":
    main()
