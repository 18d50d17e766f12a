"""Handwritten digits (1,797 images of scikit-learn) by a small convolutional network."""

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
        nn.Conv2d(1, 24, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(24, 48, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Dropout(0.5),
        nn.Linear(48 * 2 * 2, 10),
    )


def main(argv: Sequence[str] | None = None) -> None:
    """Train; SGD 0.05 with momentum, tuned for a batch of 32."""
    wanted = kit.options("Digits by a convolutional network", epochs=200, target=0.96, argv=argv)
    images, labels = load_digits(return_X_y=True)
    task = kit.split(images.reshape(-1, 1, 8, 8) / 16, labels, test=360)
    torch.manual_seed(wanted.seed)
    with headway.attach() as job:
        net = network()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
        reached = kit.train_classifier(job, net, optimizer, task, wanted)
    kit.show(job, "digits-cnn accuracy", reached, wanted.target, better=operator.ge)


if __name__ == "__main__":
    main()
