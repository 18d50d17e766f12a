"""From environment variables to one value, and what is said when they are wrong."""

import struct
from pathlib import Path

import pytest

from headway.agent.context import Flag, from_environment
from headway.core.errors import InvalidInputError
from headway.core.types import BatchContract
from headway.protocol.messages import WorkerOrders, encode

CONTRACT = BatchContract(initial_batch_size=32, max_batch_size=32, max_batch_per_gpu=32)


@pytest.fixture
def orders(tmp_path: Path) -> Path:
    path = tmp_path / "orders.json"
    wanted = WorkerOrders(
        job_id="a",
        generation=3,
        job_dir=str(tmp_path),
        batch=CONTRACT,
        requested_batch_size=32,
        adapts=False,
    )
    path.write_bytes(encode(wanted))
    return path


def test_outside_the_scheduler_there_is_no_context() -> None:
    assert from_environment({"RANK": "1", "WORLD_SIZE": "2"}) is None


def test_a_worker_finds_its_place(orders: Path) -> None:
    env = {
        "HEADWAY_ORDERS": str(orders),
        "HEADWAY_RENDEZVOUS": "file:///tmp/meet",
        "HEADWAY_NEWS_FD": "7",
        "RANK": "2",
        "WORLD_SIZE": "4",
        "LOCAL_RANK": "0",
        "LOCAL_WORLD_SIZE": "2",
        "HEADWAY_GPU_TYPE": "NVIDIA A100",
        "HEADWAY_THROUGHPUT": "best",
    }
    context = from_environment(env)
    assert context is not None
    assert context.gpu_type == "NVIDIA A100"
    assert (context.worker, context.workers, context.nodes, context.news_fd) == (2, 4, 2, 7)
    assert context.orders.generation == 3
    assert not context.first
    assert context.throughput == "best"


@pytest.mark.parametrize(("wish", "can"), [(None, True), ("1", True), ("0", False)])
def test_an_owner_may_have_restarts_only(orders: Path, wish: str | None, can: bool) -> None:
    plan = orders.with_name("switch.json")
    env = {"HEADWAY_ORDERS": str(orders), "HEADWAY_PLAN": str(plan)}
    context = from_environment(env if wish is None else {**env, "HEADWAY_SWITCH": wish})
    assert context is not None
    assert context.plan == (plan if can else None)
    assert not context.joins


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"WORLD_SIZE": "two"}, "WORLD_SIZE: 'two' is not a count"),
        ({"WORLD_SIZE": "2"}, "HEADWAY_RENDEZVOUS is missing"),
        ({"HEADWAY_THROUGHPUT": "all"}, "HEADWAY_THROUGHPUT: 'all' is not one of linear, "),
        ({"HEADWAY_ORDERS": "/nowhere"}, "HEADWAY_ORDERS: .*No such file"),
    ],
)
def test_what_is_wrong_is_named(orders: Path, change: dict[str, str], said: str) -> None:
    with pytest.raises(InvalidInputError, match=said):
        from_environment({"HEADWAY_ORDERS": str(orders), **change})


def test_orders_that_are_no_orders(orders: Path) -> None:
    orders.write_text('{"job_id": 1}')
    with pytest.raises(InvalidInputError, match="WorkerOrders"):
        from_environment({"HEADWAY_ORDERS": str(orders)})


def test_the_flag_is_raised_by_another_generation(tmp_path: Path) -> None:
    path = tmp_path / "flag"
    path.write_bytes(struct.pack("<q", 3))
    flag = Flag(path, generation=3)
    assert not flag.raised()
    with path.open("r+b") as file:
        file.write(struct.pack("<q", 4))
    assert flag.raised()
    path.write_bytes(b"")  # a reader of a map would die of SIGBUS
    assert not flag.raised()
    assert not Flag(None, generation=3).raised()
