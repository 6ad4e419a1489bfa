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

from stepwell.backends import messages, paths, text, tree
from stepwell.backends.protocol import (
    BackendFactory,
    BackendProtocol,
    DeleteResult,
    EditResult,
    ErrorText,
    FileData,
    MoveResult,
    WriteResult,
)
from stepwell.middleware.approvals import ApprovalMiddleware
from stepwell.middleware.request import tool_runtime
from stepwell.tools.files.tools import acall, backend_for

CHANNEL = "change_previews"
CHANGING = frozenset({"write_file", "edit_file", "delete", "move"})
MAX_DIFF_CHARS = 20_000
_PATHS = ("file_path", "source", "destination")
_BLANK: FileData = {"content": [], "created_at": "", "modified_at": ""}


class Preview(TypedDict):
    """What a call would change, as shown to the person who decides."""

    path: str
    base_version: str | None
    """The version that the change is based on; None if there was no file."""
    diff: str
    """For a folder that is deleted or moved, and for a file that is moved: the paths."""
    count: NotRequired[int]
    """How many files would be deleted or moved."""
    listing: NotRequired[str]
    """For a folder: the version of the list of its files. The change is made only if the list is still the same."""
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
        listed = {path: _names(backend.glob_info("**/*", path)) for path in _folders_of(calls, found)}
        return {CHANNEL: preview_all(calls, found, listed)}

    async def aafter_model(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        calls = _changing_calls(state["messages"])
        if not calls:
            return None
        backend = backend_for(self._backend, tool_runtime(state, runtime))
        found = {path: (await acall(backend, "download_files", [path]))[0].content for path in _paths_of(calls)}
        listed = {path: _names(await acall(backend, "glob_info", "**/*", path)) for path in _folders_of(calls, found)}
        return {CHANNEL: preview_all(calls, found, listed)}


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

    def delete(self, file_path: str) -> DeleteResult:
        if self._lists(file_path) and _listing(_names(self._backend.glob_info("**/*", file_path))) != self._preview["listing"]:
            return DeleteResult(error=messages.conflict(self._preview["path"]))
        result: DeleteResult = self._verb("delete")(file_path, **self._base(file_path))
        return result

    async def adelete(self, file_path: str) -> DeleteResult:
        if self._lists(file_path):
            now = _names(await acall(self._backend, "glob_info", "**/*", file_path))
            if _listing(now) != self._preview["listing"]:
                return DeleteResult(error=messages.conflict(self._preview["path"]))
        result: DeleteResult = await acall(self._backend, "delete", file_path, **self._base(file_path))
        return result

    def move(self, source: str, destination: str, *, overwrite: bool = False) -> MoveResult:
        if self._lists(source) and _listing(_names(self._backend.glob_info("**/*", source))) != self._preview["listing"]:
            return MoveResult(error=messages.conflict(self._preview["path"]))
        result: MoveResult = self._verb("move")(source, destination, overwrite=overwrite, **self._base(source))
        return result

    async def amove(self, source: str, destination: str, *, overwrite: bool = False) -> MoveResult:
        if self._lists(source):
            now = _names(await acall(self._backend, "glob_info", "**/*", source))
            if _listing(now) != self._preview["listing"]:
                return MoveResult(error=messages.conflict(self._preview["path"]))
        options = {"overwrite": overwrite, **self._base(source)}
        result: MoveResult = await acall(self._backend, "move", source, destination, **options)
        return result

    def _verb(self, name: str) -> Any:
        return getattr(self._backend, name)

    def _lists(self, path: str) -> bool:
        return "listing" in self._preview and self._is_seen(path)

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


def preview_all(
    calls: Sequence[ToolCall], found: Mapping[str, bytes | None], listed: Mapping[str, Sequence[str]] | None = None
) -> dict[str, Preview]:
    """The previews of a turn's calls, each based on the files as the calls before it would leave them. `listed` has the files below the
    folders that are deleted or moved."""
    contents = {path: None if data is None else _decode(data) for path, data in found.items()}
    names = {path for path, content in contents.items() if content is not None}.union(*(listed or {}).values())
    previews: dict[str, Preview] = {}
    for call in calls:
        path = paths.resolve_entry(call["args"].get("source" if call["name"] == "move" else "file_path"))
        if isinstance(path, ErrorText):
            continue  # the tool will report what is wrong with the call
        if call["name"] in ("delete", "move"):
            preview = _preview_renaming(call, path, contents, names)
        else:
            preview = _preview_text(call, path, contents, names)
        if preview:
            previews[call["id"] or ""] = preview
    return previews


class _NotText(str):
    """What can be shown of a file that is not text. It has no version."""

    __slots__ = ()


def _decode(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return _NotText(data.decode(errors="replace"))


def _preview_text(call: ToolCall, path: str, contents: dict[str, str | None], names: set[str]) -> Preview:
    before = contents.get(path)
    after = _apply(path, before, call)
    preview: Preview = {"path": path, "base_version": None if before is None else text.version_of(before), "diff": ""}
    if isinstance(after, ErrorText):
        preview["problem"] = after
    else:
        preview["diff"] = diff_of(path, before or "", after)
        contents[path] = after
        names.add(path)
    return preview


def _preview_renaming(call: ToolCall, path: str, contents: dict[str, str | None], names: set[str]) -> Preview | None:
    """The preview of a deletion or a move."""
    before = contents.get(path)
    is_text = before is not None and not isinstance(before, _NotText)
    preview: Preview = {
        "path": path,
        "base_version": text.version_of(before) if before is not None and is_text else None,
        "diff": "",
    }
    planned: list[tuple[str, str]] | list[tuple[str, None]] | ErrorText
    if call["name"] == "move":
        destination = paths.resolve_entry(call["args"].get("destination"))
        if isinstance(destination, ErrorText):
            return None
        planned = tree.plan_move(dict.fromkeys(names, _BLANK), path, destination, bool(call["args"].get("overwrite")))
    else:
        planned = [(each, None) for each in tree.files_at(names, path)] or messages.nothing_there(path)
    if isinstance(planned, ErrorText):
        return {**preview, "problem": planned}
    preview["count"] = len(planned)
    if before is None:
        preview["listing"] = _listing([old for old, _ in planned])
    preview["diff"] = _diff_of_renaming(path, before, planned, contents)
    moved = {new: contents.get(old) for old, new in planned if new is not None}
    for old, _ in planned:
        names.discard(old)
        contents[old] = None
    contents.update(moved)
    names.update(moved)
    return preview


def _diff_of_renaming(
    path: str, before: str | None, planned: Sequence[tuple[str, str | None]], contents: Mapping[str, str | None]
) -> str:
    """The text that would be lost, or the paths that would change."""
    (old, new), *more = planned
    if old == path and not more:
        if new is None:
            return diff_of(path, before or "", "")
        if (lost := contents.get(new)) is not None:
            return diff_of(new, lost, before or "")
    kept = [new for _, new in planned if new]
    lines = [f"--- a{path}", f"+++ b{path}", f"@@ -1,{len(planned)} +1,{len(kept)} @@"]
    return _cut("\n".join([*lines, *(f"-{old}" for old, _ in planned), *(f"+{new}" for new in kept)]))


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
    return _cut("\n".join(lines))


def _cut(shown: str) -> str:
    return shown if len(shown) <= MAX_DIFF_CHARS else f"{shown[:MAX_DIFF_CHARS]}\n(cut: the diff has {len(shown):,} characters)"


def _changing_calls(history: Sequence[Any]) -> list[ToolCall]:
    last = history[-1] if history else None
    return [call for call in last.tool_calls if call["name"] in CHANGING] if isinstance(last, AIMessage) else []


def _paths_of(calls: Sequence[ToolCall]) -> list[str]:
    resolved = [paths.resolve_entry(call["args"][name]) for call in calls for name in _PATHS if name in call["args"]]
    return sorted({path for path in resolved if not isinstance(path, ErrorText)})


def _folders_of(calls: Sequence[ToolCall], found: Mapping[str, bytes | None]) -> list[str]:
    """The paths that are deleted or moved, or moved to, and are no files, so they may be folders."""
    return [path for path in _paths_of([call for call in calls if call["name"] in ("delete", "move")]) if found[path] is None]


def _names(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    return [row["path"] for row in rows]


def _listing(names: Sequence[str]) -> str:
    return text.version_of("\n".join(sorted(names)))


def _previews(state: Mapping[str, Any]) -> Mapping[str, Preview]:
    return state.get(CHANNEL) or {}
