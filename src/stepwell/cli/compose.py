"""The composition root of the server: settings -> graphs, database, services -> application.

This is the only module that knows both the server and the applications. Importing it imports LangGraph and the web framework, so
commands import it as late as possible.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from fastapi import FastAPI

from stepwell.answers import AnswerShapes
from stepwell.apps import APPLICATIONS, PAYABLE, WORKSPACE
from stepwell.clock import Clock
from stepwell.database.persistence import Persistence
from stepwell.database.sqlite.disk_space import MB
from stepwell.database.sqlite.persistence import EmbeddedPersistence
from stepwell.demo import DESCRIPTIONS, available_demos
from stepwell.errors import ConfigurationError
from stepwell.models import DEFAULT_LOCAL_MODEL, ModelChoice, choose_model
from stepwell.models.embedding.minilm_files import MiniLMFiles
from stepwell.models.providers import check_installed
from stepwell.payments.configuration import load_charging
from stepwell.private_files import close_to_others
from stepwell.research.audit.signing import SigningKey
from stepwell.research.evidence.policy.file import load_policy
from stepwell.research.graph import facade as research
from stepwell.research.graph.answers import ANSWERS as RESEARCH_ANSWERS
from stepwell.runs.graphs.langgraph_json import read_langgraph_json
from stepwell.runs.graphs.registry import GraphRegistry
from stepwell.runs.graphs.sources import GraphSource, GraphSpec
from stepwell.runs.telemetry import open_telemetry
from stepwell.runs.upkeep.housekeeping import Housekeeping, RetentionRules
from stepwell.runs.upkeep.retention import Retention
from stepwell.runs.webhooks.sender import WebhookSender
from stepwell.server.app import create_app
from stepwell.server.assembly import Services, open_services
from stepwell.server.facades import RESEARCH, ArgumentForms, Facade
from stepwell.server.knowledge import KnowledgeAid
from stepwell.server.model_loading import ModelLoading
from stepwell.server.monitoring.metrics import Metrics
from stepwell.server.settings import ServerSettings
from stepwell.settings import Settings
from stepwell.terminal.database_place import PostgresPlace
from stepwell.tools.web.fetch import PageFetcher
from stepwell.tools.web.search.choice import public_web
from stepwell.tutor.argument.exports import export_data
from stepwell.workspace.files.place import Workspace
from stepwell.workspace.files.shares import Shares
from stepwell.workspace.files.uploads import Uploads
from stepwell.workspace.grants import GrantTable
from stepwell.workspace.places import InFolder, open_place

if TYPE_CHECKING:
    from stepwell.models import LocalModels
    from stepwell.research.installation_key import InstallationKey


logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Graphs:
    registry: GraphRegistry
    notes: tuple[str, ...] = ()
    """Settings of a langgraph.json that we do not support."""
    ours: bool = True
    """These are our own applications. They use the configured model and are built on their first run."""


def graphs_to_serve(langgraph_json: Path | None, *, demo: bool = False) -> Graphs:
    """The graphs of a project, applying its environment variables and import paths now. Without a project: our applications, and
    with `demo` also the demos, which need no model, key or network."""
    if langgraph_json is None:
        sources = {name: GraphSource.from_spec(name, GraphSpec(place), Path()) for name, place in APPLICATIONS.items()}
        demos = {
            name: GraphSource.from_spec(name, GraphSpec(place, DESCRIPTIONS[name]), Path(), demo=True)
            for name, place in (available_demos() if demo else {}).items()
        }
        return Graphs(GraphRegistry({**sources, **demos}))
    project = read_langgraph_json(langgraph_json)
    project.enter()
    return Graphs(GraphRegistry.from_project(project), project.notes, ours=False)


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
    close_to_others(settings.data_folder)  # an earlier version may have left it readable; new folders are private
    persistence = _make_persistence(database, settings, server_settings, metrics, superseded)
    clock = persistence.clock
    signer = _make_signer(settings, persistence)
    async with AsyncExitStack() as stack:
        telemetry = open_telemetry(settings.telemetry)
        stack.push_async_callback(telemetry.close)
        services = await stack.enter_async_context(
            open_services(
                persistence,
                graphs.registry,
                server_settings,
                clock=clock,
                new_id=lambda: str(uuid.uuid4()),
                model_loading=_make_model_loading(settings, graphs.ours),
                check_graphs=not graphs.ours,
                answer_shapes=AnswerShapes(RESEARCH_ANSWERS),
                watchers=[telemetry],
                metrics=metrics,
                charging=load_charging(settings.payments),
                payable=PAYABLE if graphs.ours else (),
                knowledge=_make_knowledge_aid(settings, clock),
                workspace=_open_workspace(settings, server_settings, persistence) if graphs.ours else None,
                signer=signer,
                concurrency=concurrency,
                before_driving=before_driving,
            )
        )
        if not isinstance(signer, SigningKey):
            await signer.check()
        _show_fan_out(persistence, metrics)
        await stack.enter_async_context(
            WebhookSender(
                persistence.webhooks,
                clock,
                server_settings.webhook_rules,
                supervisor=services.supervisor,
                tried=metrics.webhook_tried,
            )
        )
        await stack.enter_async_context(_make_housekeeping(services, server_settings))
        forms = ArgumentForms("argument", export_data) if graphs.ours else None
        yield OpenServer(create_app(services, server_settings, facades(), argument_forms=forms), services)


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
            PostgresPersistence,  # needs the extra, which a server on SQLite does without
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


def _make_signer(settings: Settings, persistence: Persistence) -> SigningKey | InstallationKey:
    """Each installation has one key: in the data folder of a single server, or in the database that several servers share."""
    key = SigningKey(settings.data_folder, settings.signing_key_file)
    if isinstance(persistence, EmbeddedPersistence):
        return key
    from stepwell.research.installation_key import InstallationKey  # needs the extra

    return InstallationKey(lambda: persistence.database, key)


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


def _open_workspace(settings: Settings, server_settings: ServerSettings, persistence: Persistence) -> Workspace | None:
    """Uploads and downloads for the workspace graph. `None` if the bucket's settings are invalid; the graph reports that too."""
    try:
        place, table = open_place(settings), GrantTable.load(settings.workspace_grants)
    except ConfigurationError as error:
        logger.warning("workspace files are not served: %s", error)
        return None
    if not isinstance(persistence, EmbeddedPersistence) and isinstance(place, InFolder):
        logger.warning(
            "workspaces are in a folder on this machine, so servers and workers on other machines do not see the same files: set a bucket "
            "with GCS_BUCKET_NAME, S3_BUCKET_NAME or similar, or give all of them the same folder in STEPWELL_DATA_DIR"
        )
    clock = persistence.clock
    uploads = Uploads(settings.upload_dir or settings.data_folder / "uploads", clock, server_settings.max_file_bytes)
    limits = server_settings.tenant_max_bytes, server_settings.tenant_max_operations
    alone = isinstance(persistence, EmbeddedPersistence)
    shares = Shares(
        clock, *limits, counts=None if alone else lambda: persistence.counts
    )  # a lambda, because it is opened later
    return Workspace(WORKSPACE, place.whole_files(), uploads, shares, place.default_root, table.of_user)


