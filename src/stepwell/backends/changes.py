"""Files in agent state: what may be written to the `files` channel, and the reducer that applies the writes.

An update maps paths to one of:

| value | meaning |
|---|---|
| `FileData`, or plain text | the new content; callers seed files this way |
| `None` | the file is deleted |
| `{"change": "put", "content", "base", "at"}` | the new content, if the file is still at version `base` (None: did not exist) |
| `{"change": "edit", "edits", "base", "at"}` | exact replacements; only these are stored, so a small edit of a large file stays small |
| `{"change": "delete", "base", "at", "hides"}` | the file is deleted; `hides` if a subagent must not see its parent's file either |

If the file is not at the change's `base`, the change is still applied if it fits (an edit fits if its old text is there). Otherwise its
text is stored beside the file as `<path>.conflict-<n>`, so nothing is lost, and `conflicts` finds it for the report. If a file has
changed before it is deleted, the changed text is stored that way. Nothing here reads a clock or makes a random choice, so replaying a
thread gives the same files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NotRequired, cast

from typing_extensions import TypedDict  # pydantic cannot build a JSON schema from typing's own before Python 3.12

from stepwell.backends import paths, text
from stepwell.backends.protocol import ErrorText, FileData
from stepwell.errors import BackendError


class StoredFile(FileData):
    """A file as stored in the channel."""

    conflict_of: NotRequired[str]
    """Set on a version that lost a race: the path it was meant for."""
    deleted: NotRequired[bool]
    """Set in a subagent's own files in place of a file of its parent that it deleted."""


class Edit(TypedDict):
    old: str
    new: str
    all: bool


class PutChange(TypedDict):
    change: Literal["put"]
    content: list[str]
    base: str | None
    at: str


class EditChange(TypedDict):
    change: Literal["edit"]
    edits: list[Edit]
    base: str | None
    at: str


class DeleteChange(TypedDict):
    change: Literal["delete"]
    base: str | None
    at: str
    hides: bool


Files = dict[str, StoredFile]

_ASIDE_NAME_BYTES = 200
_MAX_CONFLICTS = 10**9


def put(content: str, *, base: str | None, at: str) -> PutChange:
    """The change that stores a whole file."""
    return {"change": "put", "content": text.split_lines(content), "base": base, "at": at}


def edit(old: str, new: str, replace_all: bool, *, base: str, at: str) -> EditChange:
    """The change that replaces a string in a file."""
    return {"change": "edit", "edits": [{"old": old, "new": new, "all": replace_all}], "base": base, "at": at}


def delete(*, base: str | None, at: str, hides: bool = False) -> DeleteChange:
    """The change that deletes a file. `hides` leaves a mark in its place, so that an inherited file of this path is not seen either."""
    return {"change": "delete", "base": base, "at": at, "hides": hides}


def is_deleted(file: Mapping[str, Any]) -> bool:
    """Whether this is the mark of a deleted file."""
    return bool(file.get("deleted"))


def text_of(file: Mapping[str, Any]) -> str:
    """A stored file's text."""
    return text.join_lines(file["content"])


def conflicts(files: Mapping[str, StoredFile]) -> dict[str, str]:
    """The versions that lost a race: the path where each is stored -> the path it was meant for."""
    return {path: file["conflict_of"] for path, file in files.items() if "conflict_of" in file}


def reduce_files(state: Files | None, writes: Sequence[Mapping[str, Any] | None]) -> Files:
    """The files after some updates, applied in order."""
    files: Files = dict(state or {})
    for update in writes:
        if update is not None and not isinstance(update, Mapping):
            raise BackendError(f"Files are updated by a mapping of paths to contents, not by a {type(update).__name__}.")
        for raw_path, value in (update or {}).items():
            _apply(files, _check_path(raw_path), value)
    return files


def _check_path(raw_path: str) -> str:
    path = paths.resolve_file(raw_path)
    if isinstance(path, ErrorText):
        raise BackendError(f"The files channel cannot take this path. {path}")
    return path


