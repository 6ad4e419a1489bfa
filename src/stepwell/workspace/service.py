"""Workspaces on an open server: where the files are, and which roots a run may use."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from stepwell.backends.objects.grants import NO_ROOTS, Grants, nothing_more
from stepwell.database.sqlite.persistence import EmbeddedPersistence
from stepwell.errors import ConfigurationError
from stepwell.server.login.principal import Principal
from stepwell.server.parts import OpenProduct, Parts, ProductService
from stepwell.settings import Settings
from stepwell.supervision import Supervisor
from stepwell.workspace.files.place import Workspace
from stepwell.workspace.files.shares import Shares
from stepwell.workspace.files.uploads import Uploads
from stepwell.workspace.gate import Doorkeeper
from stepwell.workspace.grants import GrantTable
from stepwell.workspace.places import InFolder, open_place

GRAPH = "workspace"
"""The graph that works on a tenant's files."""

logger = logging.getLogger(__name__)


class Workspaces(ProductService):
    """What the routes of workspaces use."""

    def __init__(self, workspace: Workspace | None, parts: Parts) -> None:
        self.workspace = workspace
        """None if no workspace is served."""
        self.gate = Doorkeeper(
            parts.persistence.records,
            parts.settings.asks_who,
            (workspace.graph_id,) if workspace else (),
            parts.settings.tenant_max_runs,
            workspace.granted if workspace else nothing_more,
            workspace.default_root if workspace else None,
        )

    def grants_of(self, principal: Principal) -> Grants:
        return self.workspace.granted(principal.owner) if self.workspace else NO_ROOTS


def open_workspaces(settings: Settings) -> OpenProduct:
    """Opens workspaces in the bucket or folder that the operator's settings name."""

    @asynccontextmanager
    async def opened(parts: Parts, supervisor: Supervisor) -> AsyncIterator[Workspaces]:
        yield Workspaces(_make_workspace(settings, parts) if parts.own_graphs else None, parts)

    return opened


def _make_workspace(settings: Settings, parts: Parts) -> Workspace | None:
    """The workspace to serve; `None` if the bucket's settings are invalid, which the graph reports too."""
    try:
        place, table = open_place(settings), GrantTable.load(settings.workspace_grants)
    except ConfigurationError as error:
        logger.warning("workspace files are not served: %s", error)
        return None
    alone = isinstance(parts.persistence, EmbeddedPersistence)
    if not alone and isinstance(place, InFolder):
        logger.warning(
            "workspaces are in a folder on this machine, so servers and workers on other machines do not see the same files: set a bucket "
            "with GCS_BUCKET_NAME, S3_BUCKET_NAME or similar, or give all of them the same folder in STEPWELL_DATA_DIR"
        )
    limits = parts.settings
    uploads = Uploads(settings.upload_dir or settings.data_folder / "uploads", parts.clock, limits.max_file_bytes)
    counts = None if alone else (lambda: parts.persistence.counts)
    shares = Shares(parts.clock, limits.tenant_max_bytes, limits.tenant_max_operations, counts=counts)
    return Workspace(GRAPH, place.whole_files(), uploads, shares, place.default_root, table.of_user)
