"""Files for an agent: six tools over a backend, and large tool results kept out of the context.

A result too large for the context goes to a file under `/large_tool_results/`; the model gets its head, its tail and where the
rest is. The file tools bound their own results, and nothing is written to a remote backend by itself.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, NotRequired, cast

from langchain.agents.middleware.types import AgentState
from langchain_core.messages import AnyMessage, ToolMessage
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command

from stepwell.backends import paths, text
from stepwell.backends.changes import StoredFile, conflicts, reduce_files
from stepwell.backends.composite import is_remote
from stepwell.backends.protocol import BackendFactory, BackendProtocol, WriteResult
from stepwell.backends.state import StateBackend
from stepwell.middleware.prompts import load_prompt
from stepwell.middleware.request import AsyncToolHandler, ModelCall, RequestMiddleware, ToolHandler, ToolResult
from stepwell.state.channels import incremental
from stepwell.tools.files import FILE_TOOL_NAMES, acall, backend_for, build_file_tools

LARGE_RESULTS = "/large_tool_results"
CHARS_PER_TOKEN = 4
DEFAULT_RESULT_TOKENS = 20_000
SHOWN_CHARS = 2_000


CHANGING_TOOLS = frozenset({"write_file", "edit_file", "task"})


class FilesystemState(AgentState[Any]):
    files: NotRequired[Annotated[dict[str, StoredFile], incremental(reduce_files)]]


@dataclass(frozen=True, slots=True)
class _LargeResult:
    """A tool result on its way to a file."""

    message: ToolMessage
    text: str
    path: str

    def pointer(self, written: WriteResult) -> ToolMessage:
        """What stays in the conversation."""
        head, tail = self.text[:SHOWN_CHARS], self.text[-SHOWN_CHARS:]
        if written.error:
            where = "The middle was dropped, because it could not be saved."
        else:
            where = f"The whole is in {self.path}: page through it with read_file, or search it with grep."
        lines = self.text.count("\n") + 1
        content = f"{head}\n\n(… {len(self.text):,} characters in {lines:,} lines. {where} Its end:)\n\n{tail}"
        return self.message.model_copy(update={"content": content})


class FilesystemMiddleware(RequestMiddleware):
    """The tools `ls, read_file, write_file, edit_file, glob, grep` over a backend (agent state, if none is given)."""

    state_schema = FilesystemState

    def __init__(
        self,
        *,
        backend: BackendProtocol | BackendFactory | None = None,
        system_prompt: str | None = None,
        tool_descriptions: Mapping[str, str] | None = None,
        result_token_limit: int | None = DEFAULT_RESULT_TOKENS,
    ) -> None:
        super().__init__()
        self.backend: BackendProtocol | BackendFactory = StateBackend() if backend is None else backend
        self.prompt = load_prompt("files") if system_prompt is None else system_prompt
        self.tools = build_file_tools(self.backend, tool_descriptions)
        self._max_chars = None if result_token_limit is None else result_token_limit * CHARS_PER_TOKEN

    def prepare(self, call: ModelCall) -> None:
        """Tell the model, once and in the transcript, about versions that lost a race."""
        if not _has_changed_files(call.messages):
            return
        files = cast("Mapping[str, Any]", call.request.state).get("files") or {}
        kept = {aside: path for aside, path in conflicts(files).items() if not _is_told(aside, call.messages)}
        if not kept:
            return
        noted = _with_note(cast("ToolMessage", call.messages[-1]), kept)
        call.messages = [*call.messages[:-1], noted]
        call.update["messages"] = [*call.update.get("messages", []), noted]

    def wrap_tool_call(self, request: ToolCallRequest, handler: ToolHandler) -> ToolResult:
        result = handler(request)
        choices = self._large(request, result)
        if not choices:
            return result
        large, written = choices[0], WriteResult(error="remote")
        if backend := self._place_for_results(request):
            for large in choices:
                written = backend.write(large.path, large.text, overwrite=large is choices[-1])
                if not written.error:
                    break
        return _replaced(result, large, written)

    def awrap_tool_call(  # type: ignore[override]  # returns the coroutine: an `async def` costs a thread hop in LangChain's tracing
        self, request: ToolCallRequest, handler: AsyncToolHandler
    ) -> Awaitable[ToolResult]:
        return self._awrap_tool_call(request, handler)

    async def _awrap_tool_call(self, request: ToolCallRequest, handler: AsyncToolHandler) -> ToolResult:
        result = await handler(request)
        choices = self._large(request, result)
        if not choices:
            return result
        large, written = choices[0], WriteResult(error="remote")
        if backend := self._place_for_results(request):
            for large in choices:
                written = await acall(backend, "write", large.path, large.text, overwrite=large is choices[-1])
                if not written.error:
                    break
        return _replaced(result, large, written)

    def _large(self, request: ToolCallRequest, result: ToolResult) -> list[_LargeResult]:
        """The message to move to a file, if there is one, with each place for it in order of preference.

        Some models use their call ids again, in a later turn or in a subagent: the last place is the text's own.
        """
        call = request.tool_call
        if self._max_chars is None or call["name"] in FILE_TOOL_NAMES:
            return []
        for message in _messages(result):
            body = _text(message)
            if len(body) > self._max_chars:
                path = f"{LARGE_RESULTS}/{paths.safe_name(call['id'] or call['name'])}"
                own = f"{LARGE_RESULTS}/{text.version_of(body)}"
                places = [own] if path in _files_in(result) else [path, own]
                return [_LargeResult(message, body, place) for place in places]
        return []

    def _place_for_results(self, request: ToolCallRequest) -> BackendProtocol | None:
        backend = backend_for(self.backend, request.runtime)
        return None if is_remote(backend, LARGE_RESULTS) else backend


def _has_changed_files(messages: list[AnyMessage]) -> bool:
    """Whether the turn that just ended may have changed files."""
    for message in reversed(messages):
        if message.type != "tool":
            return False
        if message.name in CHANGING_TOOLS:
            return True
    return False


def _is_told(aside: str, messages: list[AnyMessage]) -> bool:
    """Whether the transcript already speaks of a version that was kept aside."""
    return any(message.type == "tool" and f"is in {aside}." in str(message.content) for message in messages)


def _messages(result: ToolResult | list[ToolResult]) -> list[ToolMessage]:
    if isinstance(result, list):  # LangGraph lets a tool return several
        return [message for item in result for message in _messages(item)]
    if isinstance(result, ToolMessage):
        return [result]
    update = getattr(result, "update", None)
    found = update.get("messages", []) if isinstance(update, Mapping) else []
    return [message for message in found if isinstance(message, ToolMessage)]


def _files_in(result: ToolResult | list[ToolResult]) -> Mapping[str, Any]:
    """The files that a result brings along."""
    if isinstance(result, list):
        return {path: file for item in result for path, file in _files_in(item).items()}
    update = getattr(result, "update", None)
    return (update.get("files") or {}) if isinstance(update, Mapping) else {}


def _text(message: ToolMessage) -> str:
    """A result's text; one with images or other blocks is left as it is."""
    if isinstance(message.content, str):
        return message.content
    parts = [block["text"] for block in message.content if isinstance(block, dict) and block.get("type") == "text"]
    return "\n".join(parts) if len(parts) == len(message.content) else ""


