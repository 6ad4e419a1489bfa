"""Asks the user's device to work on the files of a project, with one interrupt for any number of calls.

```
calls ─▶ interrupt {type: client_tool_execution, message, tool_calls, project_id, deadline_s, requires_approval} ─▶ the page does them
results <── {tool_results: [...]}, checked against one schema per operation before LangGraph stores them (`answers.client_tools`)
```
Nothing happens before the interrupt, so a step that runs again asks nothing twice, because LangGraph gives it the answer it already has.
We have no time-out for the device. `deadline_s` tells clients when to report that the device is late; the question stays open.

The project comes from the `Device` itself, the agent's state, or the run's configuration, in this order. Whether its writes need approval
comes from the state, the configuration, or the `Device`, in this order. The device handles the approval, because only the device has the
file that a change is compared with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from langgraph.config import get_config

from stepwell.answers import ask
from stepwell.answers.client_tools import (
    CLIENT_TOOL_EXECUTION,
    DeviceError,
    client_tools_fault,
    client_tools_schema,
    read_results,
)
from stepwell.backends import messages
from stepwell.backends.paths import PathError, Place
from stepwell.backends.protocol import ErrorText

PROJECT: Final = "current_project_id"
WRITE_APPROVAL: Final = "write_approval"
"""Keys in a state or configuration: which project, and whether its writes need approval (for all projects, or per project)."""
DEADLINE_S = 120.0
CHANGING: Final = frozenset({"write_file", "patch_file", "delete_file", "move_file"})
MAX_REASON_CHARS = 1_000
ABOUT: Final = ("file_id", "path", "title", "query", "pattern")
"""Arguments that say what a call is about; the first of them that a call has is used."""


@dataclass(frozen=True, slots=True)
class DeviceCall:
    """One of the nine operations, with its arguments as sent."""

    name: str
    args: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Device:
    """Which project's device to ask, and how. `bind` returns a `Device` that knows the running step."""

    project_id: str | None = None
    deadline_s: float = DEADLINE_S
    requires_approval: bool = True
    call_id: str = ""
    """The id of the tool call that asks."""
    state: Mapping[str, Any] = field(default_factory=dict)

    def bind(self, runtime: Any = None, *, state: Mapping[str, Any] | None = None) -> Device:
        """The same device, asked from a tool (its runtime) or from a node (its state)."""
        found = state if state is not None else getattr(runtime, "state", None)
        return replace(
            self,
            call_id=getattr(runtime, "tool_call_id", None) or self.call_id,
            state=found if isinstance(found, Mapping) else {},
        )

    def perform(self, calls: Sequence[DeviceCall], **more: Any) -> list[Any]:
        """The device's answer to each call: the model of the operation's content, or a `DeviceError`. `more` is added to the question that
        clients see."""
        question = {**self.question(calls), **more}
        return read_results(question, ask(question, client_tools_fault, client_tools_schema(question)))

    def question(self, calls: Sequence[DeviceCall]) -> dict[str, Any]:
        """The interrupt's payload."""
        configured = _configured()
        project_id = self.project_id or self.state.get(PROJECT) or configured.get(PROJECT)
        first = self.call_id or _task_id()
        ids = [first] if len(calls) == 1 else [f"{first}.{number}" for number in range(1, len(calls) + 1)]
        listed = zip(ids, calls, strict=True)
        return {
            "type": CLIENT_TOOL_EXECUTION,
            "message": _say_what_waits(calls, project_id),
            "tool_calls": [{"id": name, "name": call.name, "args": dict(call.args)} for name, call in listed],
            "project_id": project_id,
            "deadline_s": self.deadline_s,
            "requires_approval": any(call.name in CHANGING for call in calls) and self._needs_approval(project_id, configured),
        }

    def _needs_approval(self, project_id: Any, configured: Mapping[str, Any]) -> bool:
        chosen = self.state.get(WRITE_APPROVAL)
        if chosen is None:
            chosen = configured.get(WRITE_APPROVAL)
        if isinstance(chosen, Mapping):
            chosen = chosen.get(project_id)
        # Only a plain yes or no counts: a typing mistake must not switch the approval off.
        return chosen if isinstance(chosen, bool) else self.requires_approval


def say_failure(error: DeviceError, call: DeviceCall, path: str) -> ErrorText:
    """A device's error as a text that the model can act on. `path` is the file or folder that the call was about."""
    reason = error.message.strip()[:MAX_REASON_CHARS]
    quoted = f" ({reason})" if reason else ""
    changing = call.name in CHANGING
    match error.code:
        case "not_found" if call.name == "delete_file":
            return messages.nothing_there(path)
        case "not_found" if call.name == "move_file":
            target = call.args["path"]
            return PathError(
                "Error: no file or folder ",
                Place(path),
                ". It may have been moved to ",
                Place(target),
                " already: list both folders.",
            )
        case "conflict" if call.name == "move_file" and not call.args.get("overwrite") and not call.args.get("base_hash"):
            return messages.taken(call.args["path"])
        case "failed" if call.name == "move_file":
            return PathError("Error: ", Place(path), " could not be moved to ", Place(call.args["path"]), f"{quoted}.")
        case "not_found":
            return messages.no_folder(path) if call.name == "list_files" else messages.no_file(path)
        case "rejected":
            what = "this change of " if changing else "access to "
            told = f" and says: {reason}" if reason else ""
            way_out = " Nothing was changed. Do what they say, or ask what they want instead; do not repeat the call."
            return PathError("Error: the user did not allow ", what, Place(path), f"{told}.", way_out)
        case "conflict" if call.name == "write_file" and not call.args.get("overwrite"):
            return messages.exists(path)
        case "conflict":
            return PathError(
                "Error: conflict: the change does not fit ",
                Place(path),
                f" as it is now{quoted}. Read it again, then repeat it.",
            )
        case "too_large":
            return PathError(
                "Error: ", Place(path), f" is too large{quoted}. Ask for less: offset and limit, or a narrower pattern or path."
            )
        case "timeout":
            return PathError(
                "Error: the user's device did not finish with ",
                Place(path),
                f" in time{quoted}. Ask for less, or go on without it.",
            )
        case _:
            return messages.unavailable(path, f"the user's device could not do it{quoted}")


def _say_what_waits(calls: Sequence[DeviceCall], project_id: Any) -> str:
    """A sentence for people who look at a thread that waits for a device."""
    whose = f"the project '{project_id}'" if project_id else "the user's files"
    about = [
        " ".join([call.name, *(str(call.args[name])[:200] for name in ABOUT if call.args.get(name))][:2]) for call in calls
    ]
    return f"Waiting for the device with {whose}: {', '.join(about)}."


def _configured() -> Mapping[str, Any]:
    try:
        configured = get_config().get("configurable")
    except RuntimeError:  # outside of a graph, where the interrupt will fail with its own message
        return {}
    return configured or {}


def _task_id() -> str:
    """An id for a call that no model made: LangGraph's task id, which is the same if the step runs again."""
    namespace = str(_configured().get("checkpoint_ns", ""))
    return namespace.rpartition("|")[2].replace(":", "-") or "call"
