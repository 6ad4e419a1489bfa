"""The eight file tools, and `execute` for backends that run commands. The caller chooses the backend.

Each tool is defined once: how its arguments become a backend call, and how the result becomes text for the model. Sync and async
differ only in how the backend is called. Nothing here knows which backend it uses.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Literal, NamedTuple, cast

from langchain.tools import ToolRuntime
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.types import Command
from pydantic import BaseModel, Field

from stepwell.backends.commands import command_backend
from stepwell.backends.composite import can_search, offers
from stepwell.backends.foreign import accept
from stepwell.backends.protocol import (
    DEFAULT_READ_LIMIT,
    DEFAULT_TOP_K,
    BackendFactory,
    BackendProtocol,
    DeleteResult,
    EditResult,
    MoveResult,
    WriteResult,
)
from stepwell.errors import ConfigurationError
from stepwell.in_thread import in_thread
from stepwell.tools.effects import changes_files, with_effect
from stepwell.tools.files import results
from stepwell.tools.files.documents import Documents
from stepwell.tools.files.execute import DEFAULT_MOST_SECONDS, EXECUTE, build_execute_tool

OutputMode = Literal["content", "files_with_matches", "count"]


# Every model call pays for every word of a description: keep each to a few words, and do not repeat what the tool says already.


class LsArgs(BaseModel):
    path: str = Field("/", description="folder, absolute")


class ReadArgs(BaseModel):
    file_path: str = Field(description="absolute path")
    offset: int = Field(0, description="lines to skip")
    limit: int = Field(DEFAULT_READ_LIMIT, description="lines to read")


class WriteArgs(BaseModel):
    file_path: str = Field(description="absolute path")
    content: str = Field(description="the whole text")
    overwrite: bool = Field(False, description="replace an existing file")


class EditArgs(BaseModel):
    file_path: str = Field(description="absolute path")
    old_string: str = Field(description="exact text to replace")
    new_string: str = Field(description="text in its place")
    replace_all: bool = Field(False, description="every occurrence")


class DeleteArgs(BaseModel):
    file_path: str = Field(description="absolute path")


class MoveArgs(BaseModel):
    source: str = Field(description="absolute path")
    destination: str = Field(description="whole new path")
    overwrite: bool = Field(False, description="replace an existing file")


class GlobArgs(BaseModel):
    pattern: str = Field(description="e.g. **/*.md")
    path: str = Field("/", description="folder to search")


class GrepArgs(BaseModel):
    pattern: str = Field(description="RE2")
    path: str | None = Field(None, description="folder or file; all if left out")
    glob: str | None = Field(None, description="only files like this, e.g. *.py")
    output_mode: OutputMode = Field("content", description="matching lines, only paths, or counts")


class SearchArgs(BaseModel):
    query: str = Field(description="what to look for, in a few words")
    path: str = Field("/", description="folder")
    top_k: int = Field(DEFAULT_TOP_K, description="passages to find")


class FileTool(NamedTuple):
    """One tool: how the model sees it, the backend method behind it, and how the result is rendered."""

    name: str
    description: str
    schema: type[BaseModel]
    verb: str
    arguments: Callable[[Mapping[str, Any]], tuple[tuple[Any, ...], dict[str, Any]]]
    render: Callable[[Any, Mapping[str, Any]], results.Rendered]


FILE_TOOLS = (
    FileTool(
        "ls",
        "List a folder.",
        LsArgs,
        "ls_info",
        lambda args: ((args.get("path") or "/",), {}),
        results.listing,
    ),
    FileTool(
        "read_file",
        "Read text, PDF, Office, notebooks or images; lines come numbered. Page long files with offset and limit.",
        ReadArgs,
        "read",
        lambda args: ((args["file_path"], args.get("offset", 0), args.get("limit", DEFAULT_READ_LIMIT)), {}),
        results.text,
    ),
    FileTool(
        "write_file",
        "Create a file. For an existing one prefer edit_file, or set overwrite.",
        WriteArgs,
        "write",
        lambda args: ((args["file_path"], args["content"]), {"overwrite": True} if args.get("overwrite") else {}),
        results.written,
    ),
    FileTool(
        "edit_file",
        "Replace old_string, which must occur exactly once (or set replace_all). Read the file first and quote it exactly, "
        "without line numbers.",
        EditArgs,
        "edit",
        lambda args: ((args["file_path"], args["old_string"], args["new_string"], bool(args.get("replace_all"))), {}),
        results.edited,
    ),
    FileTool(
        "delete",
        "Delete a file, or a folder with everything in it.",
        DeleteArgs,
        "delete",
        lambda args: ((args["file_path"],), {}),
        results.deleted,
    ),
    FileTool(
        "move",
        "Move or rename a file or a folder.",
        MoveArgs,
        "move",
        lambda args: ((args["source"], args["destination"]), {"overwrite": True} if args.get("overwrite") else {}),
        results.moved,
    ),
    FileTool(
        "glob",
        "Find files by pattern, relative to path; ** crosses folders.",
        GlobArgs,
        "glob_info",
        lambda args: ((args["pattern"], args.get("path") or "/"), {}),
        results.found,
    ),
    FileTool(
        "grep",
        "Search file contents line by line.",
        GrepArgs,
        "grep_raw",
        lambda args: ((args["pattern"], args.get("path"), args.get("glob")), {}),
        results.matches,
    ),
)

SEARCH_TOOL = FileTool(
    "search",
    "Find passages near in meaning to a query; for exact words use grep.",
    SearchArgs,
    "search",
    lambda args: ((args["query"], args.get("path") or "/", args.get("top_k", DEFAULT_TOP_K)), {}),
    results.passages,
)
"""Offered if a backend, or a part of one, has semantic search."""

FILE_TOOL_NAMES = frozenset(spec.name for spec in FILE_TOOLS)
ALL_TOOL_NAMES = FILE_TOOL_NAMES | {SEARCH_TOOL.name, EXECUTE}
"""The file tools, and those that only some backends have."""

_OPTIONAL = frozenset({"delete", "move"})
_CHANGING = frozenset({"write", "edit"}) | _OPTIONAL


def build_file_tools(
    backend: BackendProtocol | BackendFactory,
    descriptions: Mapping[str, str] | None = None,
    only: Collection[str] | None = None,
    *,
    most_seconds: int = DEFAULT_MOST_SECONDS,
) -> list[BaseTool]:
    """The tools over a backend, or over one that a factory makes for each call: those for its verbs, `search` if it has semantic search,
    and `execute` if it runs commands, each for `most_seconds` at most. With `only`, no tools but these."""
    chosen = descriptions or {}
    tools = _file_tools(backend, chosen)
    if can_search(backend):
        tools.append(_verb_tool(SEARCH_TOOL, backend, chosen.get("search", SEARCH_TOOL.description)))
    if sandbox := command_backend(backend):
        tools.append(
            build_execute_tool(
                sandbox,
                lambda runtime: backend_for(backend, runtime),
                mounts=getattr(backend, "mount_paths", []),
                description=chosen.get("execute"),
                most_seconds=most_seconds,
            )
        )
    return [tool for tool in tools if only is None or tool.name in only]


def check_tool_list(names: Collection[str]) -> frozenset[str]:
    """The names. Rejects those that are no file tools, because a misspelt one would silently be missing."""
    listed = frozenset([names] if isinstance(names, str) else map(str, names))
    if unknown := sorted(listed - ALL_TOOL_NAMES):
        raise ConfigurationError(
            f"FilesystemMiddleware was given unknown tools: {', '.join(unknown)}. Its tools are: "
            f"{', '.join(sorted(ALL_TOOL_NAMES))}."
        )
    return listed


def _file_tools(backend: BackendProtocol | BackendFactory, chosen: Mapping[str, str]) -> list[BaseTool]:
    return [
        _verb_tool(spec, backend, chosen.get(spec.name, spec.description))
        for spec in FILE_TOOLS
        if spec.verb not in _OPTIONAL or offers(backend, spec.verb)
    ]


def backend_for(backend: BackendProtocol | BackendFactory, runtime: Any) -> BackendProtocol:
    """The backend itself, or the one that a factory makes for this call."""
    backend = accept(backend)
    if isinstance(backend, type):  # a backend class is a factory too
        return accept(cast("BackendFactory", backend)(runtime))
    if bind := getattr(backend, "bind", None):  # a backend with parts made by factories, or around a factory
        return cast("BackendProtocol", bind(runtime))
    # We check for a method, not the type: a third-party backend may have only the sync half of the protocol.
    if hasattr(backend, "ls_info"):
        return cast("BackendProtocol", backend)
    return accept(backend(runtime))


def _verb_tool(spec: FileTool, backend: BackendProtocol | BackendFactory, description: str) -> BaseTool:
    documents = Documents() if spec.verb == "read" else None

    def run(runtime: ToolRuntime, **args: Any) -> Any:
        positional, keywords = spec.arguments(args)
        chosen = backend_for(backend, runtime)
        result = getattr(chosen, spec.verb)(*positional, **keywords)
        return _answer(spec, runtime, documents.read(chosen, result, args) if documents else result, args)

    async def arun(runtime: ToolRuntime, **args: Any) -> Any:
        positional, keywords = spec.arguments(args)
        chosen = backend_for(backend, runtime)
        result = await acall(chosen, spec.verb, *positional, **keywords)
        return _answer(spec, runtime, await documents.aread(chosen, result, args) if documents else result, args)

    declare = changes_files if spec.verb in _CHANGING else with_effect("read")
    return _tool(spec, description, declare(run), arun)


def _tool(spec: FileTool, description: str, run: Callable[..., Any], arun: Callable[..., Any]) -> BaseTool:
    # The real class, not its name: LangChain would otherwise resolve the name again for every new agent.
    run.__annotations__ = arun.__annotations__ = {"runtime": ToolRuntime}
    return StructuredTool(name=spec.name, description=description, func=run, coroutine=arun, args_schema=spec.schema)


class VerbCall(NamedTuple):
    """A call of a backend, as data; the verb is given by its sync name."""

    verb: str
    arguments: tuple[Any, ...]
    options: Mapping[str, Any] = {}


async def acall(backend: BackendProtocol, verb: str, *args: Any, **kwargs: Any) -> Any:
    """Call a backend method from async code; a backend with only the sync form is called in a thread."""
    native = getattr(backend, f"a{verb}", None)
    if native is not None:
        return await native(*args, **kwargs)
    return await in_thread(getattr(backend, verb), *args, **kwargs)


def _answer(spec: FileTool, runtime: ToolRuntime, result: Any, args: Mapping[str, Any]) -> Any:
    rendered = spec.render(result, args)
    message = ToolMessage(
        rendered.content,
        name=spec.name,
        tool_call_id=runtime.tool_call_id or "",
        status="error" if rendered.is_error else "success",
    )
    update = result.files_update if isinstance(result, (WriteResult, EditResult, DeleteResult, MoveResult)) else None
    return Command(update={"files": update, "messages": [message]}) if update else message
