"""Observations: localities, types of GPUs, parts."""

import numpy as np

from headway.core.model.observations import Observations

SEEN = Observations(
    gpus=np.array([1, 4, 8, 8]),
    nodes=np.array([1, 1, 2, 2]),
    batch_per_gpu=np.full(4, 32.0),
    accum_steps=np.zeros(4),
    grad_s=np.ones(4),
    step_s=np.array([1.0, 1.1, 1.2, 1.3]),
    weight=np.array([1.0, 2, 2, 4]),
    racks=np.array([1, 1, 1, 2]),
    gpu_type=("t4", "t4", "v100", "v100"),
)


def test_the_locality_comes_from_nodes_and_racks() -> None:
    assert SEEN.locality.tolist() == [0, 0, 1, 2]
    untold = SEEN.only(np.arange(4))
    assert Observations(
        **{name: getattr(untold, name) for name in Observations.__slots__ if name != "racks"}
    ).locality.tolist() == [0, 0, 1, 1]
    assert SEEN.placements == ((1, 1, 0), (4, 1, 0), (8, 2, 1), (8, 2, 2))


def test_the_type_of_the_greatest_weight_is_the_first() -> None:
    assert SEEN.types == ("v100", "t4")
    assert SEEN.type_index(SEEN.types).tolist() == [1, 1, 0, 0]


def test_a_part_keeps_everything_of_its_entries() -> None:
    part = SEEN.only(SEEN.gpus < 8)
    assert part.step_s.tolist() == [1.0, 1.1]
    assert part.types == ("t4",)
    assert part.racks is not None
    assert part.racks.tolist() == [1, 1]
