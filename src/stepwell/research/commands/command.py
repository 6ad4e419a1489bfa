"""`stepwell research`: a question, a plan that you approve, a report in which you can check every sentence.

```
options -> session (an engine here, or a server) -> dialogue (progress, gate) -> report -> bundle -> --out
```
On this machine each thread has its own folder with a database, so several can run at the same time, and continuing one does not run the
others. If the output is a file or a pipe, only the report goes there; everything else goes to standard error.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from stepwell.errors import RunError, needs_extra
from stepwell.research.commands.earlier import asked_along, describe_changes, read_earlier
from stepwell.research.commands.gate import Gate, GateAnswers, OutageError, edit_in
from stepwell.research.commands.listing import note_question
from stepwell.research.commands.options import (
    BUNDLE,
    GRAPH,
    MODES,
    ResearchOptions,
    check_options,
    make_input,
    thread_folder,
    write_file,
)
from stepwell.research.commands.progress import ResearchView
from stepwell.settings import Settings, prefer_in_environment
from stepwell.terminal.dialogue.loop import Dialogue
from stepwell.terminal.dialogue.session import RunFailedError, Session, StreamPart
from stepwell.terminal.dialogue.terminal import Terminal
from stepwell.terminal.own_command import spell_command

if TYPE_CHECKING:
    from stepwell.research.audit.export import Format
    from stepwell.research.evidence.equipment import Equipment
    from stepwell.research.evidence.origin import Origin
    from stepwell.terminal.dialogue.engine_session import OpenEngine
    from stepwell.tools.documents.page import PageText

DATABASE = "research.db"
EXTRACTIVE = (
    "No model that can write is configured, so the report will consist of quotes from the sources.\n"
    "For a written report, connect a model with `stepwell models use`."
)

_HOW_TO_SHOW = "See where each sentence stands, or add a number to open one: "


@dataclass(frozen=True)
class Invocation:
    """One call of the command, with everything it needs."""

    runner: asyncio.Runner
    options: ResearchOptions
    input: Mapping[str, Any] | None
    """The graph's input; `None` to continue a thread."""
    form: Format
    settings: Settings
    terminal: Terminal
    """For progress and for the gate."""
    output: Terminal
    """For the report."""
    earlier: Origin | None = None
    """The bundle of `--on` or `--refresh`, verified."""


def run(
    options: ResearchOptions,
    *,
    equipment: Equipment | None = None,
    settings: Settings | None = None,
    terminal: Terminal | None = None,
) -> int:
    """Run the command and return its exit code. Callers with their own web and models pass `equipment`."""
    prefer_in_environment("LANGGRAPH_STRICT_MSGPACK", "true")
    form = check_options(options)
    settings = settings or Settings.load()
    earlier = read_earlier(options, settings)
    if options.refresh and earlier:
        options = replace(options, question=str(earlier.question.data["query"]))
    given = None if options.thread and not options.question else {**make_input(options), **asked_along(options, earlier)}
    terminal = terminal or Terminal(sys.stdin, sys.stdout if sys.stdout.isatty() else sys.stderr)
    with asyncio.Runner() as runner:
        if given and options.context:
            given |= {"snippets": runner.run(_read_context(options, equipment, settings, terminal))}
        invocation = Invocation(
            runner,
            options,
            given,
            form,
            settings,
            terminal,
            Terminal(sys.stdin, sys.stdout),
            earlier,
        )
        return _run_on_server(invocation) if options.url else _run_here(invocation, equipment)


async def _read_context(
    options: ResearchOptions, equipment: Equipment | None, settings: Settings, terminal: Terminal
) -> list[dict[str, Any]]:
    with needs_extra("Reading files for a research", "research"):
        from stepwell.models.embedding.embedder import choose_embedder
        from stepwell.research.commands.material import read_material
        from stepwell.research.evidence.images import find_image_model, read_image_once
        from stepwell.research.evidence.policy.file import load_policy
    embedder = equipment.embedder if equipment else choose_embedder(settings)

    async def see(content: bytes) -> PageText:
        policy = equipment.policy if equipment else load_policy(options.policy or settings.policy)
        return await read_image_once(find_image_model(settings, policy), content, settings.data_folder / "images")

    return await read_material(options.context, options.question or "", embedder, terminal.line, see)


