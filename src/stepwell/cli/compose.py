"""The composition root of the server: settings -> graphs, database, products, services -> application.

It collects what installed products bring (`stepwell.products`) and knows none of them, except research's policy: the page's knowledge is
fetched under it. Importing this module imports LangGraph and the web framework, so
commands import it as late as possible.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from fastapi import FastAPI

from stepwell.clock import Clock
from stepwell.database.persistence import Persistence
from stepwell.database.sqlite.disk_space import MB
from stepwell.database.sqlite.persistence import EmbeddedPersistence
from stepwell.database.store.items import StoreRules
from stepwell.models import DEFAULT_LOCAL_MODEL
from stepwell.models.embedding.minilm_files import MiniLMFiles
from stepwell.private_files import close_to_others
from stepwell.products import installed_products, load_part, payable_graphs
from stepwell.research.evidence.policy.file import load_policy
from stepwell.runs.crons.scheduler import CronScheduler
from stepwell.runs.engine import MOST_AT_ONCE
from stepwell.runs.graphs.langgraph_json import LanggraphProject, read_langgraph_json
from stepwell.runs.graphs.project.http import ProjectHttp
from stepwell.runs.graphs.project.store import make_index
from stepwell.runs.graphs.project.webhooks import fill_headers
from stepwell.runs.graphs.registry import GraphRegistry
from stepwell.runs.graphs.sources import GraphSource, GraphSpec
from stepwell.runs.telemetry import open_telemetry
from stepwell.runs.upkeep.expiry import Expiry
from stepwell.runs.upkeep.housekeeping import SWEEP_S, Housekeeping, Repeated, RetentionRules
from stepwell.runs.upkeep.reindexing import Reindexing
from stepwell.runs.upkeep.retention import Retention
from stepwell.runs.webhooks.sender import WebhookSender
from stepwell.server.app import create_app
from stepwell.server.assembly import open_services
from stepwell.server.custom_routes import open_app
from stepwell.server.knowledge import KnowledgeAid
from stepwell.server.model_loading import ModelLoading
from stepwell.server.monitoring.metrics import Metrics
from stepwell.server.parts import Parts, Services
from stepwell.server.project import ServedProject, load_project, narrowed
from stepwell.server.settings import ServerSettings
from stepwell.settings import Settings, current_environment
from stepwell.terminal.database_place import PostgresPlace

if TYPE_CHECKING:
    from stepwell.models import LocalModels
    from stepwell.tools.documents.page import PageText
    from stepwell.tools.web.fetch import PageFetcher


logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Graphs:
    registry: GraphRegistry
    notes: tuple[str, ...] = ()
    """Settings of a langgraph.json that we do not support."""
    project: LanggraphProject | None = None
    """The project that is served; None if the graphs are those of products, which use the configured model and are built on their first
    run."""

    @property
    def ours(self) -> bool:
        return self.project is None

    @property
    def http(self) -> ProjectHttp:
        return self.project.http if self.project is not None else ProjectHttp()


def graphs_to_serve(langgraph_json: Path | None, *, demo: bool = False) -> Graphs:
    """The graphs of a project; its environment variables and import paths are applied now. Without a project: the graphs of all installed
    products, and with `demo` also their demos, which need no model, key or network."""
    if langgraph_json is None:
        products = installed_products()
        sources = {
            name: GraphSource.from_spec(name, GraphSpec(place), Path())
            for product in products
            for name, place in product.graphs.items()
        }
        demos = {
            name: GraphSource.from_spec(name, GraphSpec(each.place, each.description), Path(), each.metadata)
            for product in (products if demo else ())
            for name, each in product.demos.items()
            if each.available
        }
        return Graphs(GraphRegistry({**sources, **demos}))
    project = read_langgraph_json(langgraph_json)
    project.enter()
    return Graphs(GraphRegistry.from_project(project), project.notes, project)


@dataclass(frozen=True)
class OpenServer:
    app: FastAPI
    services: Services


@asynccontextmanager
async def open_server(
    settings: Settings,
    server_settings: ServerSettings,
    graphs: Graphs,
    database: Path | PostgresPlace,
    *,
    concurrency: int | None = None,
    superseded: Callable[[str], None] | None = None,
    before_driving: Callable[[], None] = lambda: None,
) -> AsyncIterator[OpenServer]:
    """Open everything but the socket. `concurrency`: how many runs this process executes at once; 0 leaves them to workers.
    `superseded` is called when a newer version has migrated the database, so that this process can no longer write to it;
    `before_driving` is called before the first run is claimed."""
    metrics = Metrics()
    project = ServedProject()
    if graphs.project is not None:
        project = await asyncio.to_thread(load_project, graphs.project.auth, graphs.project.http, graphs.project.folder)
        asked = graphs.project.webhooks
        webhooks = replace(asked, headers=fill_headers(asked.headers, current_environment()) if asked.headers else {})
        server_settings = replace(server_settings, own_auth=project.auth is not None, project_webhooks=webhooks)
        project = narrowed(project, asks_who=server_settings.asks_who)
    close_to_others(settings.data_folder)  # an earlier version may have left it readable to others; new folders are private
    persistence = _make_persistence(database, settings, server_settings, metrics, superseded)
    if graphs.project:
        persistence.store_rules = await asyncio.to_thread(_make_store_rules, graphs.project, settings)
    async with AsyncExitStack() as stack:
        telemetry = open_telemetry(settings.telemetry)
        stack.push_async_callback(telemetry.close)
        parts = Parts(
            persistence,
            graphs.registry,
            server_settings,
            persistence.clock,
            lambda: str(uuid.uuid4()),
            ModelLoading(lambda: _local_models(settings), settings.local_model or DEFAULT_LOCAL_MODEL),
            own_graphs=graphs.ours,
            payable=payable_graphs() if graphs.ours else (),
            products=[load_part(product, "service")(settings) for product in installed_products() if product.service],
            watchers=[telemetry],
            metrics=metrics,
            knowledge=_make_knowledge_aid(settings, persistence.clock),
            thread_rule=graphs.project.retention if graphs.project else None,
            concurrency=MOST_AT_ONCE if concurrency is None else concurrency,
        )
        services = await stack.enter_async_context(open_services(parts, before_driving))
        _show_fan_out(persistence, metrics)
        await stack.enter_async_context(
            WebhookSender(
                persistence.webhooks,
                persistence.clock,
                server_settings.webhook_rules,
                supervisor=services.supervisor,
                tried=metrics.webhook_tried,
            )
        )
        await stack.enter_async_context(_make_housekeeping(services, server_settings))
        if persistence.store_rules.index:
            await stack.enter_async_context(Reindexing(persistence, services.supervisor))
        if "runs" not in project.http.disabled:
            await stack.enter_async_context(_make_scheduler(services))
        app = create_app(services, server_settings, project=project)
        app.state.request_state = await stack.enter_async_context(open_app(project.app))
        yield OpenServer(app, services)


def _make_store_rules(project: LanggraphProject, settings: Settings) -> StoreRules:
    spec = project.store
    return StoreRules(make_index(spec.index, project.folder, settings) if spec.index else None, spec.ttl)


def _make_persistence(
    database: Path | PostgresPlace,
    settings: Settings,
    server_settings: ServerSettings,
    metrics: Metrics,
    superseded: Callable[[str], None] | None,
) -> Persistence:
    redis_url = settings.redis_url.reveal() if settings.redis_url else None
    if isinstance(database, PostgresPlace):
        from stepwell.database.postgres.persistence import (
            PostgresPersistence,  # needs the extra, which a server on SQLite does not need
        )

        return PostgresPersistence(
            database.url.reveal(),
            group_written=metrics.group_written,
            is_meant=database.is_meant,
            wait_s=server_settings.database_wait_s,
            superseded=superseded,
            redis_url=redis_url,
        )
    if redis_url is not None:
        logger.warning(
            "STEPWELL_REDIS_URL is ignored: with SQLite there is only one process, so there are no others to notify."
        )
    return EmbeddedPersistence(
        database,
        power_loss=server_settings.power_loss,
        group_written=metrics.group_written,
        least_free_bytes=None if server_settings.min_free_mb is None else server_settings.min_free_mb * MB,
    )


def _show_fan_out(persistence: Persistence, metrics: Metrics) -> None:
    """Metrics of the Redis fan-out, if Redis is used."""
    if (fan_out := getattr(persistence, "fan_out", None)) is None:
        return
    metrics.show(
        "stepwell_redis_up", "1 while events go through Redis, 0 while they go through Postgres", lambda: float(fan_out.up)
    )
    metrics.show("stepwell_redis_failures", "Times that Redis could not be used", lambda: fan_out.failures)
    metrics.show("stepwell_redis_entries_passed_on", "Batches of events sent to Redis", lambda: fan_out.passed_on)
    metrics.show(
        "stepwell_redis_entries_heard", "Batches received from other processes for streams followed here", lambda: fan_out.heard
    )


def _make_knowledge_aid(settings: Settings, clock: Clock) -> KnowledgeAid:
    """Fetches pages and reads images under the research policy, whichever graphs are served."""

    def make_fetcher() -> PageFetcher:
        from stepwell.tools.web.fetch import (
            PageFetcher,
        )  # imported on demand: loads readers of documents and all search engines
        from stepwell.tools.web.search.choice import public_web

        return PageFetcher(public_web(settings), clock=clock, check_hop=load_policy(settings.policy).check_hop)

    async def see(content: bytes) -> PageText:
        from stepwell.research.evidence.images import (
            find_image_model,
            read_image,
        )  # imported on demand: LangChain is slow to load

        return await read_image(find_image_model(settings, load_policy(settings.policy)), content)

    return KnowledgeAid(MiniLMFiles(settings.data_folder / "models"), make_fetcher, see)


def _make_housekeeping(services: Services, settings: ServerSettings) -> Housekeeping:
    """Deletes what has expired; deletes old threads and checkpoints only if the operator has set retention limits."""
    maintenance = services.persistence.maintenance
    days, rule = settings.retention_days, services.parts.thread_rule
    rules = RetentionRules(None if days is None else timedelta(days=days), settings.retention_checkpoints)
    retention = Retention(maintenance, services.registry, services.persistence.saver(), services.clock)
    expiry = Expiry(maintenance, retention, rule)
    more = [Repeated("thread expiry", expiry.apply_own, SWEEP_S)]
    if rule:
        more.append(Repeated("thread retention", expiry.apply_rule, rule.sweep_s))
    retain = None if rules.empty else lambda: retention.apply(rules)
    return Housekeeping(maintenance, retain, more=more, supervisor=services.supervisor)


def _make_scheduler(services: Services) -> CronScheduler:
    persistence = services.persistence
    return CronScheduler(
        persistence.crons,
        services.engine,
        persistence.access,
        services.clock,
        leads=persistence.maintenance.leads,
        supervisor=services.supervisor,
    )


def _local_models(settings: Settings) -> LocalModels:
    from stepwell.models import process_local_models  # imported on demand: only the embedded model needs its dependencies

    return process_local_models(settings)
