"""Builds a service out of its parts and runs it; the only place that does."""

import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import uvicorn

from headway.core.control.events import RunOpened
from headway.core.errors import InvalidInputError, UnavailableError
from headway.core.ids import NodeId
from headway.core.policy import make
from headway.core.types import Node
from headway.engines.base import Engine, Provider
from headway.engines.local import LocalEngine
from headway.engines.memory import MemoryEngine
from headway.engines.slots import Slots
from headway.protocol.environment import TOKEN_FILE, URL, URL_FILE
from headway.protocol.jobdir import JobDir
from headway.service import files
from headway.service.api import Desk, create_app
from headway.service.lock import StateLock
from headway.service.runner import Parts, Runner
from headway.service.settings import Settings
from headway.service.store.sql import SqlStore

_log = logging.getLogger(__name__)
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """A service that listens."""

    url: str
    settings: Settings
    gpus: int


def serve(settings: Settings, announce: Callable[[Ready], None]) -> None:
    """Run a service until a signal ends it. Jobs go on without it, if it is not told otherwise.

    Raises:
        HeadwayError: it cannot start, or cannot go on.
    """
    stop = threading.Event()
    policy = make(settings.policy, settings.policy_settings)
    with ExitStack() as held:
        held.callback(StateLock(settings.state).release)
        listener = held.enter_context(_listener(settings))
        url = f"http://{_shown(settings.host)}:{listener.getsockname()[1]}"
        token = files.read_or_make_token(settings)
        files.tell_address(settings, url)
        held.callback(settings.address_file.unlink, missing_ok=True)
        store = SqlStore.at(settings.database)
        held.callback(store.close)
        engine, provider = _engine(settings, url)
        if provider is None and policy.traits.most_nodes is not None:
            raise InvalidInputError(
                f"policy {settings.policy} scales the cluster, and the engine {settings.engine} can"
                " neither add nor remove nodes; choose a policy without +"
            )
        held.callback(lambda: engine.close(stop_jobs=settings.stop_jobs and stop.is_set()))
        runner = Runner(replace(_parts(settings, store, engine, policy), provider=provider))
        held.callback(runner.close)
        runner.open()
        desk = Desk(
            runner=runner,
            store=store,
            settings=settings,
            traits=policy.traits,
            token=token,
            log_file=lambda job_id: JobDir(settings.jobs_dir / job_id).log_file,
            started_s=time.time(),
        )
        with _signals(stop), _listening(desk, listener):
            gpus = sum(node.gpus for node in engine.nodes())
            announce(Ready(url=url, settings=settings, gpus=gpus))
            while not stop.is_set():
                runner.turn()
                runner.wait(settings.poll_s)


def _parts(settings: Settings, store: SqlStore, engine: Engine, policy: Any) -> Parts[Any]:
    opening = RunOpened(
        at_s=0.0,
        policy=settings.policy,
        round_s=settings.round_s,
        seed=settings.seed,
        settings=settings.policy_settings,
    )
    return Parts(
        store=store,
        engine=engine,
        policy=policy,
        opening=opening,
        rng=np.random.default_rng(settings.seed),
        clock=time.time,
        report_log_s=settings.report_log_s,
    )


def _local(settings: Settings, url: str) -> tuple[Engine, Provider | None]:
    """Processes of this machine, which stays the only one."""
    slots = Slots.found(cpu_slots=settings.slots or os.cpu_count() or 1)
    if slots.devices and settings.slots is not None:
        devices = slots.devices[: settings.slots]
        slots = replace(slots, count=len(devices), devices=devices)
    environment = {
        URL: url,
        URL_FILE: str(settings.url_file),
        TOKEN_FILE: str(settings.token_file),
    }
    return LocalEngine(settings.state, slots, environment=environment), None


def _memory(settings: Settings, url: str) -> tuple[Engine, Provider | None]:
    """Jobs are remembered and never run; to try the API out."""
    engine = MemoryEngine((Node(node_id=NodeId("memory"), gpus=settings.slots or 4),))
    return engine, engine


Build = Callable[[Settings, str], tuple[Engine, Provider | None]]
ENGINES: dict[str, Build] = {"local": _local, "memory": _memory}


def _engine(settings: Settings, url: str) -> tuple[Engine, Provider | None]:
    if settings.engine not in ENGINES:
        known = ", ".join(sorted(ENGINES))
        raise InvalidInputError(f"unknown engine {settings.engine!r}; choose one of {known}")
    return ENGINES[settings.engine](settings, url)


@contextmanager
def _listener(settings: Settings) -> Iterator[socket.socket]:
    """The port, before anything else is begun that a taken port would leave half done."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((settings.host, settings.port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise UnavailableError(
            f"port {settings.port} of {settings.host}: {error.strerror}; choose another with "
            "--port, or 0 for any that is free"
        ) from None
    with listener:
        yield listener


def _shown(host: str) -> str:
    """An address that a client on this machine can use."""
    if host in {"0.0.0.0", "::"}:
        return "127.0.0.1" if host == "0.0.0.0" else "[::1]"
    return f"[{host}]" if ":" in host else host


@contextmanager
def _signals(stop: threading.Event) -> Iterator[None]:
    """The first signal ends the loop after its turn; all that is begun is finished."""
    before = {number: signal.signal(number, lambda *_: stop.set()) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _listening(desk: Desk, listener: socket.socket) -> Iterator[None]:
    """The API in a thread of its own."""
    config = uvicorn.Config(
        create_app(desk),
        log_config=None,
        log_level="warning",
        access_log=False,
        lifespan="off",
        timeout_graceful_shutdown=2,
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(
        target=partial(server.run, sockets=[listener]), name="headway-api", daemon=True
    )
    thread.start()
    try:
        yield
    finally:
        desk.runner.close()  # whoever waits for an answer gets one, so that the API can end
        server.should_exit = True
        thread.join(timeout=5.0)
