"""Research on an open server: evidence for every run, a key that signs bundles, and processes that check them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cached_property
from typing import TYPE_CHECKING

from stepwell.database.persistence import Persistence
from stepwell.database.sqlite.persistence import EmbeddedPersistence
from stepwell.research.audit.signing import Signer, SigningKey
from stepwell.research.gate import EvidenceGate
from stepwell.research.graph.answers import ANSWERS
from stepwell.server.parts import OpenProduct, Parts, ProductService, Services
from stepwell.settings import Settings
from stepwell.supervision import Supervisor

if TYPE_CHECKING:
    from stepwell.research.audit.checking_process import BundleChecker


class Research(ProductService):
    """What the routes of research use."""

    answer_shapes = ANSWERS

    def __init__(self, gate: EvidenceGate, signer: Signer | None = None) -> None:
        self.gate = gate
        self.signer = signer
        """Signs bundles; without it they are unsigned."""

    @cached_property
    def checker(self) -> BundleChecker:
        """Checks bundles, in processes with a time limit."""
        from stepwell.research.audit.checking_process import (
            BundleChecker,  # a tenth of a server's start-up, and few servers check bundles
        )

        return BundleChecker()


def research_of(services: Services) -> Research:
    """The open research of a server, for routes."""
    found = services.find(Research)
    assert found is not None, "its routes come with it"  # noqa: S101
    return found


def open_research(settings: Settings) -> OpenProduct:
    """Opens research with bundles signed by the installation's key."""

    @asynccontextmanager
    async def opened(parts: Parts, supervisor: Supervisor) -> AsyncIterator[Research]:
        signer = await _open_signer(settings, parts.persistence)
        yield Research(EvidenceGate(parts.persistence), signer)

    return opened


async def _open_signer(settings: Settings, persistence: Persistence) -> Signer:
    """Each installation has one key: in the data folder of a single server, or in the database that several servers share."""
    key = SigningKey(settings.data_folder, settings.signing_key_file)
    if isinstance(persistence, EmbeddedPersistence):
        return key
    from stepwell.research.installation_key import InstallationKey  # needs the extra

    installation = InstallationKey(lambda: persistence.database, key)
    await installation.check()
    return installation
