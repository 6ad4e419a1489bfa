"""Assembles and opens what a server's routes use: storage, graphs, assistants, threads, the engine, metrics.

`open_services` defines the order at start-up: storage, then checks of the serializer, of who can sign in and of every graph, then the
engine. A server that cannot keep one of its promises does not start; it says which one. If one of several graphs cannot be built, the
others are still served: `registry.problems`. The caller opens and closes the services; routes keep no state.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime

from stepwell.answers import AnswerShapes
from stepwell.backends.objects.grants import nothing_more
from stepwell.clock import Clock
from stepwell.database.checkpoints.serializer import check_strict
from stepwell.database.persistence import Persistence
from stepwell.database.types import SYSTEM
from stepwell.errors import ConfigurationError, StorageUnavailableError
from stepwell.payments.configuration import Charging
from stepwell.payments.gate import Cashier, open_cashier
from stepwell.payments.states import CHARGED
from stepwell.research.audit.apart import BundleChecker
from stepwell.research.audit.signing import Signer
from stepwell.runs.assistants import Assistants
from stepwell.runs.engine import MOST_AT_ONCE, Engine, RunWatcher
from stepwell.runs.graphs.registry import GraphRegistry
from stepwell.runs.threads.operations import Threads
from stepwell.server.knowledge import KnowledgeAid
from stepwell.server.model_loading import ModelLoading
from stepwell.server.monitoring.metrics import Metrics
from stepwell.server.monitoring.run_log import RunLog
from stepwell.server.settings import ServerSettings, require_sign_in
from stepwell.server.sse import LiveStreams
from stepwell.supervision import Duty, Supervisor, stop
from stepwell.workspace.files.place import Workspace
from stepwell.workspace.gate import Doorkeeper

_log = logging.getLogger("stepwell.server")


@dataclass(frozen=True)
class Services:
    """The whole of a server, without HTTP."""

    persistence: Persistence
    registry: GraphRegistry
    assistants: Assistants
    threads: Threads
    engine: Engine
    model_loading: ModelLoading
    clock: Clock
    new_id: Callable[[], str]
    metrics: Metrics
    supervisor: Supervisor
    """Tasks that run as long as the server does."""
    started_at: datetime
    cashier: Cashier | None = None
    """None: payments are off."""
    workspace: Workspace | None = None
    """None: no workspace is served."""
    knowledge: KnowledgeAid | None = None
    """None: browsers get neither an embedder nor web pages for their knowledge."""
    signer: Signer | None = None
    """Signs bundles; without it they are unsigned."""
    checker: BundleChecker = field(default_factory=BundleChecker)
    """Checks bundles, in processes with a time limit."""
    streams: LiveStreams = field(default_factory=LiveStreams)


@asynccontextmanager
async def open_services(
    persistence: Persistence,
    registry: GraphRegistry,
    settings: ServerSettings,
    *,
    clock: Clock,
    new_id: Callable[[], str],
    model_loading: ModelLoading,
    check_graphs: bool = True,
    watchers: Sequence[RunWatcher] = (),
    metrics: Metrics | None = None,
    answer_shapes: AnswerShapes | None = None,
    charging: Charging | None = None,
    payable: Collection[str] = (),
    workspace: Workspace | None = None,
    knowledge: KnowledgeAid | None = None,
    signer: Signer | None = None,
    concurrency: int | None = None,
    before_driving: Callable[[], None] = lambda: None,
) -> AsyncIterator[Services]:
    """Open, check and run the services; on exit, drain the engine and close the storage.

    Without `check_graphs`, a graph that cannot be built fails on its first run: for our own applications, which can only lack a
    configured model. `payable` are the graphs that cost money if the operator names none; `workspace` is the graph that works on a
    tenant's files, and their location; `signer` signs bundles of evidence. `concurrency` is how many runs this process executes at
    once (default: the engine's); 0 leaves them to other processes. `before_driving` is called when everything is open, before the
    first run is claimed.
    """
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(persistence)
        _check_serializer(persistence)
        require_sign_in(settings, await persistence.access.count_usable_keys())
        if check_graphs:
            await registry.check(SYSTEM, persistence.store(SYSTEM))
            for problem in registry.problems.values():
                _log.warning("%s The other graphs are served.", problem)
        assistants = Assistants(persistence.records, registry, clock, new_id, persistence.store)
        supervisor = Supervisor()
        installing = await _install_assistants(assistants, supervisor)
        threads = Threads(persistence, registry, clock, new_id)
        cashier = None
        if charging:
            paid = await _find_paid_graphs(charging, registry, payable, persistence, build=check_graphs)
            cashier = await stack.enter_async_context(open_cashier(charging, paid, persistence, clock, supervisor))
        metrics = metrics or Metrics()
        named = (workspace.graph_id,) if workspace else ()
        granted = workspace.granted if workspace else nothing_more
        engine = Engine(
            persistence,
            registry,
            assistants,
            clock=clock,
            new_id=new_id,
            concurrency=MOST_AT_ONCE if concurrency is None else concurrency,
            max_active_runs_per_owner=settings.max_active_runs_per_owner,
            run_timeout_s=settings.run_timeout_s,
            refuse_bare_answers=settings.refuse_bare_answers,
            webhook_rules=settings.webhook_rules,
            watchers=(RunLog(), metrics.runs, *watchers),
            supervisor=supervisor,
            answer_shapes=answer_shapes,
            drain_s=settings.drain_s,
            cashier=cashier,
            doorkeeper=Doorkeeper(
                persistence.records,
                settings.asks_who,
                named,
                settings.tenant_max_runs,
                granted,
                workspace.default_root if workspace else None,
            ),
        )
        before_driving()
        async with engine:
            services = Services(
                persistence,
                registry,
                assistants,
                threads,
                engine,
                model_loading,
                clock,
                new_id,
                metrics,
                supervisor,
                clock.now(),
                cashier,
                workspace,
                knowledge,
                signer,
            )
            metrics.watch(persistence.maintenance, streams=lambda: len(services.streams), driving=lambda: engine.driving)
            metrics.watch_duties(supervisor)
            try:
                yield services
            finally:
                await stop(installing)


async def _install_assistants(assistants: Assistants, supervisor: Supervisor) -> Sequence[asyncio.Task[None]]:
    """Install them now, or, if the disk is full, once it is writable again. Until then the server can be read."""

    async def install(duty: Duty) -> None:
        await assistants.install_defaults()
        duty.succeeded()

    try:
        await assistants.install_defaults()
    except StorageUnavailableError:
        return [supervisor.start("default assistants", install)]
    return []


async def _find_paid_graphs(
    charging: Charging, registry: GraphRegistry, payable: Collection[str], persistence: Persistence, *, build: bool
) -> frozenset[str]:
    """The graphs that cost money. Refuses a graph that is listed as paid but does not charge."""
    paid = charging.graphs(payable)
    if not paid:
        raise ConfigurationError(
            "A price is set, but no graph costs money. Name the paid graphs: STEPWELL_PAID_GRAPHS=" + ",".join(registry.names)
        )
    if unknown := sorted(set(paid) - set(registry.names)):
        raise ConfigurationError(
            f"STEPWELL_PAID_GRAPHS names '{unknown[0]}', which is not served. Served are: {', '.join(sorted(registry.names))}."
        )
    for name in paid if build else sorted(set(paid) - set(payable)):
        async with registry.graph(name, saver=None, store=persistence.store(SYSTEM), purpose="schema") as graph:
            if CHARGED not in graph.channels:
                raise ConfigurationError(
                    f"The graph '{name}' is listed in STEPWELL_PAID_GRAPHS, but does not charge. Put CashuPaymentMiddleware() "
                    "first in its stack."
                )
    return frozenset(paid)


def _check_serializer(persistence: Persistence) -> None:
    """A checkpoint must not be able to run code. We check the actual saver, not a setting."""
    check_strict(persistence.saver().serde)
