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
from stepwell.database.upkeep.expiry import ThreadRule
from stepwell.runs.assistants import Assistants
from stepwell.runs.crons.operations import Crons
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
    """What a product adds to the response to a request that started a run."""

    @property
    def headers(self) -> Mapping[str, str]:
        """Headers that are known at once."""
        ...

    async def late_headers(self, services: Services, run: Run) -> Mapping[str, str]:
        """Headers for a response that waits for the run; they are known when the run has ended."""
        ...

    async def last_event(self, services: Services, run: Run) -> bytes:
        """One more event for a stream, sent after the run's own events."""
        ...


class RunHeader(Protocol):
    """A header that clients may send with a request that starts a run."""

    name: str
    description: str

    async def take(
        self, services: Services, principal: Principal, value: str, order: RunOrder
    ) -> tuple[RunOrder, RunAddition | None]:
        """Returns the order, changed as the header asks, and what to add to the response."""
        ...


class ProductService:
    """A product on an open server. Everything is optional; a product overrides what it needs."""

    gate: Gate | None = None
    run_header: RunHeader | None = None
    answer_shapes: Mapping[str, FindFault] = MappingProxyType({})
    """Kind of question that its graphs ask -> a function that says what is wrong with an answer."""
    page_hosts: Sequence[str] = ()
    """Addresses that the page may contact besides this server."""

    def grants_of(self, principal: Principal) -> Grants:
        """Workspaces that a caller may use in addition to those of their key or token."""
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
    """Whether the graphs are those of installed products. These can lack only a configured model, so one that cannot be built fails on
    its first run; other graphs are built and checked at the start."""
    payable: Collection[str] = ()
    """Graphs that cost money if the operator has set a price without naming graphs."""
    products: Sequence[OpenProduct] = ()
    watchers: Sequence[RunWatcher] = ()
    metrics: Metrics = field(default_factory=Metrics)
    knowledge: KnowledgeAid | None = None
    """If None, browsers get neither an embedder nor web pages for their knowledge."""
    thread_rule: ThreadRule | None = None
    """How long threads live that have no time of their own; None means forever."""
    concurrency: int = MOST_AT_ONCE
    """How many runs this process executes at once; 0 leaves them to other processes."""


@dataclass(frozen=True)
class Services:
    """The whole of a server, without HTTP."""

    parts: Parts
    assistants: Assistants
    threads: Threads
    engine: Engine
    crons: Crons
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