def _replaced(result: ToolResult, large: _LargeResult, written: WriteResult) -> ToolResult:
    """The result with the pointer in place of the message, and the file in the state if it lives there."""
    if isinstance(result, list):
        # LangGraph takes a list here, though its types do not say so.
        return cast("ToolResult", [_replaced(item, large, written) if _holds(item, large.message) else item for item in result])
    pointer = large.pointer(written)
    if isinstance(result, ToolMessage):
        if not written.files_update:
            return pointer
        return Command(update={"messages": [pointer], "files": written.files_update})
    update = dict(cast("Mapping[str, Any]", result.update))
    update["messages"] = [pointer if message is large.message else message for message in update["messages"]]
    if written.files_update:
        update["files"] = {**(update.get("files") or {}), **written.files_update}
    return Command(graph=result.graph, update=update, resume=result.resume, goto=result.goto)


def _holds(result: ToolResult, wanted: ToolMessage) -> bool:
    return any(message is wanted for message in _messages(result))


def _with_note(message: ToolMessage, kept: Mapping[str, str]) -> ToolMessage:
    notes = [f"{path} was changed by two at once; the second version is in {aside}." for aside, path in kept.items()]
    note = "Conflict: " + " ".join(notes) + " Merge what is needed with edit_file."
    content = (
        [*message.content_blocks, {"type": "text", "text": note}]
        if isinstance(message.content, list)
        else f"{message.content}\n\n{note}"
    )
    return message.model_copy(update={"content": content})