def demonstrate(options: ResearchOptions, *, terminal: Terminal | None = None) -> int:
    """Run the command on the pages of the demo. Without a person at the terminal, a plan that breaks no rule is approved automatically."""
    with needs_extra("Research", "research"):
        from stepwell.research.demo import PACE_S, QUESTION, SAID, demo_equipment
    terminal = terminal or Terminal(sys.stdin, sys.stdout if sys.stdout.isatty() else sys.stderr)
    terminal.line(SAID)
    question = options.question or QUESTION
    terminal.line(f"Question: {question}")
    equipment = demo_equipment(pace_s=PACE_S if terminal.interactive else 0.0)
    return run(
        replace(options, question=question, yes=options.yes or not terminal.interactive), equipment=equipment, terminal=terminal
    )


def _run_here(invocation: Invocation, equipment: Equipment | None) -> int:
    with needs_extra("Research", "research"):
        from stepwell.research.evidence.equipment import make_equipment
        from stepwell.research.gate import EvidenceGate
        from stepwell.research.graph.graph import build_graph
        from stepwell.research.judges.figures import figures_of_this_machine
        from stepwell.runs.graphs.sources import GraphSource
        from stepwell.terminal.dialogue.engine_session import EngineSession, open_engine
    options, settings, terminal = invocation.options, invocation.settings, invocation.terminal
    thread = options.thread or str(uuid4())
    folder = thread_folder(settings, thread, must_exist=options.thread is not None)
    equipment = equipment or make_equipment(replace(settings, policy=options.policy) if options.policy else settings)
    if options.origin:
        equipment = replace(equipment, origin=invocation.earlier)
    if not equipment.writes:
        terminal.line(EXTRACTIVE)
    judges = figures_of_this_machine(settings)
    stack = AsyncExitStack()
    source = GraphSource.of(build_graph(equipment))
    opening = open_engine(folder / DATABASE, GRAPH, source, gates=lambda persistence: [EvidenceGate(persistence, judges)])
    opened = invocation.runner.run(stack.enter_async_context(opening))
    try:
        session = EngineSession(opened, thread, MODES)
        carry_on = spell_command(f"research --continue {thread}")
        if _still_asks(invocation, session, carry_on):
            return 1
        if invocation.input:
            note_question(folder, str(invocation.input["user_query"]))
        code = _converse(invocation, session, carry_on)
        return code or _keep(invocation, opened, thread, folder / BUNDLE)
    finally:
        invocation.runner.run(stack.aclose())


def _run_on_server(invocation: Invocation) -> int:
    with needs_extra("Talking to a server", "server"):
        from stepwell.research.commands.on_server import connect_research, write_from_server
    runner, options, terminal = invocation.runner, invocation.options, invocation.terminal
    thread_id = options.thread or str(uuid4())
    with connect_research(runner, options.url or "", invocation.settings, thread_id, terminal.line) as thread:
        session = thread.open()
        code = 1 if _still_asks(invocation, session, thread.carry_on) else _converse(invocation, session, thread.carry_on)
        if code:
            return code
        export = spell_command(f"export {thread_id} --url {thread.url} --out bundle.zip")
        terminal.line(f"The evidence is stored on the server, thread {thread_id}.")
        terminal.line(f"Get it: {export}")
        terminal.line(_HOW_TO_SHOW + spell_command(f"show --url {thread.url} {thread_id}"))
        if options.out:
            write_file(options.out, write_from_server(runner, thread, invocation.form))
            terminal.line(f"Written: {options.out}")
        return 0


def _still_asks(invocation: Invocation, session: Session, carry_on: str) -> bool:
    """Whether the research waits for an answer, so that it cannot take a new question; tells the user so."""
    if not (invocation.input and invocation.options.thread and invocation.runner.run(session.interrupts())):
        return False
    invocation.terminal.line(
        f"Thread {session.thread_id}\nThe research is waiting for your answer, such as the approval of its plan. Answer or stop it "
        f"first, then ask your question:\n  {carry_on}"
    )
    return True


