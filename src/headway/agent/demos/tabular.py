"""Breast-cancer diagnoses (569 rows of 30 columns, scikit-learn) by a small perceptron."""

import operator
from collections.abc import Sequence

import numpy as np
import torch
from sklearn.datasets import load_breast_cancer
from torch import nn

import headway.agent as headway
from headway.agent.demos import kit


def network() -> nn.Sequential:
    """What is trained."""
    return nn.Sequential(
        nn.Dropout(0.2),
        nn.Linear(30, 512),
        nn.ReLU(),
        nn.Linear(512, 512),
        nn.ReLU(),
        nn.Linear(512, 2),
    )


def main(argv: Sequence[str] | None = None) -> None:
    """Train; SGD 0.05 with momentum, tuned for a batch of 32."""
    wanted = kit.options("Diagnoses by a perceptron", epochs=400, target=0.95, argv=argv)
    columns, labels = load_breast_cancer(return_X_y=True)
    columns = (columns - np.mean(columns, axis=0)) / np.std(columns, axis=0)
    task = kit.split(columns, labels, test=114)
    torch.manual_seed(wanted.seed)
    with headway.attach() as job:
        net = network()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-3)
        reached = kit.train_classifier(job, net, optimizer, task, wanted)
    kit.show(job, "tabular accuracy", reached, wanted.target, better=operator.ge)


if __name__ == "__main__":
    main()
