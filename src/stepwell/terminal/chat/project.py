"""A folder instead of the browser's project: the same operations, approvals and claims, in a terminal.

A run may read files without asking. For changes the user sees a diff and is asked once per step, for all its files. `a` allows every
later change in this folder.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from stepwell.backends import FilesystemBackend
from stepwell.backends.folder_device import DeviceChange, FolderDevice
from stepwell.terminal.dialogue.terminal import Terminal

CHOICES = "[y]es, [n]o and why, [a]lways in this folder"
_SHOWN_LINES = 30


class FolderProject:
    """Carries out what a run asks of the user's device, in one folder. Shows no diff of a `generated` file if other files change in the
    same step."""

    def __init__(
        self, folder: Path, terminal: Terminal, ask: Callable[[str], str] | None = None, *, generated: Collection[str] = ()
    ) -> None:
        self._device = FolderDevice(FilesystemBackend(root_dir=str(folder.resolve()), virtual_mode=True))
        self._terminal = terminal
        self._ask = ask or terminal.ask
        self._generated = generated
        self._always = False
        self._name = folder.resolve().name or "project"

    @property
    def project_id(self) -> str:
        return self._name

    def answer(self, question: Mapping[str, Any], claim: Callable[[], str | None]) -> dict[str, Any]:
        """The answer to a `client_tool_execution`. Claims it after the person's approval, just before carrying it out."""
        claims: list[str | None] = []

        def approve(changes: Sequence[DeviceChange]) -> bool | str:
            allowed = self._decide(changes)
            if allowed is True:
                claims.append(claim())
            return allowed

        if not question.get("requires_approval"):
            claims.append(claim())
        answer = self._device.answer(question, approve)
        held = next((each for each in claims if each), None)
        return {**answer, "claim_id": held} if held else answer

    def _decide(self, changes: Sequence[DeviceChange]) -> bool | str:
        self._terminal.line(f"Save {', '.join(_describe(change) for change in changes)}")
        if self._always:
            return True
        for change in changes:
            if change.path not in self._generated or len(changes) == 1:
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


def _describe(change: DeviceChange) -> str:
    lines = change.diff.splitlines()[2:]
    added, taken = sum(line.startswith("+") for line in lines), sum(line.startswith("-") for line in lines)
    return f"{change.path.lstrip('/')} (+{added} -{taken})"


def _shorten(diff: str) -> str:
    lines = [line for line in diff.splitlines()[2:] if not line.startswith("@@")]
    more = len(lines) - _SHOWN_LINES
    return "\n".join([*lines[:_SHOWN_LINES], *([f"... {more} more lines"] if more > 0 else [])])
