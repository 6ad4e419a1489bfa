"""`stepwell chat --url`: a conversation with an assistant on a running server. Finds the server, the assistant and the thread."""

from __future__ import annotations

import asyncio
import shlex
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

import httpx
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import APIStatusError, UnprocessableEntityError
from langgraph_sdk.errors import NotFoundError as NotThereError
from langgraph_sdk.schema import Assistant

from stepwell.errors import ConfigurationError, NotFoundError
from stepwell.products import ChatApp
from stepwell.settings import Settings
from stepwell.terminal.chat.loop import Chat
from stepwell.terminal.chat.options import STREAM_MODES
from stepwell.terminal.chat.project import FolderProject
from stepwell.terminal.dialogue.remote_session import NEWEST, RemoteSession, ServerLine, open_client
from stepwell.terminal.dialogue.server_errors import as_sentences, refusal
from stepwell.terminal.dialogue.session import ThreadLine
from stepwell.terminal.dialogue.terminal import Terminal
from stepwell.terminal.own_command import spell_command
from stepwell.validation import suggest

USUAL_ASSISTANT = "simple_agent"
_FIRST_CONTACT_S = 5.0


def run(
    *,
    url: str,
    assistant: str | None,
    thread: str | None,
    once: str | None,
    project: Path | None,
    apps: Collection[ChatApp],
    mode: str | None = None,
) -> int:
    """Run the command and return its exit code. Any of the `apps` may work in the project, so all their slash commands count."""
    terminal = Terminal(sys.stdin, sys.stdout)
    with asyncio.Runner() as runner, open_client(runner, url, Settings.load()) as (client, address):
        chosen = runner.run(choose_assistant(client, address, assistant, thread))
        line = ServerLine(client, address, chosen["assistant_id"], terminal.line, STREAM_MODES, subgraphs=True)
        conversations = RemoteConversations(line)
        session = runner.run(conversations.open(thread)) if thread else None
        device = FolderProject(project, terminal) if project is not None else None
        for_agent = [command for app in apps for command in app.slash_commands] if device else ()
        chat = Chat(runner, terminal, conversations, session=session, device=device, for_agent=for_agent, mode=mode)
        more = f" --project {shlex.quote(str(project))}" if project is not None else ""
        return _talk(chat, f"{_name(chosen)} at {address}", address, once, continued=bool(thread), more=more)


def _talk(chat: Chat, where: str, url: str, once: str | None, *, continued: bool, more: str = "") -> int:
    """`more` are further arguments that the user needs to continue the thread."""
    if once is not None:
        code = chat.only(once)
        print(f"Thread {chat.thread_id}", file=sys.stderr)
        return code
    print(f"{where}, thread {chat.thread_id}", flush=True)
    if continued:
        try:
            chat.catch_up()
        except EOFError:  # nobody can answer the open interrupt; it stays open
            return 0
    code = chat.converse()
    print(f"Continue with: {_carry_on(url, chat.thread_id)}{more}", file=sys.stderr)
    return code


def _carry_on(url: str, thread_id: str) -> str:
    return spell_command(f"chat --url {url} --thread {thread_id}")


class RemoteConversations:
    """All threads of the user on the server, whichever assistant answered in them."""

    def __init__(self, line: ServerLine, new_id: Callable[[], str] = lambda: str(uuid4())) -> None:
        self._line = line
        self._new_id = new_id

    @property
    def configurable(self) -> dict[str, Any]:
        return self._line.configurable

    def new(self) -> RemoteSession:
        return self._session(self._new_id())

    async def open(self, thread_id: str) -> RemoteSession:
        with as_sentences(self._line.url, _carry_on(self._line.url, thread_id)):
            try:
                await self._line.client.threads.get(thread_id)
            except (NotThereError, UnprocessableEntityError):  # unprocessable: not a valid id
                raise NotFoundError("thread", thread_id, "List them with /threads in a chat.") from None
        return self._session(thread_id)

    async def newest(self) -> list[ThreadLine]:
        threads = self._line.client.threads
        with as_sentences(self._line.url, spell_command(f"chat --url {self._line.url}")):
            found = await threads.search(limit=NEWEST, sort_by="updated_at", sort_order="desc")
        return [ThreadLine(thread["thread_id"], _about(cast("Mapping[str, Any]", thread))) for thread in found]

    def _session(self, thread_id: str) -> RemoteSession:
        return RemoteSession(self._line, thread_id, carry_on=_carry_on(self._line.url, thread_id))


def _about(thread: Mapping[str, Any]) -> str:
    title = str((thread.get("metadata") or {}).get("title") or "")
    return f"{thread['status']:11} {str(thread['updated_at'])[:16]}  {title}"


async def choose_assistant(client: LangGraphClient, url: str, wanted: str | None, thread: str | None) -> Assistant:
    """The assistant to talk to, by id, name or graph. Default: the thread's own, else `USUAL_ASSISTANT`, else the first one found."""
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
    names = list(dict.fromkeys(map(_name, found)))
    raise NotFoundError("assistant", wanted, f"{suggest(wanted, names)} The server at {url} has: {', '.join(names)}.".strip())


async def _assistant_of(client: LangGraphClient, thread: str) -> str | None:
    """The assistant that last answered in the thread. A missing thread is reported later, when it is opened."""
    try:
        metadata = (await client.threads.get(thread))["metadata"] or {}
    except (NotThereError, UnprocessableEntityError):
        return None
    own = metadata.get("assistant_id")
    return str(own) if own else None


def _find(found: Sequence[Assistant], wanted: str) -> Assistant | None:
    """The assistant with this id, name or graph. A graph's default assistant has the graph's name; its others have their own."""
    for part in ("assistant_id", "name", "graph_id"):
        for assistant in found:
            if cast("Mapping[str, Any]", assistant)[part] == wanted:
                return assistant
    return None


def _name(assistant: Assistant) -> str:
    return assistant["name"] or assistant["graph_id"]


async def _first_contact(url: str) -> None:
    """Fail quickly if no server answers. The client itself would keep retrying for far too long."""
    try:
        async with httpx.AsyncClient(base_url=url, timeout=_FIRST_CONTACT_S, trust_env=False) as http:
            response = await http.get("/ok")
    except httpx.HTTPError as error:
        raise ConfigurationError(
            f"No server answers at {url}. Start one with `{spell_command('serve')}`, or set another address with --url."
        ) from error
    if response.status_code != 200:
        raise ConfigurationError(
            f"The server at {url} is not a Stepwell server (it answered {response.status_code} to /ok). Check --url."
        )
