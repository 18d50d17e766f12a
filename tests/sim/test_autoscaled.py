"""ImageNet alone in a cluster that scales, as in Pollux (OSDI'21), section 5.4.1 and Fig. 9."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from headway.core.control.events import Event, JobFinished, JobReported, NodeJoined, NodeLost
from headway.core.metrics import Summary
from headway.core.policy import make
from headway.sim.cluster import parse_cluster
from headway.sim.driver import Setup
from headway.sim.results import Contender, run_all
from headway.traces.base import adaptive_job, workload
from headway.traces.pollux import read_profiles

RULES = ("pollux+throughput", "pollux+goodput")


@dataclass
class Course:
    """Nodes at every report of the job, and when it finished."""

    nodes: int = 0
    sizes: list[tuple[float, int]] = field(default_factory=list)
    finished_s: float = 0.0

    def add(self, event: Event) -> None:
        if isinstance(event, NodeJoined | NodeLost):
            self.nodes += 1 if isinstance(event, NodeJoined) else -1
        elif isinstance(event, JobReported):
            self.sizes.append((event.at_s, self.nodes))
        elif isinstance(event, JobFinished):
            self.finished_s = event.at_s

    def between(self, begin: float, end: float) -> list[int]:
        """Sizes in this part of the training."""
        begin_s, end_s = begin * self.finished_s, end * self.finished_s
        return [nodes for at_s, nodes in self.sizes if begin_s <= at_s <= end_s]


@pytest.mark.slow
def test_goodput_grows_the_cluster_with_the_training_and_is_cheaper(shared_data: Path) -> None:
    """Published: 25 % cheaper at 6 % more time; here 20.9 % and 46 %, see the documents on why."""
    profile = read_profiles(shared_data / "pollux" / "profiles")["imagenet"]
    job = adaptive_job(
        "imagenet", profile, submitted_s=0.0, requested_gpus=4, requested_batch_size=800
    )
    setup = Setup(
        workload=workload("imagenet", [(job, "imagenet")], {"imagenet": profile}),
        cluster=parse_cluster("1x4"),
        most_nodes=16,
    )
    courses = {name: Course() for name in RULES}
    contenders = [Contender(name=name, policy=make(name), settings={}) for name in RULES]
    results = run_all(setup, contenders, watch=lambda name, event: courses[name].add(event))
    found: dict[str, Summary] = {result.policy: result.summary for result in results}
    throughput, goodput = (courses[name] for name in RULES)
    assert set(throughput.between(0.2, 1.0)) == {16}, "at once, and constant thereafter"
    assert max(goodput.between(0.0, 0.5)) < min(goodput.between(0.75, 1.0)) == 16
    assert goodput.sizes == sorted(goodput.sizes, key=lambda size: size[1]), "it only grows"
    cheaper = 1 - found["pollux+goodput"].node_hours / found["pollux+throughput"].node_hours
    assert cheaper > 0.18
