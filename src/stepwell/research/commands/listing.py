"""`stepwell research --list`: your researches, newest first, each with its question, and how to continue one.

On this machine each is a folder with a file that contains the question; older ones are recognised by their bundle. On a server they
are the threads of its research graph.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from stepwell.errors import BundleError, needs_extra
from stepwell.private_files import make_private_folder
from stepwell.research.commands.options import ASKED, BUNDLE, GRAPH
from stepwell.settings import Settings
from stepwell.terminal.own_command import spell_command

MOST = 100
"""Maximum number of lines shown; the user can narrow the list down with words."""
_PAGE = 100
_MOST_ON_SERVER = 2_000


@dataclass(frozen=True)
class PastResearch:
    thread_id: str
    question: str
    at: datetime
    ended: bool

    def has(self, words: str) -> bool:
        """Whether the question contains each of the words, ignoring case, or the id starts with the whole text."""
        asked = self.question.casefold()
        return self.thread_id.startswith(words) or all(word in asked for word in words.casefold().split())


def run(words: str, *, url: str | None = None, settings: Settings | None = None) -> int:
    settings = settings or Settings.load()
    all_there = _list_on_server(url, settings) if url else list(list_here(settings))
    found = sorted((each for each in all_there if each.has(words)), key=lambda each: each.at, reverse=True)
    if not found:
        said = f"None of the {len(all_there)} researches matches '{words}'." if all_there else "There are no researches yet."
        example = spell_command('research "..."')
        print(f"{said} Start one: {example}")
        return 0 if not words else 1
    for each in found[:MOST]:
        print(
            f"{each.at.astimezone():%Y-%m-%d %H:%M}  {each.thread_id}  {'' if each.ended else '(not finished) '}{each.question}"
        )
    if len(found) > MOST:
        print(f"... and {len(found) - MOST} more. Add words of the question to narrow the list down.")
    at = f" --url {url}" if url else ""
    print(f"Continue one: {spell_command(f'research --continue THREAD{at}')}")
    return 0


def note_question(folder: Path, question: str) -> None:
    """Store the question on one line, for the list."""
    make_private_folder(folder)
    aside = folder / f".{ASKED}"
    aside.write_text(" ".join(question.split()) + "\n", encoding="utf-8")
    os.replace(aside, folder / ASKED)


def list_here(settings: Settings) -> Iterator[PastResearch]:
    folder = settings.data_folder / "research"
    if not folder.is_dir():
        return
    for each in folder.iterdir():
        question = _question_in(each)
        if question is not None:
            kept = next(file for file in (each / BUNDLE, each / ASKED) if file.is_file())
            yield PastResearch(each.name, question, datetime.fromtimestamp(kept.stat().st_mtime, UTC), kept.name == BUNDLE)


def _question_in(folder: Path) -> str | None:
    if (folder / ASKED).is_file():
        return (folder / ASKED).read_text(encoding="utf-8").strip()
    if not (folder / BUNDLE).is_file():
        return None
    from stepwell.research.audit.export.dossier import read_dossier

    try:
        return read_dossier(folder / BUNDLE).question
    except BundleError as error:
        return f"(its bundle cannot be read: {error})"


def _list_on_server(url: str, settings: Settings) -> list[PastResearch]:
    with needs_extra("Talking to a server", "server"):
        from stepwell.terminal.dialogue.remote_session import open_client
        from stepwell.terminal.dialogue.server_errors import as_sentences

    async def search() -> list[PastResearch]:
        found: list[PastResearch] = []
        with as_sentences(address, spell_command("research --list")):
            while len(found) < _MOST_ON_SERVER:
                threads = await client.threads.search(
                    metadata={"graph_id": GRAPH}, limit=_PAGE, offset=len(found), select=["thread_id", "updated_at", "values"]
                )
                for thread in threads:
                    values: dict[str, Any] = thread["values"] or {}
                    asked = str(values.get("user_query") or "")
                    at = datetime.fromisoformat(str(thread["updated_at"]))
                    ended = values.get("status") in ("complete", "failed")
                    found.append(PastResearch(str(thread["thread_id"]), asked, at, ended))
                if len(threads) < _PAGE:
                    break
        return found

    with asyncio.Runner() as runner, open_client(runner, url, settings) as (client, address):
        return runner.run(search())
