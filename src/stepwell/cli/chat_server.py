"""`stepwell chat --url`: a conversation with an assistant on a running server.

The key comes from STEPWELL_API_KEY and never from the arguments, which other users of the machine can see.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from typing import Any

import httpx
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import APIStatusError

from stepwell.cli import DEFAULT_URL
from stepwell.cli.conversation import Chat
from stepwell.cli.remote import RemoteSession, refusal
from stepwell.cli.terminal import Terminal
from stepwell.errors import ConfigurationError, NotFoundError
from stepwell.settings import Settings

USUAL_ASSISTANT = "simple_agent"
_FIRST_CONTACT_S = 5.0


def run(*, url: str, assistant: str | None, thread: str | None, once: str | None) -> int:
    """The command; gives the exit code."""
    url = _checked(url)
    key = Settings.load().api_key
    terminal = Terminal(sys.stdin, sys.stdout)
    with asyncio.Runner() as runner:
        client = get_client(url=url, api_key=key.reveal() if key else None)
        try:
            chosen = runner.run(_choose(client, url, assistant))
            session = RemoteSession(client, chosen, url=url)
            if thread:
                runner.run(session.open_thread(thread))
            return _talk(Chat(runner, terminal, session), session, f"{chosen} at {url}", once, continued=bool(thread))
        finally:
            runner.run(client.aclose())


def _talk(chat: Chat, session: RemoteSession, where: str, once: str | None, *, continued: bool) -> int:
    if once is not None:
        code = chat.only(once)
        print(f"Thread {session.thread_id}", file=sys.stderr)
        return code
    print(f"{where}, thread {session.thread_id}", flush=True)
    if continued:
        try:
            chat.catch_up()
        except EOFError:  # a question waits, and nobody is there; it waits on
            return 0
    code = chat.converse()
    print(f"Go on with: --thread {session.thread_id}", file=sys.stderr)
    return code


def _checked(url: str) -> str:
    if not url.startswith(("http://", "https://")) or not httpx.URL(url).host:
        raise ConfigurationError(f"'{url}' is no address of a server. Write it like {DEFAULT_URL}.")
    return url.rstrip("/")


async def _choose(client: LangGraphClient, url: str, wanted: str | None) -> str:
    """The assistant to talk to, by id, name or graph; the server's only or usual one if none is named."""
    await _first_contact(url)
    try:
        found: Sequence[Any] = await client.assistants.search(limit=100)
    except APIStatusError as error:
        raise ConfigurationError(refusal(error)) from error
    names = list(dict.fromkeys(str(assistant["name"] or assistant["graph_id"]) for assistant in found))
    if wanted is None:
        if not found:
            raise ConfigurationError(f"The server at {url} has no assistants to talk to.")
        usual = [assistant for assistant in found if assistant["graph_id"] == USUAL_ASSISTANT]
        return str((usual or list(found))[0]["name"])
    if not any(wanted in (assistant["assistant_id"], assistant["name"], assistant["graph_id"]) for assistant in found):
        raise NotFoundError("assistant", wanted, f"The server at {url} has: {', '.join(names) or 'none'}.")
    return wanted


async def _first_contact(url: str) -> None:
    """Asked without the client's own patience, which would keep a person waiting for a server that is not there."""
    try:
        async with httpx.AsyncClient(base_url=url, timeout=_FIRST_CONTACT_S, trust_env=False) as http:
            answer = await http.get("/ok")
    except httpx.HTTPError as error:
        raise ConfigurationError(
            f"No server answers at {url}. Start one with `stepwell serve`, or name another with --url."
        ) from error
    if answer.status_code != 200:
        raise ConfigurationError(
            f"What answers at {url} is not such a server (it said {answer.status_code} to /ok). Check --url."
        )
