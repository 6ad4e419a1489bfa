"""How an editor shows a call of a tool: its title and kind, the files it works on, and what it would change in them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from acp import text_block, tool_content, tool_diff_content
from acp.schema import ContentToolCallContent, FileEditToolCallContent, TerminalToolCallContent, ToolCallLocation, ToolKind

from stepwell.terminal.acp.folder import EditorFolder

Content = ContentToolCallContent | FileEditToolCallContent | TerminalToolCallContent

_KINDS: dict[str, ToolKind] = {
    "ls": "read",
    "read_file": "read",
    "list_files": "read",
    "glob": "search",
    "glob_files": "search",
    "grep": "search",
    "grep_files": "search",
    "search_files": "search",
    "web_search": "search",
    "tool_search": "search",
    "write_file": "edit",
    "edit_file": "edit",
    "patch_file": "edit",
    "delete": "delete",
    "delete_file": "delete",
    "move": "move",
    "move_file": "move",
    "execute": "execute",
    "fetch_page": "fetch",
    "task": "think",
    "start_async_task": "think",
}
_PATH_KEYS = ("file_path", "path", "file_id", "source", "destination")
_SHOWN_KEYS = ("file_path", "path", "file_id", "command", "pattern", "query", "url", "description", "question")
_MAX_TITLE_CHARS = 120


def kind_of(tool: str) -> ToolKind:
    return _KINDS.get(tool, "other")


def title_of(tool: str, args: Mapping[str, Any], speaker: str = "") -> str:
    """What the call does, on one line; `speaker` is the subagent that makes it."""
    shown = next((str(args[key]) for key in _SHOWN_KEYS if isinstance(args.get(key), str)), "")
    if not shown and args:
        shown = json.dumps(args, ensure_ascii=False, default=str)
    line = " ".join(f"{speaker + ': ' if speaker else ''}{tool} {shown}".split())
    return line if len(line) <= _MAX_TITLE_CHARS else f"{line[: _MAX_TITLE_CHARS - 1]}…"


def locations_of(args: Mapping[str, Any], folder: EditorFolder) -> list[ToolCallLocation]:
    """The files that the call names, so that an editor can follow along."""
    found = dict.fromkeys(located for key in _PATH_KEYS if (located := folder.locate(args.get(key))))
    line = args.get("offset")
    first = line + 1 if isinstance(line, int) and not isinstance(line, bool) and line > 0 else None
    return [ToolCallLocation(path=path, line=first) for path in found]


def change_of(tool: str, args: Mapping[str, Any], folder: EditorFolder, *, whole: bool = False) -> list[Content]:
    """What a call of a file tool would change, as a diff. `whole`: compare with the file as it is now; only right before the change."""
    located = folder.locate(args.get("file_path"))
    if located is None:
        return []
    old = folder.read(located) if whole else None
    if tool == "write_file" and isinstance(args.get("content"), str):
        return [tool_diff_content(located, args["content"], old)]
    before, after = args.get("old_string"), args.get("new_string")
    if tool != "edit_file" or not isinstance(before, str) or not isinstance(after, str):
        return []
    if old is not None and before and before in old:
        return [tool_diff_content(located, old.replace(before, after, -1 if args.get("replace_all") else 1), old)]
    return [tool_diff_content(located, after, before)]


def result_of(text: str) -> list[Content]:
    return [tool_content(text_block(text))] if text else []
