"""`stepwell research`: a question, a plan that you approve, a report whose every sentence can be checked.

```
arguments -> session (this process, or a server) -> Dialogue (progress, gate, report) -> bundle -> --out
```
Where the output is a file or a pipe, only the report goes there; the rest is said on the standard error.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from stepwell.cli.dialogue.terminal import Terminal
from stepwell.cli.own_command import spell_command
from stepwell.cli.research.gate import Gate, edit_in
from stepwell.errors import ConfigurationError, InvalidRequestError, NotFoundError, needs_extra
from stepwell.settings import Settings, prefer_in_environment

if TYPE_CHECKING:
    from stepwell.apps.research.export import Format
    from stepwell.apps.research.kit import Equipment
    from stepwell.cli.research.session import LocalResearch, ResearchSession

MAX_CONTEXT_CHARS = 200_000
EXTRACTIVE = (
    "No model that can write is configured, so this will be quotes from the sources, not a written answer.\n"
    "For a written report set STEPWELL_MODEL=provider:name and the provider's key."
)
_THREAD = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True)
class ResearchOptions:
    """What the command line asks for."""

    question: str | None
    thread: str | None = None
    """With `--continue`: the thread to go on with."""
    url: str | None = None
    yes: bool = False
    review_sources: bool = False
    policy: Path | None = None
    out: Path | None = None
    form: str | None = None
    context: Sequence[Path] = ()
    context_urls: Sequence[str] = ()


def run(
    asked: ResearchOptions, *, kit: Equipment | None = None, settings: Settings | None = None, terminal: Terminal | None = None
) -> int:
    """The command; gives the exit code. `kit` is for whoever brings a web and models of their own."""
    prefer_in_environment("LANGGRAPH_STRICT_MSGPACK", "true")
    settings = settings or Settings.load()
    form = _form(asked)
    given = None if asked.thread else _input(asked)
    terminal = terminal or Terminal(sys.stdin, sys.stdout if sys.stdout.isatty() else sys.stderr)
    gate = _gate(asked, terminal, settings)
    with asyncio.Runner() as runner:
        if asked.url:
            return _remote(runner, asked, given, gate, terminal, settings, form)
        return _local(runner, asked, given, gate, terminal, settings, kit, form)


def demonstrate(asked: ResearchOptions, *, terminal: Terminal | None = None) -> int:
    """The same on a web of our own. Where nobody is there to approve the plan, it is approved if it breaks no rule."""
    with needs_extra("Research", "research"):
        from stepwell.cli.demo.research import PACE_S, QUESTION, SAID, demo_equipment
    terminal = terminal or Terminal(sys.stdin, sys.stdout if sys.stdout.isatty() else sys.stderr)
    terminal.line(SAID)
    question = asked.question or QUESTION
    terminal.line(f"Question: {question}")
    kit = demo_equipment(pace_s=PACE_S if terminal.interactive else 0.0)
    return run(replace(asked, question=question, yes=asked.yes or not terminal.interactive), kit=kit, terminal=terminal)


def _local(
    runner: asyncio.Runner,
    asked: ResearchOptions,
    given: dict[str, Any] | None,
    gate: Gate,
    terminal: Terminal,
    settings: Settings,
    kit: Equipment | None,
    form: Format,
) -> int:
    with needs_extra("Research", "research"):
        from stepwell.apps.research.kit import make_equipment
        from stepwell.cli.research.session import LocalResearch
    thread = asked.thread or str(uuid4())
    folder = thread_folder(settings, thread, must_exist=asked.thread is not None)
    kit = kit or make_equipment(replace(settings, policy=asked.policy) if asked.policy else settings)
    if not kit.writes:
        terminal.line(EXTRACTIVE)
    session = LocalResearch(folder, thread, kit)
    runner.run(session.open())
    try:
        code = _converse(runner, session, given, gate, terminal, spell_command(f"research --continue {thread}"))
        return code or _keep(runner, session, asked, form, terminal)
    finally:
        runner.run(session.close())


def _remote(
    runner: asyncio.Runner,
    asked: ResearchOptions,
    given: dict[str, Any] | None,
    gate: Gate,
    terminal: Terminal,
    settings: Settings,
    form: Format,
) -> int:
    from stepwell.cli.research.on_server import connect_research, write_from_server

    with connect_research(runner, asked.url or "", settings, asked.thread) as session:
        carry_on = spell_command(f"research --url {session.url} --continue {session.thread_id}")
        code = _converse(runner, session, given, gate, terminal, carry_on)
        if code == 0:
            terminal.line(f"The evidence is kept on the server, thread {session.thread_id}.")
            terminal.line(f"Get it: stepwell export {session.thread_id} --url {session.url} --out bundle.zip")
        if code == 0 and asked.out:
            write_file(asked.out, write_from_server(runner, session, form))
            terminal.line(f"Written: {asked.out}")
        return code


def _converse(
    runner: asyncio.Runner,
    session: ResearchSession,
    given: dict[str, Any] | None,
    gate: Gate,
    terminal: Terminal,
    carry_on: str,
) -> int:
    from stepwell.cli.research.loop import Dialogue

    terminal.line(f"Thread {session.thread_id}")
    dialogue = Dialogue(runner, terminal, gate, session, Terminal(sys.stdin, sys.stdout), carry_on)
    return dialogue.run(session.follow() if given is None else session.ask(given), carries_on=given is None)


def _keep(runner: asyncio.Runner, session: LocalResearch, asked: ResearchOptions, form: Format, terminal: Terminal) -> int:
    from stepwell.apps.research.export import export_bundle

    bundle = runner.run(session.save_bundle())
    terminal.line(f"Everything it rests on: {bundle}")
    terminal.line(f"Check it: stepwell verify {bundle}")
    if asked.out:
        write_file(asked.out, export_bundle(bundle, form))
        terminal.line(f"Written: {asked.out}")
    return 0


def thread_folder(settings: Settings, thread: str, *, must_exist: bool) -> Path:
    """Where a thread of this command lives."""
    folder = settings.data_folder / "research" / thread
    if not _THREAD.fullmatch(thread) or (must_exist and not folder.is_dir()):
        raise NotFoundError("research", thread, "Its id was printed when it began; researches of a server need --url.")
    return folder


def write_file(file: Path, content: bytes) -> None:
    try:
        file.write_bytes(content)
    except OSError as error:
        raise ConfigurationError(
            f"'{file.name}' cannot be written ({error.strerror}). Name another file with --out."
        ) from error


def _form(asked: ResearchOptions) -> Format:
    """Known before anything is asked for: a wrong name must not show after ten minutes."""
    from stepwell.apps.research.export import format_of

    form = format_of(asked.out, asked.form)
    if asked.url and asked.policy:
        raise ConfigurationError("A server has its own policy, so --policy cannot apply there. Leave it out.")
    if asked.form and not asked.out:
        raise ConfigurationError("--format says how to write a file; name it with --out.")
    if asked.out:
        _check_out(asked.out, form)
    return form


def _check_out(file: Path, form: Format) -> None:
    """Whether the file can be written, as far as that can be known beforehand: a research takes minutes."""
    from stepwell.apps.research.export import require_format

    require_format(form)
    if file.is_dir():
        raise ConfigurationError(f"'{file}' is a folder. Name a file with --out.")
    if not file.parent.is_dir():
        raise ConfigurationError(
            f"There is no folder '{file.parent}' to write '{file.name}' into. Make it, or name another file with --out."
        )
    if not os.access(file if file.exists() else file.parent, os.W_OK):
        raise ConfigurationError(f"You may not write '{file}'. Name another file with --out.")


def _input(asked: ResearchOptions) -> dict[str, Any]:
    from stepwell.apps.research.schemas import MAX_QUERY_CHARS

    question = (asked.question or "").strip()
    if not question:
        raise InvalidRequestError('There is no question. Write it behind the command: stepwell research "..."')
    if len(question) > MAX_QUERY_CHARS:
        raise InvalidRequestError(
            f"The question has {len(question):,} characters, at most {MAX_QUERY_CHARS:,} are taken. "
            "Ask in fewer words; material to work with goes into a file for --context."
        )
    return {
        "user_query": question,
        "knowledge_context": _context(asked.context),
        "context_urls": list(asked.context_urls),
        "review_sources": asked.review_sources,
    }


def _context(files: Sequence[Path]) -> str:
    texts = []
    for file in files:
        try:
            texts.append(file.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is not text in UTF-8"
            raise InvalidRequestError(f"The file '{file.name}' of --context cannot be read ({why}).") from error
    context = "\n\n".join(texts)
    if len(context) > MAX_CONTEXT_CHARS:
        raise InvalidRequestError(
            f"The files of --context have {len(context):,} characters, at most {MAX_CONTEXT_CHARS:,} are taken."
        )
    return context


def _gate(asked: ResearchOptions, terminal: Terminal, settings: Settings) -> Gate:
    edit = edit_in(settings.editor) if settings.editor and terminal.interactive else None

    def ask(question: str) -> str:
        terminal.line(question)
        # The platform's prompt goes to the standard output, which may be the file that takes the report.
        return terminal.read("answer> " if sys.stdout.isatty() else "")

    return Gate(ask, terminal.line, edit, approve_clean=asked.yes)
