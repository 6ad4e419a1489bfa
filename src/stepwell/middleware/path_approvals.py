"""Turns permissions with `mode="interrupt"` into approvals: which file tools ask a person, and for which of their calls.

| tool | asks if |
|---|---|
| read_file, write_file, edit_file | the rules say so about the file |
| ls | the rules say so about the folder, or may say so about one of its files |
| glob, grep, search, delete, move | something at or below the path may need approval |

A path that no tool accepts does not ask, because the tool will refuse it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from langchain.agents.middleware.human_in_the_loop import InterruptOnConfig
from langgraph.prebuilt.tool_node import ToolCallRequest

from stepwell.backends import paths
from stepwell.backends.permissions import FilesystemOperation, PathRules, anchor
from stepwell.backends.protocol import ErrorText

Asks = Callable[[PathRules, FilesystemOperation, Mapping[str, Any], str], bool]
InterruptOn = Mapping[str, bool | InterruptOnConfig]


def asks_about_file(rules: PathRules, operation: FilesystemOperation, args: Mapping[str, Any], key: str) -> bool:
    path = paths.resolve(args.get(key))
    return not isinstance(path, ErrorText) and rules.decide(operation, path) == "interrupt"


def asks_about_folder(rules: PathRules, operation: FilesystemOperation, args: Mapping[str, Any], key: str) -> bool:
    path = paths.resolve(args.get(key) or paths.ROOT)
    return not isinstance(path, ErrorText) and rules.may_ask_in(operation, path)


def asks_below(rules: PathRules, operation: FilesystemOperation, args: Mapping[str, Any], key: str) -> bool:
    path = paths.resolve(args.get(key) or paths.ROOT)
    return not isinstance(path, ErrorText) and rules.may_ask_below(operation, path)


def asks_for_pattern(rules: PathRules, operation: FilesystemOperation, args: Mapping[str, Any], key: str) -> bool:
    """A pattern starts in its folder; but another project's backend may take one with a leading slash or `..` for a place elsewhere."""
    pattern = str(args.get("pattern") or "")
    if ".." in pattern.split("/"):
        return True
    if pattern.startswith("/") and rules.may_ask_below(operation, anchor(pattern)):
        return True
    return asks_below(rules, operation, args, key)


_QUESTIONS: dict[str, tuple[tuple[FilesystemOperation, str, Asks], ...]] = {
    "ls": (("read", "path", asks_about_folder),),
    "read_file": (("read", "file_path", asks_about_file),),
    "glob": (("read", "path", asks_for_pattern),),
    "grep": (("read", "path", asks_below),),
    "search": (("read", "path", asks_below),),
    "write_file": (("write", "file_path", asks_about_file),),
    # An edit tells whether a text occurs in the file.
    "edit_file": (("write", "file_path", asks_about_file), ("read", "file_path", asks_about_file)),
    "delete": (("write", "file_path", asks_below),),
    "move": (("write", "source", asks_below), ("read", "source", asks_below), ("write", "destination", asks_below)),
}


def approvals_for(rules: PathRules) -> dict[str, InterruptOnConfig]:
    """The approvals that the rules want; empty if none of them asks."""
    wanted = rules.asking
    return {
        tool: {"allowed_decisions": ["approve", "edit", "reject"], "when": _when(rules, tool)}
        for tool, questions in _QUESTIONS.items()
        if any(operation in wanted for operation, _, _ in questions)
    }


def merge_approvals(
    given: InterruptOn | None, from_rules: Mapping[str, InterruptOnConfig]
) -> dict[str, bool | InterruptOnConfig]:
    """The caller's approvals and those of the rules: a call asks if one of them wants it to."""
    merged: dict[str, bool | InterruptOnConfig] = dict(given or {})
    for tool, config in from_rules.items():
        own = merged.get(tool)
        if not own:
            merged[tool] = config
        elif isinstance(own, Mapping) and (own_when := own.get("when")) is not None:
            merged[tool] = {**own, "when": _either(own_when, config["when"])}
    return merged


def _when(rules: PathRules, tool: str) -> Callable[[ToolCallRequest], bool]:
    questions = [question for question in _QUESTIONS[tool] if question[0] in rules.asking]

    def when(request: ToolCallRequest) -> bool:
        args = request.tool_call["args"]
        return any(asks(rules, operation, args, key) for operation, key, asks in questions)

    return when


def _either(
    one: Callable[[ToolCallRequest], bool], other: Callable[[ToolCallRequest], bool]
) -> Callable[[ToolCallRequest], bool]:
    return lambda request: one(request) or other(request)
