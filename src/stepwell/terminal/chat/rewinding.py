"""`/rewind` in a chat: lists what can be taken back, says what would happen, asks, and does it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

from stepwell.terminal.dialogue.events import text_of
from stepwell.terminal.dialogue.session import Session
from stepwell.terminal.dialogue.terminal import Terminal

_LINE_CHARS = 70
_NEWEST = 20
_STEERED = "stepwell_steered"
"""The mark of a message that entered a run while it worked, as in `middleware/steering`."""
_TASK = "background_task"
"""The mark of a message that tells of a background task, as in `tools/background`."""
_VERBS = {"created": "comes back", "changed": "changes back", "deleted": "is deleted"}


class Rewinding:
    """The command of one chat. It remembers the last rewind of each thread, so that it can be undone."""

    def __init__(self, runner: asyncio.Runner, terminal: Terminal) -> None:
        self._runner = runner
        self._terminal = terminal
        self._last: dict[str, str] = {}

    def carry_out(self, session: Session, argument: str) -> None:
        if argument == "undo":
            self._undo(session)
            return
        said = messages_of(self._runner.run(session.values()))
        if not argument:
            self._terminal.line("\n".join(listing(said)) or "No messages yet.")
        elif argument.isdigit() and 1 <= int(argument) <= len(said):
            self._back(session, str(said[int(argument) - 1]["id"]))
        else:
            self._terminal.line(f"No message '{argument}'. /rewind lists them.")

    def _back(self, session: Session, turn_id: str) -> None:
        seen = self._runner.run(session.rewind(turn_id, dry_run=True))
        self._terminal.line("\n".join(describe(seen)))
        force = bool(seen["conflicts"])
        if not seen["can_rewind"] and not force:
            return
        if self._terminal.read("Go back all the same? (y/N) " if force else "Go back? (y/N) ").strip().lower() not in (
            "y",
            "yes",
        ):
            self._terminal.line("Nothing was changed.")
            return
        self._done(session, self._runner.run(session.rewind(turn_id, force=force)))

    def _undo(self, session: Session) -> None:
        turn_id = self._last.get(session.thread_id)
        if turn_id is None:
            self._terminal.line("There is no rewind of this chat to undo.")
            return
        self._done(session, self._runner.run(session.rewind(turn_id)))

    def _done(self, session: Session, report: Mapping[str, Any]) -> None:
        if not report["can_rewind"]:
            self._terminal.line(str(report["problem"]))
            return
        self._last[session.thread_id] = str(report["rewind_id"])
        self._terminal.line("Done. /rewind undo takes that back.")


def messages_of(values: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The messages that began turns, oldest first. One that entered a run while it worked began none."""
    messages = values.get("messages")
    return [each for each in messages if _begins_turn(each)] if isinstance(messages, list) else []


def _begins_turn(message: Mapping[str, Any]) -> bool:
    return message.get("type") == "human" and bool(message.get("id")) and not _mark(message, _STEERED)


def _mark(message: Mapping[str, Any], name: str) -> Any:
    return (message.get("additional_kwargs") or {}).get(name)


def listing(said: list[Mapping[str, Any]]) -> Iterable[str]:
    for number, message in list(enumerate(said, 1))[-_NEWEST:]:
        task = _mark(message, _TASK)
        text = f"({task.get('agent_name')} came back)" if isinstance(task, Mapping) else " ".join(text_of(message).split())
        yield f"{number:3}  {text if len(text) <= _LINE_CHARS else text[: _LINE_CHARS - 1] + '…'}"


def describe(report: Mapping[str, Any]) -> Iterable[str]:
    """What a rewind would do, line by line."""
    yield f"{report['messages_removed']} messages leave the conversation."
    for file in report["files"]:
        yield f"  {file['path']} {_VERBS[file['change']]} (+{file['insertions']} -{file['deletions']})"
    if report["problem"]:
        yield str(report["problem"])
    if report["not_undone"]:
        yield "What stays as it is:"
    for each in report["not_undone"]:
        place = " on your device, which keeps earlier versions itself" if each["kind"] == "device" else ""
        yield f"  {each['what']}{place}" + (f" ({each['times']} times)" if each["times"] > 1 else "")
