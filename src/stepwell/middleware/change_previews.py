"""Approvals of file changes, which show what would change and are valid only for that change.

```
model asks to write ──▶ ChangePreviewMiddleware: reads the file, stores diff and base version in state (a checkpointed step of its own)
                    ──▶ PreviewedApprovals: the interrupt carries both; a person decides, perhaps days later
                    ──▶ on_seen_base(backend): the change is made only if the file still has that version; otherwise a conflict
```

Code before an interrupt runs again when the interrupt is answered. So we read the file in a separate step before the one that asks, and
the base is what the person saw, not what is there when the answer comes. Versions are derived from content, so if a turn changes one
file several times, each change can be based on the version that the previous change will produce.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, cast

from langchain.agents.middleware.human_in_the_loop import ActionRequest, InterruptOnConfig, ReviewConfig
from langchain.agents.middleware.types import AgentMiddleware, AgentState
from langchain_core.messages import AIMessage, ToolCall
from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from stepwell.backends import messages, paths, text
from stepwell.backends.protocol import BackendFactory, BackendProtocol, EditResult, ErrorText, WriteResult
from stepwell.middleware.approvals import ApprovalMiddleware
from stepwell.middleware.request import tool_runtime
from stepwell.tools.files.tools import acall, backend_for

CHANNEL = "change_previews"
CHANGING = frozenset({"write_file", "edit_file"})
MAX_DIFF_CHARS = 20_000


class Preview(TypedDict):
    """What a call would change, as shown to the person who decides."""

    path: str
    base_version: str | None
    """The version that the change is based on; None if there was no file."""
    diff: str
    problem: NotRequired[str]
    """Why the change would fail; absent if it would succeed."""


class PreviewState(AgentState[Any]):
    change_previews: NotRequired[dict[str, Preview]]


class ChangePreviewMiddleware(AgentMiddleware[Any, Any, Any]):
    """Prepares the previews of a turn. Place it directly after `PreviewedApprovals`, because `after_model` hooks run from last to first."""

    state_schema = PreviewState

    def __init__(self, backend: BackendProtocol | BackendFactory) -> None:
        super().__init__()
        self._backend = backend

    def after_model(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        calls = _changing_calls(state["messages"])
        if not calls:
            return None
        backend = backend_for(self._backend, tool_runtime(state, runtime))
        found = {path: backend.download_files([path])[0].content for path in _paths_of(calls)}  # type: ignore[attr-defined]
        return {CHANNEL: preview_all(calls, found)}

    async def aafter_model(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        calls = _changing_calls(state["messages"])
        if not calls:
            return None
        backend = backend_for(self._backend, tool_runtime(state, runtime))
        found = {path: (await acall(backend, "download_files", [path]))[0].content for path in _paths_of(calls)}
        return {CHANNEL: preview_all(calls, found)}


class PreviewedApprovals(ApprovalMiddleware):
    """Approvals whose requests for file changes carry `path`, `diff` and `base_version`."""

    def _create_action_and_config(
        self, tool_call: ToolCall, config: InterruptOnConfig, state: AgentState[Any], runtime: Runtime[Any]
    ) -> tuple[ActionRequest, ReviewConfig]:
        action, review = super()._create_action_and_config(tool_call, config, state, runtime)
        preview = _previews(cast("Mapping[str, Any]", state)).get(tool_call["id"] or "")
        return cast("ActionRequest", {**action, **preview}) if preview else action, review


def on_seen_base(backend: BackendProtocol | BackendFactory) -> BackendFactory:
    """A backend for file tools that applies a change approved by its preview to the version that the preview showed, or not at all."""

    def open_for(runtime: Any) -> BackendProtocol:
        inner = backend_for(backend, runtime)
        preview = _previews(runtime.state).get(runtime.tool_call_id or "")
        return cast("BackendProtocol", _OnSeenBase(inner, preview)) if preview else inner

    return open_for


class _OnSeenBase:
    """A backend whose changes to one file carry the version that a person saw. If the person chose another path, they carry no version."""

    def __init__(self, backend: BackendProtocol, preview: Preview) -> None:
        self._backend = backend
        self._preview = preview

    def __getattr__(self, verb: str) -> Any:
        return getattr(self._backend, verb)

    def write(self, file_path: str, content: str, *, overwrite: bool = False) -> WriteResult:
        options = self._options(file_path, overwrite)
        return self._explain(self._backend.write(file_path, content, **options), overwrite)

    async def awrite(self, file_path: str, content: str, *, overwrite: bool = False) -> WriteResult:
        options = self._options(file_path, overwrite)
        result: WriteResult = await acall(self._backend, "write", file_path, content, **options)
        return self._explain(result, overwrite)

    def edit(self, file_path: str, old_string: str, new_string: str, replace_all: bool = False) -> EditResult:
        return self._backend.edit(file_path, old_string, new_string, replace_all, **self._base(file_path))

    async def aedit(self, file_path: str, old_string: str, new_string: str, replace_all: bool = False) -> EditResult:
        arguments = (file_path, old_string, new_string, replace_all)
        result: EditResult = await acall(self._backend, "edit", *arguments, **self._base(file_path))
        return result

    def _options(self, file_path: str, overwrite: bool) -> dict[str, Any]:
        if not self._is_seen(file_path):
            return {"overwrite": overwrite}
        # If the person saw that there was no file, a file that has appeared since must not be overwritten.
        return {"overwrite": overwrite and self._preview["base_version"] is not None, **self._base(file_path)}

    def _base(self, file_path: str) -> dict[str, Any]:
        seen = self._preview["base_version"]
        return {"expected_version": seen} if seen is not None and self._is_seen(file_path) else {}

    def _is_seen(self, file_path: str) -> bool:
        return paths.resolve_file(file_path) == self._preview["path"]

    def _explain(self, result: WriteResult, overwrite: bool) -> WriteResult:
        """The result, or a conflict if the call meant to overwrite and the file appeared after the preview."""
        path = self._preview["path"]
        if overwrite and self._preview["base_version"] is None and result.error == messages.exists(path):
            return WriteResult(error=messages.conflict(path))
        return result


def preview_all(calls: Sequence[ToolCall], found: Mapping[str, bytes | None]) -> dict[str, Preview]:
    """The previews of a turn's calls, each based on the files as the calls before it would leave them."""
    contents = {path: None if data is None else data.decode(errors="replace") for path, data in found.items()}
    previews: dict[str, Preview] = {}
    for call in calls:
        path = paths.resolve_file(call["args"].get("file_path"))
        if isinstance(path, ErrorText):
            continue  # the tool will report what is wrong with the call
        before = contents.get(path)
        after = _apply(path, before, call)
        preview: Preview = {"path": path, "base_version": None if before is None else text.version_of(before), "diff": ""}
        if isinstance(after, ErrorText):
            preview["problem"] = after
        else:
            preview["diff"] = diff_of(path, before or "", after)
            contents[path] = after
        previews[call["id"] or ""] = preview
    return previews