def _converse(invocation: Invocation, session: Session, carry_on: str) -> int:
    """Run one thread to its end and show the report; returns the exit code. `carry_on` is the command that continues it later."""
    runner, terminal, given = invocation.runner, invocation.terminal, invocation.input
    terminal.line(f"Thread {session.thread_id}")
    answers = GateAnswers(_make_gate(invocation), retries=given is None)
    dialogue = Dialogue(runner, session, ResearchView(terminal.line), answers)
    try:
        ending = dialogue.run(resume(session) if given is None else session.send(given))
    except OutageError as error:
        terminal.line(f"No report: {error}\nTry again with:\n  {carry_on}")
        return 1
    except RunFailedError as error:  # the reason says what went wrong; the error's class would not help the user
        raise RunError(error.reason or error.kind) from error
    match ending:
        case "stopped":
            terminal.line(f"\nStopped. Finished work is stored; continue with:\n  {carry_on}")
            return 130
        case "unanswered":
            terminal.line(f"The research is waiting for an answer, but there is nobody to answer. Continue with:\n  {carry_on}")
            return 1
    return _report(invocation, runner.run(session.values()))


async def resume(session: Session) -> AsyncGenerator[StreamPart]:
    """Follow active runs. If there are none, and the research has neither ended nor waits for an answer, it was stopped, so continue it."""
    under_way = False
    async with aclosing(session.follow()) as parts:
        async for part in parts:
            under_way = True
            yield part
    if under_way or await session.interrupts() or (await session.values()).get("status") in ("complete", "failed"):
        return
    async with aclosing(session.send(None)) as parts:
        async for part in parts:
            yield part


def _report(invocation: Invocation, values: Mapping[str, Any]) -> int:
    if values.get("status") != "complete":
        invocation.terminal.line(f"No report: {values.get('error_message') or 'the research did not finish.'}")
        return 1
    invocation.terminal.line()
    if not invocation.options.refresh:
        invocation.output.line(str(values.get("final_report") or ""))
    if head := values.get("trail_head"):
        invocation.terminal.line(f"Trail {head}\nWrite it down: forged evidence would have a different one.")
    return 0


def _keep(invocation: Invocation, opened: OpenEngine, thread_id: str, bundle: Path) -> int:
    from stepwell.research.audit.bundle import write_bundle
    from stepwell.research.audit.export import export_bundle
    from stepwell.research.audit.signing import SigningKey
    from stepwell.research.commands.left_out import list_left_out
    from stepwell.research.database_vault import SqlVault

    options, terminal = invocation.options, invocation.terminal
    signer = SigningKey(invocation.settings.data_folder, invocation.settings.signing_key_file)
    vault = SqlVault(opened.persistence.database, thread_id)
    invocation.runner.run(write_bundle(vault, bundle, signer))
    for line in invocation.runner.run(list_left_out(vault)):
        terminal.line(line)
    if options.refresh:
        invocation.output.line(describe_changes(options.refresh, bundle))
    terminal.line(f"Evidence: {bundle}")
    terminal.line(f"Check it: {spell_command(f'verify {bundle}')}")
    terminal.line(_HOW_TO_SHOW + spell_command(f"show {thread_id}"))
    if options.out:
        write_file(options.out, export_bundle(bundle, invocation.form))
        terminal.line(f"Written: {options.out}")
    return 0


def _make_gate(invocation: Invocation) -> Gate:
    terminal, editor = invocation.terminal, invocation.settings.editor
    edit = edit_in(editor) if editor and terminal.interactive else None

    def ask(text: str) -> str:
        terminal.line(text)
        # `input` writes its prompt to standard output, which may be the file for the report.
        return terminal.read("answer> " if sys.stdout.isatty() else "")

    return Gate(ask, terminal.line, edit, approve_clean=invocation.options.yes)
