"""Assembles and opens what a server's routes use: storage, graphs, products, assistants, threads, the engine, metrics.

`open_services` defines the order at start-up: storage, then checks of the serializer, of who can sign in and of every graph, then the
products, then the engine. A server that cannot keep one of its promises does not start; it says which one. If one of several graphs
cannot be built, the others are still served, and `registry.problems` says why. The caller opens and closes the services; routes keep no
state.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from stepwell.answers import AnswerShapes
from stepwell.database.checkpoints.serializer import check_strict
from stepwell.database.persistence import Persistence
from stepwell.database.types import SYSTEM
from stepwell.errors import StorageUnavailableError
from stepwell.runs.assistants import Assistants
from stepwell.runs.crons.operations import Crons
from stepwell.runs.engine import Engine, EngineOptions
from stepwell.runs.threads.operations import Threads
from stepwell.server.monitoring.run_log import RunLog
from stepwell.server.parts import Parts, ProductService, Services
from stepwell.server.settings import require_sign_in
from stepwell.supervision import Duty, Supervisor, stop

_log = logging.getLogger("stepwell.server")


@asynccontextmanager
async def open_services(parts: Parts, before_driving: Callable[[], None] = lambda: None) -> AsyncIterator[Services]:
    """Open, check and run the services; on exit, drain the engine and close the storage. `before_driving` is called when everything is
    open, before the first run is claimed."""
    persistence, registry, settings = parts.persistence, parts.registry, parts.settings
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(persistence)
        _check_serializer(persistence)
        require_sign_in(settings, await persistence.access.count_usable_keys())
        if not parts.own_graphs:
            await registry.check(SYSTEM, persistence.store(SYSTEM))
            for problem in registry.problems.values():
                _log.warning("%s The other graphs are served.", problem)
        supervisor = Supervisor()
        products = tuple([await stack.enter_async_context(opened(parts, supervisor)) for opened in parts.products])
        gates = sorted((service.gate for service in products if service.gate), key=lambda gate: gate.takes)
        assistants = Assistants(persistence.records, registry, parts.clock, parts.new_id, persistence.store, gates)
        installing = await _install_assistants(assistants, supervisor)
        engine = Engine(
            persistence,
            registry,
            assistants,
            clock=parts.clock,
            new_id=parts.new_id,
            options=_engine_options(parts, products),
            gates=gates,
            watchers=(RunLog(), parts.metrics.runs, *parts.watchers),
            supervisor=supervisor,
        )
        threads = Threads(persistence, registry, parts.clock, parts.new_id, parts.thread_rule)
        crons = Crons(persistence.crons, engine, assistants, parts.clock, parts.new_id)
        before_driving()
        async with engine:
            services = Services(parts, assistants, threads, engine, crons, supervisor, parts.clock.now(), products)
            parts.metrics.watch(persistence.maintenance, streams=lambda: len(services.streams), driving=lambda: engine.driving)
            parts.metrics.watch_duties(supervisor)
            try:
                yield services
            finally:
                await stop(installing)


def _engine_options(parts: Parts, products: Sequence[ProductService]) -> EngineOptions:
    settings = parts.settings
    rules = {kind: rule for service in products for kind, rule in service.answer_shapes.items()}
    return EngineOptions(
        concurrency=parts.concurrency,
        run_timeout_s=settings.run_timeout_s,
        max_active_runs_per_owner=settings.max_active_runs_per_owner,
        answer_shapes=AnswerShapes(rules),
        refuse_bare_answers=settings.refuse_bare_answers,
        drain_s=settings.drain_s,
        webhook_rules=settings.webhook_rules,
    )


async def _install_assistants(assistants: Assistants, supervisor: Supervisor) -> Sequence[asyncio.Task[None]]:
    """Install the default assistants now or, if the disk is full, once it is writable again. Until then the server can only be read."""

    async def install(duty: Duty) -> None:
        await assistants.install_defaults()
        duty.succeeded()

    try:
        await assistants.install_defaults()
    except StorageUnavailableError:
        return [supervisor.start("default assistants", install)]
    return []


def _check_serializer(persistence: Persistence) -> None:
    """A checkpoint must not be able to run code. We check the actual saver, not a setting."""
    check_strict(persistence.saver().serde)
