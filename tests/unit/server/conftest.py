"""A small application with the real doors and limits, asked without a socket."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

import httpx
import pytest
from fastapi import Depends, FastAPI, Request
from starlette.responses import StreamingResponse

from stepwell.database.keys_and_sessions import AccessRecords
from stepwell.database.sqlite.database import Database
from stepwell.server.app import install_sign_in
from stepwell.server.limits.layers import limit_layers
from stepwell.server.login.api_keys import NewKey, make_key
from stepwell.server.login.principal import Principal
from stepwell.server.policy import policy, stream_policy
from stepwell.server.problems import install_problems
from stepwell.server.settings import ServerSettings


@dataclass
class HeldClock:
    """A clock that stands still until it is moved."""

    moment: datetime = datetime(2030, 1, 1, tzinfo=UTC)

    def now(self) -> datetime:
        return self.moment

    def move(self, seconds: float) -> None:
        self.moment += timedelta(seconds=seconds)


@dataclass
class Counting:
    """Random bytes that are not: each call gives others, and each test the same."""

    calls: int = field(default=0)

    def __call__(self, size: int) -> bytes:
        self.calls += 1
        return bytes((self.calls * 31 + place * 7) % 256 for place in range(size))


@dataclass
class Site:
    """The application and what it stands on."""

    app: FastAPI
    records: AccessRecords
    clock: HeldClock
    random_bytes: Counting
    database: Database

    def client(self, base_url: str = "http://localhost:8123", **options: Any) -> httpx.AsyncClient:
        transport = httpx.ASGITransport(self.app, client=("192.0.2.7", 50000))
        return httpx.AsyncClient(transport=transport, base_url=base_url, **options)

    async def new_key(self, user: str = "anna", *, operator: bool = False, lasts: timedelta | None = None) -> NewKey:
        now = self.clock.now()
        key = make_key(user, operator=operator, expires_in=lasts, now=now, random_bytes=self.random_bytes)
        await self.records.add_key(key.record)
        return key


def build(settings: ServerSettings, records: AccessRecords, clock: HeldClock, random_bytes: Counting) -> FastAPI:
    app = FastAPI(middleware=limit_layers(settings), docs_url=None, redoc_url=None)
    install_sign_in(app, settings, records, clock, random_bytes=random_bytes)
    install_problems(app)

    @app.get("/whoami")
    async def whoami(principal: Annotated[Principal, Depends(policy("threads:read"))]) -> dict[str, Any]:
        return {"user": principal.owner, "operator": principal.is_operator, "via": principal.via}

    @app.post("/echo")
    async def echo(request: Request, principal: Annotated[Principal, Depends(policy("threads:create"))]) -> Any:
        return {"bytes": len(await request.body())}

    @app.get("/everything")
    async def everything(principal: Annotated[Principal, Depends(policy("usage:all"))]) -> str:
        return "all of it"

    @app.get("/stream")
    async def stream(principal: Annotated[Principal, Depends(stream_policy("runs:read"))]) -> StreamingResponse:
        return StreamingResponse(
            iter([f"open: {app.state.open_streams.count(principal.owner)}"]), media_type="text/event-stream"
        )

    return app


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = Database(tmp_path / "stepwell.db")
    yield opened
    opened.close()


@pytest.fixture
def site_of(database: Database) -> Callable[..., Site]:
    """Makes a site from settings; all of a test's sites share the records."""
    clock, random_bytes = HeldClock(), Counting()
    records = AccessRecords(database, clock)

    def make(settings: ServerSettings | None = None, **changes: Any) -> Site:
        chosen = settings or ServerSettings(**changes)
        return Site(build(chosen, records, clock, random_bytes), records, clock, random_bytes, database)

    return make


@pytest.fixture
def asking(site_of: Callable[..., Site]) -> Site:
    """A server on this machine that asks everybody who they are."""
    return site_of(always_ask=True)
