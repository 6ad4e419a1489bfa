"""What a server's routes use, and what products add to it while a server is open.

```
Product.service ─(settings)─> OpenProduct ─(parts, supervisor)─> ProductService, until the server closes
```
A route of a product finds its service with `services.find(MyService)`. `assembly.open_services` opens all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any, Protocol, TypeVar

from stepwell.answers import FindFault
from stepwell.backends.objects.grants import NO_ROOTS, Grants
from stepwell.clock import Clock
from stepwell.database.persistence import Persistence
from stepwell.database.types import Run
from stepwell.runs.assistants import Assistants
from stepwell.runs.engine import MOST_AT_ONCE, Engine, RunWatcher
from stepwell.runs.gates import Gate
from stepwell.runs.graphs.registry import GraphRegistry
from stepwell.runs.starting import RunOrder
from stepwell.runs.threads.operations import Threads
from stepwell.server.knowledge import KnowledgeAid
from stepwell.server.login.principal import Principal
from stepwell.server.model_loading import ModelLoading
from stepwell.server.monitoring.metrics import Metrics
from stepwell.server.settings import ServerSettings
from stepwell.server.sse import LiveStreams
from stepwell.supervision import Supervisor


class RunAddition(Protocol):
    """What a response to a request that started a run gets in addition."""

    @property
    def headers(self) -> Mapping[str, str]:
        """Known at once."""
        ...

    async def late_headers(self, services: Services, run: Run) -> Mapping[str, str]:
        """For a response that waits for the run: known when it has ended."""
        ...

    async def last_event(self, services: Services, run: Run) -> bytes:
        """For a stream: one event more, after the run's own."""
        ...


class RunHeader(Protocol):
    """A header that clients may send with a request that starts a run."""

    name: str
    description: str

    async def take(
        self, services: Services, principal: Principal, value: str, order: RunOrder
    ) -> tuple[RunOrder, RunAddition | None]:
        """The order after the header, and what the response gets in addition."""
        ...


class ProductService:
    """A product on an open server. Everything is optional; a product overrides what it has."""

    gate: Gate | None = None
    run_header: RunHeader | None = None
    answer_shapes: Mapping[str, FindFault] = MappingProxyType({})
    """Kind of question its graphs ask -> what an answer must look like."""
    page_hosts: Sequence[str] = ()
    """Addresses that the page may contact besides this server."""

    def grants_of(self, principal: Principal) -> Grants:
        """Workspaces open to a caller in addition to those of their key or token."""
        return NO_ROOTS


OpenProduct = Callable[["Parts", Supervisor], AbstractAsyncContextManager[ProductService]]
"""Opens a product on a server whose database is open. What it yields is closed before the database."""

S = TypeVar("S", bound=ProductService)


@dataclass(frozen=True)
class Parts:
    """What a server is made of, before anything is open."""

    persistence: Persistence
    registry: GraphRegistry
    settings: ServerSettings
    clock: Clock
    new_id: Callable[[], str]
    model_loading: ModelLoading
    own_graphs: bool = False
    """The graphs are those of installed products, which can only lack a configured model: one that cannot be built fails on its first
    run. Other graphs are built and checked at the start."""
    payable: Collection[str] = ()
    """Graphs that cost money if the operator has set a price and names none."""
    products: Sequence[OpenProduct] = ()
    watchers: Sequence[RunWatcher] = ()
    metrics: Metrics = field(default_factory=Metrics)
    knowledge: KnowledgeAid | None = None
    """None: browsers get neither an embedder nor web pages for their knowledge."""
    concurrency: int = MOST_AT_ONCE
    """How many runs this process executes at once; 0 leaves them to other processes."""


@dataclass(frozen=True)
class Services:
    """The whole of a server, without HTTP."""

    parts: Parts
    assistants: Assistants
    threads: Threads
    engine: Engine
    supervisor: Supervisor
    """Tasks that run as long as the server does."""
    started_at: datetime
    products: tuple[ProductService, ...] = ()
    streams: LiveStreams = field(default_factory=LiveStreams)

    @property
    def persistence(self) -> Persistence:
        return self.parts.persistence

    @property
    def registry(self) -> GraphRegistry:
        return self.parts.registry

    @property
    def clock(self) -> Clock:
        return self.parts.clock

    @property
    def metrics(self) -> Metrics:
        return self.parts.metrics

    def new_id(self) -> str:
        return self.parts.new_id()

    def find(self, kind: type[S]) -> S | None:
        """A product's service; None if the product is not open here."""
        return next((service for service in self.products if isinstance(service, kind)), None)

    def check_stored(self, values: Any) -> None:
        """Let every product look at values that are stored without a run. Raises a `RunError` if one refuses them."""
        for service in self.products:
            if service.gate:
                service.gate.check_stored(values)
