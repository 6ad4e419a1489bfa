"""Turns permissions with `mode="interrupt"` into approvals: which file tools ask a person, and for which of their calls.

| tool | asks if |
|---|---|
| read_file, write_file, edit_file | the rules say so about the file |
| ls | the rules say so about the folder, or may say so about one of its files |
| glob, grep, search, delete, move | something at or below the path may need approval |

A path that no tool accepts does not ask, because the tool will refuse it. These approvals ask in every mode of a run, and say which rule
wants it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast, get_args

from langchain.agents.middleware.human_in_the_loop import DecisionType, InterruptOnConfig
from langgraph.prebuilt.tool_node import ToolCallRequest

from stepwell.answers.approvals import RULE_ASKS
from stepwell.backends import paths
from stepwell.backends.permissions import FilesystemOperation, PathRules, anchor
from stepwell.backends.protocol import ErrorText
from stepwell.middleware.approvals import RULE, Reason

Asks = Callable[[PathRules, FilesystemOperation, Mapping[str, Any], str], bool]
InterruptOn = Mapping[str, bool | InterruptOnConfig]
_DONE: dict[FilesystemOperation, str] = {"read": "read", "write": "changed"}


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
    return {
        tool: cast(
            "InterruptOnConfig", {"allowed_decisions": ["approve", "edit", "reject"], "when": _when(reason), RULE: reason}
        )
        for tool in _QUESTIONS
        if (reason := _reason(rules, tool))
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
            continue
        always: Mapping[str, Any] = {"allowed_decisions": list(get_args(DecisionType))} if own is True else cast("Any", own)
        both: dict[str, Any] = {**always, RULE: cast("Any", config)[RULE]}
        if (own_when := both.get("when")) is not None:
            both["when"] = _either(own_when, config["when"])
        merged[tool] = cast("InterruptOnConfig", both)
    return merged


def _reason(rules: PathRules, tool: str) -> Reason | None:
    """Says why a call asks; None if the rules never ask about this tool."""
    questions = [question for question in _QUESTIONS[tool] if question[0] in rules.asking]

    def reason(args: Mapping[str, Any]) -> str | None:
        for operation, key, asks in questions:
            if asks(rules, operation, args, key):
                return f"{RULE_ASKS}{_pattern(rules, operation, args, key)} is {_DONE[operation]}."
        return None

    return reason if questions else None


def _pattern(rules: PathRules, operation: FilesystemOperation, args: Mapping[str, Any], key: str) -> str:
    """The rule's pattern: the one about this path, or the first, if the call may reach other places."""
    path = paths.resolve(args.get(key) or paths.ROOT)
    about = [] if isinstance(path, ErrorText) else rules.asking_below(operation, path)
    return (about or rules.asking_below(operation, paths.ROOT))[0]


def _when(reason: Reason) -> Callable[[ToolCallRequest], bool]:
    return lambda request: reason(request.tool_call["args"]) is not None


def _either(
    one: Callable[[ToolCallRequest], bool], other: Callable[[ToolCallRequest], bool]
) -> Callable[[ToolCallRequest], bool]:
    return lambda request: one(request) or other(request)