def _apply(files: Files, path: str, value: Any) -> None:
    if value is None:
        files.pop(path, None)
    elif isinstance(value, str):
        files[path] = {"content": text.split_lines(value), "created_at": "", "modified_at": ""}
    elif not isinstance(value, Mapping):
        raise BackendError(
            f"The file {paths.show(path)} is a {type(value).__name__}. Give it as text, or as {{'content': [lines]}}."
        )
    elif value.get("change") == "put":
        _apply_put(files, path, cast("PutChange", value))
    elif value.get("change") == "edit":
        _apply_edit(files, path, cast("EditChange", value))
    elif value.get("change") == "delete":
        _apply_delete(files, path, cast("DeleteChange", value))
    else:
        files[path] = _seed_file(path, value)


def _seed_file(path: str, value: Mapping[str, Any]) -> StoredFile:
    content = value.get("content")
    if not isinstance(content, str) and not (isinstance(content, list) and all(isinstance(line, str) for line in content)):
        raise BackendError(f"The file {paths.show(path)} has no text. Give it as text, or as {{'content': [lines]}}.")
    file: StoredFile = {
        "content": text.split_lines(text.join_lines(content)),  # a given line that contains a newline becomes two lines
        "created_at": value.get("created_at") or "",
        "modified_at": value.get("modified_at") or "",
    }
    if "conflict_of" in value:
        file["conflict_of"] = value["conflict_of"]
    if is_deleted(value):
        file["deleted"] = True
    return file


def _apply_delete(files: Files, path: str, change: DeleteChange) -> None:
    current = _live(files, path)
    if current is not None and _version(current) != change["base"]:
        _keep_aside(files, path, current["content"], current["modified_at"])
    files.pop(path, None)
    if change["hides"]:
        files[path] = {"content": [], "created_at": change["at"], "modified_at": change["at"], "deleted": True}


def _apply_put(files: Files, path: str, change: PutChange) -> None:
    current = _live(files, path)
    if _version(current) == change["base"] or (current is not None and current["content"] == change["content"]):
        created_at = current["created_at"] if current else change["at"]
        files[path] = {"content": change["content"], "created_at": created_at, "modified_at": change["at"]}
    else:
        _keep_aside(files, path, change["content"], change["at"])


def _apply_edit(files: Files, path: str, change: EditChange) -> None:
    current = _live(files, path)
    body = text_of(current) if current else ""
    for step in change["edits"]:
        outcome = text.replace_exact(path, body, step["old"], step["new"], step["all"])
        if isinstance(outcome, ErrorText):
            # None of the edits is applied, so we keep the new texts of all of them.
            brought = "\n".join(each["new"] for each in change["edits"])
            _keep_aside(files, path, text.split_lines(brought), change["at"])
            return
        body = outcome[0]
    created_at = current["created_at"] if current else change["at"]
    files[path] = {"content": text.split_lines(body), "created_at": created_at, "modified_at": change["at"]}


def _live(files: Files, path: str) -> StoredFile | None:
    file = files.get(path)
    return None if file is None or is_deleted(file) else file


def _version(file: StoredFile | None) -> str | None:
    return None if file is None else text.version_of(text_of(file))


def _keep_aside(files: Files, path: str, content: list[str], at: str) -> None:
    aside = _free_path(files, path)
    files[aside] = {"content": content, "created_at": at, "modified_at": at, "conflict_of": path}


def _free_path(files: Files, path: str) -> str:
    """Where to store a version that lost a race: beside its file, under a free name that tools can open."""
    folder, _, name = path.rpartition("/")
    short = name.encode()[:_ASIDE_NAME_BYTES].decode(errors="ignore")
    stem = next((stem for stem in (path, f"{folder}/{short}") if not _too_long(stem)), f"/{short}")
    number = 1
    while _taken(files, f"{stem}.conflict-{number}"):
        number += 1
    return f"{stem}.conflict-{number}"


def _too_long(stem: str) -> bool:
    return isinstance(paths.resolve_file(f"{stem}.conflict-{_MAX_CONFLICTS}"), ErrorText)


def _taken(files: Files, path: str) -> bool:
    return path in files or any(other.startswith(f"{path}/") for other in files)
