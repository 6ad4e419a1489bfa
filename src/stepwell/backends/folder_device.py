"""A device that is not a browser: carries out the nine operations on any backend, such as a folder on this machine.

It is meant for terminals and tests. It answers the questions of `device`, with the same results, errors and limits as a page: a change is
compared with the current file, shown as a diff, and made only if it is approved. If one change of a question fails or is rejected, none
is made.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from stepwell.answers.client_tools import MAX_HITS, MAX_MATCHES, MAX_READ_CHARS, MAX_ROWS, ErrorCode
from stepwell.backends import messages, paths, text, tree
from stepwell.backends.browser import file_type_of
from stepwell.backends.composite import offers
from stepwell.backends.device import CHANGING
from stepwell.backends.protocol import DEFAULT_TOP_K, BackendProtocol, ErrorText, FileData, FileInfo

MAX_LINE_CHARS = 2_000
PASSAGE_CHARS = 500


@dataclass(frozen=True, slots=True)
class DeviceChange:
    """What a question would change in one file, or in one folder that is deleted or moved."""

    path: str
    new: str
    old: str | None
    """The current text; `None` if the file does not exist yet, or is not text."""
    description: str = ""
    occurrences: int = 1
    renamed: tuple[tuple[str, str | None], ...] = ()
    """For a deletion or a move: each file with its new path, `None` if it is deleted."""
    destination: str | None = None
    overwrite: bool = False

    @property
    def diff(self) -> str:
        """The change as a unified diff; of files that only get a new path, and of a folder, the paths."""
        if self.destination is not None or (self.renamed and self.old is None):
            shown = [f"--- {self.path}", f"+++ {self.destination or self.path}"]
            for old, new in self.renamed:
                shown += [f"-{old}", *([f"+{new}"] if new else [])]
            return "".join(f"{line}\n" for line in shown)
        before = [] if self.old is None else self.old.splitlines(keepends=True)
        lines = difflib.unified_diff(before, self.new.splitlines(keepends=True), self.path, self.path)
        return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


Approve = Callable[[Sequence[DeviceChange]], bool | str]
"""Receives all changes of a question; returns whether they are allowed. A text means that they are not, and is the reason."""


class OperationError(Exception):
    """An operation that was not carried out."""

    def __init__(self, code: ErrorCode, message: str) -> None:
        self.code = code
        super().__init__(message)


class FolderDevice:
    """`FolderDevice(FilesystemBackend(root_dir="notes")).answer(question)` returns the answer to a `client_tool_execution`."""

    def __init__(self, files: BackendProtocol) -> None:
        self._files = files

    def answer(self, question: Mapping[str, Any], approve: Approve = lambda changes: True) -> dict[str, Any]:
        """Do what the question asks. `approve` is called once, if something would change and the question requires approval."""
        calls = question["tool_calls"]
        changes = {call["id"]: self._plan(call) for call in calls if call["name"] in CHANGING}
        refused = self._decide(changes, approve if question.get("requires_approval") else lambda planned: True)
        results = [
            self._result(call["id"], refused.get(call["id"]) or self._perform(call, changes.get(call["id"]))) for call in calls
        ]
        return {"tool_results": results}

    def _plan(self, call: Mapping[str, Any]) -> DeviceChange | OperationError:
        try:
            plans = {
                "write_file": self._plan_write,
                "patch_file": self._plan_patch,
                "delete_file": self._plan_delete,
                "move_file": self._plan_move,
            }
            return plans[call["name"]](call["args"])
        except OperationError as error:
            return error

    def _plan_write(self, args: Mapping[str, Any]) -> DeviceChange:
        path = _path(args.get("path") or args["title"])
        old = self._read(path)
        if old is not None and not args.get("overwrite"):
            raise OperationError("conflict", "it exists already")
        _require_base(old, args.get("base_hash"))
        return DeviceChange(path, args["content"], old)

    def _plan_patch(self, args: Mapping[str, Any]) -> DeviceChange:
        path = _path(args["file_id"])
        old = self._read(path)
        if old is None:
            raise OperationError("not_found", "There is no such file.")
        _require_base(old, args.get("base_hash"))
        count = old.count(args["search"])
        if count == 0:
            raise OperationError("conflict", "the text to replace does not occur in it")
        if count > 1 and not args.get("replace_all"):
            raise OperationError("conflict", f"the text to replace occurs {count} times in it")
        new = old.replace(args["search"], args["replace"])
        return DeviceChange(path, new, old, args.get("description", ""), count)

    def _plan_delete(self, args: Mapping[str, Any]) -> DeviceChange:
        path = _entry(args["file_id"])
        doomed = tree.files_at(self._names(), path)
        if not doomed:
            raise OperationError("not_found", "There is no such file or folder.")
        old = self._text_of(path) if doomed == [path] else None
        _require_base(old, args.get("base_hash"))
        return DeviceChange(path, "", old, renamed=tuple((each, None) for each in doomed))

    def _plan_move(self, args: Mapping[str, Any]) -> DeviceChange:
        path, destination, overwrite = _entry(args["file_id"]), _entry(args["path"]), bool(args.get("overwrite"))
        names = self._names()
        planned = tree.plan_move(names, path, destination, overwrite)
        if isinstance(planned, ErrorText):
            raise _move_error(planned, path, destination)
        old = self._text_of(path) if path in names else None
        _require_base(old, args.get("base_hash"))
        return DeviceChange(path, "", old, renamed=tuple(planned), destination=destination, overwrite=overwrite)

    def _names(self) -> dict[str, FileData]:
        blank: FileData = {"content": [], "created_at": "", "modified_at": ""}
        return {row["path"]: blank for row in self._files.glob_info("**/*", paths.ROOT)}

    def _text_of(self, path: str) -> str | None:
        """A file's text; None if it is not text, which may be deleted and moved all the same."""
        try:
            return self._read(path)
        except OperationError:
            return None

    def _decide(self, planned: Mapping[str, DeviceChange | OperationError], approve: Approve) -> dict[str, OperationError]:
        """The changes that are not made, and why."""
        failed = {name: each for name, each in planned.items() if isinstance(each, OperationError)}
        if failed:
            beside = OperationError("failed", "Another change of the same step does not fit.")
            return {name: failed.get(name, beside) for name in planned}
        verdict = approve([each for each in planned.values() if isinstance(each, DeviceChange)]) if planned else True
        if verdict is True:
            return {}
        return dict.fromkeys(planned, OperationError("rejected", verdict if isinstance(verdict, str) else ""))

    def _perform(self, call: Mapping[str, Any], change: DeviceChange | OperationError | None) -> Any:
        args = call["args"]
        try:
            match call["name"]:
                case "write_file" | "patch_file":
                    assert isinstance(change, DeviceChange)  # noqa: S101 - the others were refused before
                    return self._make(change)
                case "delete_file" | "move_file":
                    assert isinstance(change, DeviceChange)  # noqa: S101
                    return self._relocate(change)
                case "list_files":
                    return self._list(args)
                case "glob_files":
                    return _rows(self._files.glob_info(args["pattern"], paths.ROOT))
                case "read_file":
                    return self._read_lines(args)
                case "grep_files":
                    return self._grep(args)
                case "search_files":
                    return self._search(args)
                case name:
                    raise OperationError("failed", f"This device does not know the operation '{name}'.")
        except OperationError as error:
            return error

    def _make(self, change: DeviceChange) -> dict[str, Any]:
        if change.old is None:
            written = self._files.write(change.path, change.new)
        else:
            written = self._files.write(change.path, change.new, overwrite=True, expected_version=text.version_of(change.old))
        if written.error:
            is_taken = written.error in (messages.conflict(change.path), messages.exists(change.path))
            raise OperationError("conflict" if is_taken else "failed", written.error)
        return {
            "file_id": change.path,
            "path": change.path,
            "hash": hash_of(change.new),
            "occurrences": change.occurrences,
        }

    def _relocate(self, change: DeviceChange) -> dict[str, Any]:
        files: Any = self._files
        expected = {} if change.old is None else {"expected_version": text.version_of(change.old)}
        verb = "delete" if change.destination is None else "move"
        if not offers(files, verb):
            raise OperationError("failed", messages.cannot(verb, change.path))
        if change.destination is None:
            done = files.delete(change.path, **expected)
        else:
            done = files.move(change.path, change.destination, overwrite=change.overwrite, **expected)
        if done.error:
            is_taken = done.error in (messages.conflict(change.path), messages.taken(change.destination or ""))
            raise OperationError("conflict" if is_taken else "failed", done.error)
        return {"file_id": change.path, "path": change.destination or change.path, "count": len(change.renamed)}

    def _list(self, args: Mapping[str, Any]) -> dict[str, Any]:
        if args.get("path") is not None:
            return _rows(self._files.ls_info(args["path"]))
        wanted = args.get("file_type")
        found = _rows(self._files.glob_info("**/*", paths.ROOT))
        return {**found, "files": [row for row in found["files"] if wanted in (None, row["file_type"])]}

    def _read_lines(self, args: Mapping[str, Any]) -> dict[str, Any]:
        path = _path(args["file_id"])
        whole = self._read(path)
        if whole is None:
            raise OperationError("not_found", "There is no such file.")
        lines = whole.split("\n")
        total = len(lines) - 1 if lines[-1] == "" else len(lines)
        offset = args.get("offset", 0)
        part = whole if args.get("limit") is None and not offset else "\n".join(lines[offset:][: args.get("limit")])
        if len(part) > MAX_READ_CHARS:
            raise OperationError("too_large", f"{len(part):,} characters; at most {MAX_READ_CHARS:,} are sent at once.")
        return {"text": part, "total_lines": total, "hash": hash_of(whole), "file_id": path}

    def _grep(self, args: Mapping[str, Any]) -> dict[str, Any]:
        pattern = args["pattern"] if args.get("case_sensitive") else f"(?i){args['pattern']}"
        found = self._files.grep_raw(pattern, None, args.get("glob_pattern"))
        if isinstance(found, str):
            raise OperationError("failed", found)
        rows = [{**row, "line_content": row["line_content"][:MAX_LINE_CHARS]} for row in found[:MAX_MATCHES]]
        return {"matches": rows, "truncated": len(found) > MAX_MATCHES or bool(getattr(found, "note", None))}

    def _search(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """Searches by the words of the query, not by meaning, because a folder has no embeddings."""
        words = set(args["query"].lower().split())
        hits: list[tuple[float, dict[str, Any]]] = []
        for row in self._files.glob_info("**/*", paths.ROOT):
            for passage in (self._read(row["path"]) or "").split("\n\n"):
                score = len(words & set(passage.lower().split())) / max(1, len(words))
                if score:
                    hits.append((score, {"path": row["path"], "text": passage[:PASSAGE_CHARS], "score": score}))
        best = sorted(hits, key=lambda hit: -hit[0])[: min(args.get("top_k", DEFAULT_TOP_K), MAX_HITS)]
        return {"hits": [hit for _, hit in best]}

    def _read(self, path: str) -> str | None:
        found = self._files.read_whole(path)  # type: ignore[attr-defined]  # every backend of ours has it
        if not isinstance(found, ErrorText):
            return str(found, "utf-8")
        if found == messages.no_file(path):
            return None
        raise OperationError("failed", found)

    def _result(self, call_id: str, outcome: Any) -> dict[str, Any]:
        if isinstance(outcome, OperationError):
            return {"tool_call_id": call_id, "error": {"code": outcome.code, "message": str(outcome)}}
        return {"tool_call_id": call_id, "content": outcome}


def hash_of(content: str) -> str:
    """A text's version on the wire: SHA-256 in hexadecimal, which a browser can compute too."""
    return sha256(content.encode()).hexdigest()


def _path(raw: str) -> str:
    path = paths.resolve_file(raw)
    if isinstance(path, ErrorText):
        raise OperationError("failed", path)
    return path


def _entry(raw: str) -> str:
    path = paths.resolve_entry(raw)
    if isinstance(path, ErrorText):
        raise OperationError("failed", path)
    return path


def _move_error(error: ErrorText, path: str, destination: str) -> OperationError:
    if error in (messages.nothing_there(path), messages.moved_already(path, destination)):
        return OperationError("not_found", "There is no such file or folder.")
    return (
        OperationError("conflict", "it exists already")
        if error == messages.taken(destination)
        else OperationError("failed", error)
    )


def _require_base(old: str | None, base_hash: str | None) -> None:
    if base_hash is not None and (old is None or hash_of(old) != base_hash):
        raise OperationError("conflict", "it was changed meanwhile")


def _rows(found: Sequence[FileInfo]) -> dict[str, Any]:
    if error := getattr(found, "error", None):
        raise OperationError("not_found", error)
    rows = [
        {
            "file_id": row["path"],
            "path": row["path"],
            "is_dir": row["is_dir"],
            "title": row["path"].rstrip("/").rpartition("/")[2],
            "file_type": None if row["is_dir"] else file_type_of(row["path"]),
            "size": row["size"],
            "modified_at": row["modified_at"],
        }
        for row in found[:MAX_ROWS]
    ]
    return {"files": rows, "truncated": len(found) > MAX_ROWS}
