"""One document with all its versions, and the tools that read and change it. A change makes a version; nothing is lost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain.tools import ToolRuntime
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import BaseTool, tool
from langgraph.types import Command
from typing_extensions import TypedDict

MAX_CHARS = 200_000
CHANGING = ("write_artifact", "patch_artifact")


class Version(TypedDict):
    text: str
    note: str
    """What was changed, in a few words."""


def reduce_versions(state: Sequence[Version], writes: Sequence[Sequence[Version]]) -> list[Version]:
    """The versions, oldest first. They only grow."""
    return [*state, *(version for write in writes for version in write)]


def artifact_tools() -> list[BaseTool]:
    return [read_artifact, write_artifact, patch_artifact]


@tool
def read_artifact(runtime: ToolRuntime, version: int = 0) -> str:
    """Read the artifact: the latest version, or the one of this number (from 1)."""
    versions = _versions(runtime.state)
    if not versions:
        return "There is no artifact yet. Make it with write_artifact."
    if not 0 <= version <= len(versions):
        return f"Error: there are versions 1 to {len(versions)}."
    number = version or len(versions)
    return f"Version {number} of {len(versions)}: {versions[number - 1]['note']}\n\n{versions[number - 1]['text']}"


@tool
def write_artifact(text: str, note: str, runtime: ToolRuntime) -> Command[Any] | ToolMessage:
    """Make a new version from a whole text. `note` says what is different."""
    return _add(runtime, "write_artifact", text, note)


@tool
def patch_artifact(search: str, replace: str, note: str, runtime: ToolRuntime) -> Command[Any] | ToolMessage:
    """Make a new version by replacing a text that stands in the latest one exactly once."""
    versions = _versions(runtime.state)
    text = versions[-1]["text"] if versions else ""
    if not search or text.count(search) != 1:
        found = text.count(search) if search else 0
        return _refuse(
            runtime, "patch_artifact", f"the text to replace stands {found} times in the artifact; it must stand once"
        )
    return _add(runtime, "patch_artifact", text.replace(search, replace), note)


def _add(runtime: ToolRuntime, name: str, text: str, note: str) -> Command[Any] | ToolMessage:
    if len(text) > MAX_CHARS:
        return _refuse(runtime, name, f"the artifact has at most {MAX_CHARS:,} characters")
    message = next((each for each in reversed(runtime.state["messages"]) if isinstance(each, AIMessage)), None)
    if message and sum(call["name"] in CHANGING for call in message.tool_calls) > 1:
        return _refuse(runtime, name, "several changes in one step would undo one another. Make one, then the next")
    number = len(_versions(runtime.state)) + 1
    said = ToolMessage(f"This is version {number}.", name=name, tool_call_id=runtime.tool_call_id or "")
    return Command(update={"messages": [said], "artifact": [Version(text=text, note=note)]})


def _refuse(runtime: ToolRuntime, name: str, why: str) -> ToolMessage:
    return ToolMessage(f"Error: {why}.", name=name, tool_call_id=runtime.tool_call_id or "", status="error")


def _versions(state: Mapping[str, Any]) -> list[Version]:
    return list(state.get("artifact") or [])
