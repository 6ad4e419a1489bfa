"""The seven tools for files on the user's device, by their wire names: their descriptions for the model, and how results are rendered.

An agent with its own files uses the file tools instead, with the device mounted among its files, so that the path says where a file is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from pydantic import BaseModel, Field

from stepwell.answers.client_tools import FileRows, FileText, LineMatches, PatchedFile, SearchHits, WrittenFile
from stepwell.backends import text
from stepwell.backends.protocol import DEFAULT_READ_LIMIT, DEFAULT_TOP_K, Matches, Passages
from stepwell.tools.files import results

_MORE = "The device left out what did not fit. Narrow it."


class ListFilesArgs(BaseModel):
    file_type: str | None = Field(None, description="article, draft, note, seminar, code or other; all if left out")


class ReadFileArgs(BaseModel):
    file_id: str = Field(description="from a listing")
    offset: int = Field(0, ge=0, description="lines to skip")
    limit: int = Field(DEFAULT_READ_LIMIT, ge=1, description="lines to read")


class SearchFilesArgs(BaseModel):
    query: str = Field(description="what to look for, in a few words")
    top_k: int = Field(DEFAULT_TOP_K, ge=1, le=100, description="passages to find")


class GrepFilesArgs(BaseModel):
    pattern: str = Field(description="regular expression")
    glob_pattern: str | None = Field(None, description="only files like this, e.g. *.md")
    case_sensitive: bool = False


class GlobFilesArgs(BaseModel):
    pattern: str = Field(description="e.g. **/*.md")


class WriteFileArgs(BaseModel):
    title: str
    content: str = Field(description="the whole text")
    file_type: str = Field(description="article, draft, note, seminar, code or other")


class PatchFileArgs(BaseModel):
    file_id: str = Field(description="from a listing")
    search: str = Field(description="exact text to replace; it must occur once")
    replace: str = Field(description="text in its place")
    description: str = Field(description="what changes and why, in a few words")


class DeviceTool(NamedTuple):
    name: str
    description: str
    schema: type[BaseModel]
    render: Callable[[Any, Mapping[str, Any]], str]


def _rows(content: FileRows, args: Mapping[str, Any]) -> str:
    lines = [
        " ".join(part for part in (row.path, row.file_type and f"[{row.file_type}]", f"id={row.file_id}") if part)
        for row in content.files
    ]
    return "\n".join([*(lines or ["(no files)"]), *([f"({_MORE})"] if content.truncated else [])])


def _text(content: FileText, args: Mapping[str, Any]) -> str:
    offset, limit = args.get("offset", 0), args.get("limit", DEFAULT_READ_LIMIT)
    return text.number_window(args["file_id"], content.text.split("\n"), offset, limit, content.total_lines)


def _hits(content: SearchHits, args: Mapping[str, Any]) -> str:
    rows = Passages(
        {"path": hit.path, "text": hit.text, "score": hit.score, "line_number": hit.line_number} for hit in content.hits
    )
    return results.passages(rows, args).text


def _matches(content: LineMatches, args: Mapping[str, Any]) -> str:
    rows = Matches(
        (
            {
                "path": row.path,
                "line_number": row.line_number,
                "line_content": row.line_content,
                "match_start": row.match_start,
                "match_end": row.match_end,
            }
            for row in content.matches
        ),
        note=_MORE if content.truncated else None,
    )
    return results.matches(rows, args).text


def _written(content: WrittenFile, args: Mapping[str, Any]) -> str:
    return f"Wrote '{args['title']}' (id={content.file_id})."


def _patched(content: PatchedFile, args: Mapping[str, Any]) -> str:
    return f"Changed {args['file_id']}."


DEVICE_TOOLS = (
    DeviceTool("list_files", "List the user's files.", ListFilesArgs, _rows),
    DeviceTool("read_file", "Read a file; lines come numbered.", ReadFileArgs, _text),
    DeviceTool(
        "search_files", "Find passages near in meaning to a query; for exact words use grep_files.", SearchFilesArgs, _hits
    ),
    DeviceTool("grep_files", "Search file contents line by line.", GrepFilesArgs, _matches),
    DeviceTool("glob_files", "Find files by the pattern of their path.", GlobFilesArgs, _rows),
    DeviceTool("write_file", "Create a file.", WriteFileArgs, _written),
    DeviceTool(
        "patch_file",
        "Replace a part of a file. Read it first and quote it exactly, without line numbers.",
        PatchFileArgs,
        _patched,
    ),
)
