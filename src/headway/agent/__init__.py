"""What runs inside a training job; the only place that imports torch.

::

    import headway.agent as headway

    job = headway.attach()
    model = job.model(Net())
    optimizer = job.optimizer(torch.optim.SGD(model.parameters(), lr=0.05), lr_rule="adascale")
    loader = job.loader(dataset, batch_size=32, seed=0)
    for epoch in job.epochs(30):
        for inputs, labels in loader:
            optimizer.zero_grad()
            loss = criterion(model(inputs), labels)
            loss.backward()
            optimizer.step()
            job.step(loss=loss)
        job.metric(accuracy(model))
    job.finish()

Without a scheduler every call is a no-op and the script trains as it would without Headway.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headway.agent.job import Job

__all__ = ["attach"]


def attach(*, checkpoint_every_s: float = 30.0) -> "Job":
    """The job that this process is a worker of; call it once, first.

    Outside the scheduler it is a job of one worker that leaves everything as it is.
    """
    # torch is imported here and not above: the agent's own process does without it
    from headway.agent.start import attached

    return attached(checkpoint_every_s=checkpoint_every_s)
