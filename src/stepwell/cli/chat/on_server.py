"""`stepwell chat --url`: a conversation with an assistant on a running server.

The key comes from STEPWELL_API_KEY and never from the arguments, which other users of the machine can see.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping, Sequence
from typing import Any, cast

import httpx
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import APIStatusError, UnprocessableEntityError
from langgraph_sdk.errors import NotFoundError as NotThereError
from langgraph_sdk.schema import Assistant

from stepwell.cli import DEFAULT_URL
from stepwell.cli.chat.loop import Chat
from stepwell.cli.chat.remote_session import RemoteSession
from stepwell.cli.dialogue.server_errors import refusal
from stepwell.cli.dialogue.terminal import Terminal
from stepwell.cli.own_command import spell_command
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
            chosen = runner.run(_choose(client, url, assistant, thread))
            session = RemoteSession(client, chosen["assistant_id"], url=url, tell=terminal.line)
            if thread:
                runner.run(session.open_thread(thread))
            where = f"{_name(chosen)} at {url}"
            return _talk(Chat(runner, terminal, session), session, where, once, continued=bool(thread))
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
    print(f"Go on with: {session.carry_on}", file=sys.stderr)
    return code


def _checked(url: str) -> str:
    if not url.startswith(("http://", "https://")) or not httpx.URL(url).host:
        raise ConfigurationError(f"'{url}' is no address of a server. Write it like {DEFAULT_URL}.")
    return url.rstrip("/")


async def _choose(client: LangGraphClient, url: str, wanted: str | None, thread: str | None) -> Assistant:
    """The assistant to talk to, by id, name or graph; if none is named, the thread's own, or the server's usual or only one."""
    await _first_contact(url)
    try:
        found = await client.assistants.search(limit=100)
        own = await _assistant_of(client, thread) if thread and wanted is None else None
    except APIStatusError as error:
        raise ConfigurationError(refusal(error)) from error
    if not found:
        raise ConfigurationError(f"The server at {url} has no assistants to talk to.")
    if wanted is None:
        return (own and _find(found, own)) or _find(found, USUAL_ASSISTANT) or found[0]
    if chosen := _find(found, wanted):
        return chosen
    names = ", ".join(dict.fromkeys(map(_name, found)))
    raise NotFoundError("assistant", wanted, f"The server at {url} has: {names}.")


async def _assistant_of(client: LangGraphClient, thread: str) -> str | None:
    """Who answered on the thread last. That there is no such thread is found when it is opened."""
    try:
        metadata = (await client.threads.get(thread))["metadata"] or {}
    except (NotThereError, UnprocessableEntityError):
        return None
    own = metadata.get("assistant_id")
    return str(own) if own else None


def _find(found: Sequence[Assistant], wanted: str) -> Assistant | None:
    """A graph's own assistant has the graph's name; others of the graph have names of their own."""
    for part in ("assistant_id", "name", "graph_id"):
        for assistant in found:
            if cast("Mapping[str, Any]", assistant)[part] == wanted:
                return assistant
    return None


def _name(assistant: Assistant) -> str:
    return assistant["name"] or assistant["graph_id"]


async def _first_contact(url: str) -> None:
    """Asked without the client's own patience, which would keep a person waiting for a server that is not there."""
    try:
        async with httpx.AsyncClient(base_url=url, timeout=_FIRST_CONTACT_S, trust_env=False) as http:
            answer = await http.get("/ok")
    except httpx.HTTPError as error:
        raise ConfigurationError(
            f"No server answers at {url}. Start one with `{spell_command('serve')}`, or name another with --url."
        ) from error
    if answer.status_code != 200:
        raise ConfigurationError(
            f"What answers at {url} is not such a server (it said {answer.status_code} to /ok). Check --url."
        )
