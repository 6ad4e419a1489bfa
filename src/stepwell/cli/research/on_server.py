"""What `stepwell research` and `stepwell export` do with a server: talk to it, and make documents from the evidence it keeps.

The bundle comes over the wire into a temporary file. What is written from it here is verified here: the server is not trusted.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from stepwell.errors import ConfigurationError, needs_extra
from stepwell.settings import Settings

if TYPE_CHECKING:
    from stepwell.apps.research.export import Format
    from stepwell.cli.research.remote_session import RemoteResearch


@contextmanager
def connect_research(runner: asyncio.Runner, url: str, settings: Settings, thread: str | None) -> Iterator[RemoteResearch]:
    """A session with a server; its connections are closed at the end."""
    with needs_extra("Talking to a server", "server"):
        from langgraph_sdk import get_client

        from stepwell.cli.research.remote_session import RemoteResearch
    if not url.startswith(("http://", "https://")):
        raise ConfigurationError(f"'{url}' is no address of a server. Write it like http://127.0.0.1:8123.")
    client = get_client(url=url.rstrip("/"), api_key=settings.api_key.reveal() if settings.api_key else None)
    try:
        yield RemoteResearch(client, url.rstrip("/"), thread)
    finally:
        runner.run(client.aclose())


def write_from_server(runner: asyncio.Runner, session: RemoteResearch, form: Format) -> bytes:
    """A research of a server as a document."""
    from stepwell.apps.research.export import export_bundle

    with tempfile.TemporaryDirectory() as folder:
        bundle = Path(folder) / f"{session.thread_id}.zip"
        runner.run(session.save_bundle(bundle))
        return export_bundle(bundle, form)
