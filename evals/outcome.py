"""What an agent did in one trial, in the form that checks ask for. It judges nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

LARGE_RESULTS = "/large_tool_results/"
CHANGES = frozenset({"write_file", "edit_file"})
"""The tools that change a file."""


@dataclass(frozen=True)
class Call:
    """A tool call of the main agent and how it ended."""

    name: str
    args: Mapping[str, Any]
    turn: int
    """Calls of one turn were made in one message."""
    result: str
    failed: bool


@dataclass(frozen=True)
class Outcome:
    """The end of a trial."""

    messages: Sequence[BaseMessage]
    before: Mapping[str, str]
    """The files the agent found, path to text."""
    after: Mapping[str, str]
    todos: Sequence[Mapping[str, str]] = ()

    @property
    def answer(self) -> str:
        """The agent's last message."""
        last = self.messages[-1] if self.messages else None
        return str(last.text) if isinstance(last, AIMessage) else ""

    @cached_property
    def calls(self) -> list[Call]:
        """The main agent's tool calls, in the order in which it made them."""
        results = {message.tool_call_id: message for message in self.messages if isinstance(message, ToolMessage)}
        turns = [message for message in self.messages if isinstance(message, AIMessage)]
        return [
            _call(request, turn, results.get(request["id"] or ""))
            for turn, said in enumerate(turns)
            for request in said.tool_calls
        ]

    def named(self, *names: str) -> list[Call]:
        """The calls of these tools that did not fail."""
        return [call for call in self.calls if call.name in names and not call.failed]

    @property
    def changed(self) -> list[str]:
        """Files that were written, edited or removed. The harness's own files for large results do not count."""
        return sorted(
            path
            for path in self.before.keys() | self.after.keys()
            if self.before.get(path) != self.after.get(path) and not path.startswith(LARGE_RESULTS)
        )

    def wrong_files(self, expected: Mapping[str, str]) -> Iterator[str]:
        """A fault for each file that is not as it should be: those expected with their text, all others untouched."""
        for path, text in expected.items():
            if path not in self.after:
                yield f"{path} is missing"
            elif self.after[path].rstrip("\n") != text.rstrip("\n"):
                yield f"{path} does not hold what was asked for"
        for path in self.changed:
            if path not in expected:
                yield f"{path} was touched without need"


def _call(request: Any, turn: int, result: ToolMessage | None) -> Call:
    failed = result is None or result.status == "error"
    return Call(request["name"], request["args"], turn, str(result.text) if result else "", failed)
