"""A folder instead of the browser's project: the same operations, approvals and claims, in a terminal.

A run may read files without asking. For changes the user sees a diff and is asked once per step, for all its files. `a` allows every
later change in this folder. An agent that wants to keep notes of its own (`notes` in the question) asks for that once, with the notes as
sentences.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from stepwell.backends import FilesystemBackend
from stepwell.backends.folder_device import DeviceChange, FolderDevice
from stepwell.terminal.dialogue.terminal import Terminal

CHOICES = "[y]es, [n]o and why, [a]lways in this folder"
NOTES_CHOICES = "[y]es, [n]o, only in this conversation"
_SHOWN_LINES = 30


class FolderProject:
    """Carries out what a run asks of the user's device, in one folder."""

    def __init__(self, folder: Path, terminal: Terminal, ask: Callable[[str], str] | None = None) -> None:
        self._device = FolderDevice(FilesystemBackend(root_dir=str(folder.resolve()), virtual_mode=True))
        self._terminal = terminal
        self._ask = ask or terminal.ask
        self._always = False
        self._name = folder.resolve().name or "project"

    @property
    def project_id(self) -> str:
        return self._name

    def answer(self, question: Mapping[str, Any], claim: Callable[[], str | None]) -> dict[str, Any]:
        """The answer to a `client_tool_execution`. Claims it after the person's approval, just before carrying it out."""
        claims: list[str | None] = []

        def approve(changes: Sequence[DeviceChange]) -> bool | str:
            notes = question.get("notes")
            allowed = self._decide_notes(notes, changes) if isinstance(notes, Mapping) else self._decide(changes)
            if allowed is True:
                claims.append(claim())
            return allowed

        if not question.get("requires_approval"):
            claims.append(claim())
        answer = self._device.answer(question, approve)
        held = next((each for each in claims if each), None)
        return {**answer, "claim_id": held} if held else answer

    def _decide(self, changes: Sequence[DeviceChange]) -> bool | str:
        written = [change for change in changes if not change.renamed]
        if written:
            self._terminal.line(f"Save {', '.join(_describe(change) for change in written)}")
        for change in changes:
            if change.renamed:
                self._terminal.line(_describe_renaming(change))
        if self._always:
            return True
        for change in changes:
            self._terminal.line(_shorten(change.diff))
        while True:
            word, _, reason = self._ask(CHOICES).strip().partition(" ")
            match word.casefold():
                case "y" | "yes":
                    return True
                case "a" | "always":
                    self._always = True
                    return True
                case "n" | "no":
                    return reason.strip() or False

    def _decide_notes(self, notes: Mapping[str, Any], changes: Sequence[DeviceChange]) -> bool:
        folder = f"/{str(notes.get('folder', '')).strip('/')}/"
        if self._always or not all(change.path.startswith(folder) and not change.renamed for change in changes):
            return self._decide(changes) is True
        self._terminal.line(f"May it keep its notes in the folder '{folder.strip('/')}' of {self._name}? It asks this once.")
        self._terminal.line(str(notes.get("text", "")))
        while True:
            match self._ask(NOTES_CHOICES).strip().partition(" ")[0].casefold():
                case "y" | "yes" | "a" | "always":
                    return True
                case "n" | "no":
                    return False


def _describe(change: DeviceChange) -> str:
    lines = change.diff.splitlines()[2:]
    added, taken = sum(line.startswith("+") for line in lines), sum(line.startswith("-") for line in lines)
    return f"{change.path.lstrip('/')} (+{added} -{taken})"


def _describe_renaming(change: DeviceChange) -> str:
    count = len(change.renamed)
    what = f"{change.path.lstrip('/')} ({count} {'file' if count == 1 else 'files'})"
    return f"Delete {what}" if change.destination is None else f"Move {what} to {change.destination.lstrip('/')}"


def _shorten(diff: str) -> str:
    lines = [line for line in diff.splitlines()[2:] if not line.startswith("@@")]
    more = len(lines) - _SHOWN_LINES
    return "\n".join([*lines[:_SHOWN_LINES], *([f"... {more} more lines"] if more > 0 else [])])