def _make_knowledge_aid(settings: Settings, clock: Clock) -> KnowledgeAid:
    """Fetches pages under the research policy, whichever graphs are served."""

    def make_fetcher() -> PageFetcher:
        return PageFetcher(public_web(settings), clock=clock, check_hop=load_policy(settings.policy).check_hop)

    return KnowledgeAid(MiniLMFiles(settings.data_folder / "models"), make_fetcher)


def facades() -> dict[str, Facade]:
    """Routes that an application adds to the run routes. They return 404 if its graph is not served."""
    return {
        RESEARCH: Facade(
            research.GRAPH, research.make_input, research.make_answer, research.gather, research.translate, _export
        )
    }


def _export(bundle: Path, form: str) -> bytes:
    from stepwell.research.audit.export import export_bundle, format_of, require_format  # imported on demand

    chosen = format_of(None, form)
    require_format(chosen)
    return export_bundle(bundle, chosen)


def _make_housekeeping(services: Services, settings: ServerSettings) -> Housekeeping:
    """Deletes expired rows; deletes old threads and checkpoints only if the operator has set retention limits."""
    maintenance = services.persistence.maintenance
    days = settings.retention_days
    rules = RetentionRules(None if days is None else timedelta(days=days), settings.retention_checkpoints)
    if rules.empty:
        return Housekeeping(maintenance, supervisor=services.supervisor)
    retention = Retention(maintenance, services.registry, services.persistence.saver(), services.clock)
    return Housekeeping(maintenance, lambda: retention.apply(rules), supervisor=services.supervisor)


def _make_model_loading(settings: Settings, ours: bool) -> ModelLoading:
    return ModelLoading(
        lambda: _local_models(settings),
        settings.local_model or DEFAULT_LOCAL_MODEL,
        (lambda: _choose_model(settings)) if ours else None,
    )


def _choose_model(settings: Settings) -> ModelChoice:
    choice = choose_model(None, settings, embedded_fallback=True)
    check_installed(choice.provider)
    return choice


def _local_models(settings: Settings) -> LocalModels:
    from stepwell.models import process_local_models  # imported on demand: only the embedded model needs its dependencies

    return process_local_models(settings)