def _apply(path: str, before: str | None, call: ToolCall) -> str | ErrorText:
    """The text after a call, or an error."""
    arguments = call["args"]
    if call["name"] == "write_file":
        content = arguments.get("content")
        if problem := text.content_complaint(path, content):
            return problem
        return messages.exists(path) if before is not None and not arguments.get("overwrite") else str(content)
    if before is None:
        return messages.no_file(path)
    old, new = arguments.get("old_string"), arguments.get("new_string")
    for part in (old, new):
        if problem := text.content_complaint(path, part):
            return problem
    outcome = text.replace_exact(path, before, str(old), str(new), bool(arguments.get("replace_all")))
    return outcome if isinstance(outcome, ErrorText) else outcome[0]


def diff_of(path: str, before: str, after: str) -> str:
    """A unified diff, cut at `MAX_DIFF_CHARS`."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), f"a{path}", f"b{path}", lineterm="")
    shown = "\n".join(lines)
    return shown if len(shown) <= MAX_DIFF_CHARS else f"{shown[:MAX_DIFF_CHARS]}\n(cut: the diff has {len(shown):,} characters)"


def _changing_calls(history: Sequence[Any]) -> list[ToolCall]:
    last = history[-1] if history else None
    return [call for call in last.tool_calls if call["name"] in CHANGING] if isinstance(last, AIMessage) else []


def _paths_of(calls: Sequence[ToolCall]) -> list[str]:
    resolved = [paths.resolve_file(call["args"].get("file_path")) for call in calls]
    return sorted({path for path in resolved if not isinstance(path, ErrorText)})


def _previews(state: Mapping[str, Any]) -> Mapping[str, Preview]:
    return state.get(CHANNEL) or {}
