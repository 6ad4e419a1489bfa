"""Files for an agent: offers tools over a backend, and keeps large tool results out of the context.

A result too large for the context goes to a file under `/large_tool_results/`; the model gets its head, its tail and the file's path.
If a turn's results are too large together, the largest go there too (`large_results`). The file tools limit their own results,
and nothing is written to a remote backend automatically. The same is done with what a user says, below `/large_messages/`, but only in
what the model sees: the thread keeps the message (`large_messages`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from copy import copy
from typing import Annotated, Any, NotRequired, cast

from langchain.agents.middleware.types import AgentState, ModelRequest
from langchain_core.exceptions import ContextOverflowError
from langchain_core.messages import AnyMessage, ToolMessage
from langgraph.prebuilt.tool_node import ToolCallRequest

from stepwell.backends.changes import StoredFile, conflicts, reduce_files
from stepwell.backends.composite import CompositeBackend, is_remote
from stepwell.backends.foreign import accept
from stepwell.backends.permissions import FilesystemPermission as FilesystemPermission
from stepwell.backends.permissions import PathRules, check_permissions
from stepwell.backends.protocol import BackendFactory, BackendProtocol, WriteResult
from stepwell.backends.state import StateBackend
from stepwell.errors import ConfigurationError
from stepwell.middleware.large_messages import LARGE_MESSAGES, LargeMessages
from stepwell.middleware.large_results import (
    LARGE_RESULTS,
    LargeResult,
    crowding,
    files_in,
    message_text,
    messages_in,
    places_for,
    replace_message,
    turn_room,
)
from stepwell.middleware.prompts import load_prompt
from stepwell.middleware.request import AsyncToolHandler, ModelCall, RequestMiddleware, ToolHandler, ToolResult, tool_runtime
from stepwell.models.token_count import CHARS_PER_TOKEN
from stepwell.state.channels import incremental
from stepwell.tools.files.execute import DEFAULT_MOST_SECONDS
from stepwell.tools.files.order import ChangeOrder
from stepwell.tools.files.permitted import PermittedBackend, refuse_commands
from stepwell.tools.files.tools import FILE_TOOL_NAMES, acall, backend_for, build_file_tools, check_tool_list

DEFAULT_RESULT_TOKENS = 20_000
DEFAULT_MESSAGE_TOKENS = 50_000

CHANGING_TOOLS = frozenset({"write_file", "edit_file", "delete", "move", "task"})

Request = ToolCallRequest | ModelRequest[Any]


class FilesystemState(AgentState[Any]):
    files: NotRequired[Annotated[dict[str, StoredFile], incremental(reduce_files)]]


class FilesystemMiddleware(RequestMiddleware):
    """The tools `ls, read_file, write_file, edit_file, delete, move, glob, grep` over a backend (default: agent state).

    A backend that cannot delete or move has no such tools; one with a method `execute(command)` gets a tool of that name too; if the
    method takes a `timeout`, the model may choose one, up to `max_execute_timeout` seconds. `tools` names the only tools to offer.
    `permissions` say which paths the tools may read and change; rules that ask a person need `create_deep_agent`, which adds the
    approvals. Results above `result_token_limit` and messages of the user above `message_token_limit` go to files; None switches that
    off. `custom_tool_descriptions`, `tool_token_limit_before_evict` and `human_message_token_limit_before_evict` are deepagents' names
    for `tool_descriptions` and the two limits.
    """

    state_schema = FilesystemState

    def __init__(
        self,
        *,
        backend: BackendProtocol | BackendFactory | None = None,
        system_prompt: str | None = None,
        tools: Collection[str] | None = None,
        tool_descriptions: Mapping[str, str] | None = None,
        result_token_limit: int | None = DEFAULT_RESULT_TOKENS,
        message_token_limit: int | None = DEFAULT_MESSAGE_TOKENS,
        custom_tool_descriptions: Mapping[str, str] | None = None,
        tool_token_limit_before_evict: int | None = DEFAULT_RESULT_TOKENS,
        human_message_token_limit_before_evict: int | None = DEFAULT_MESSAGE_TOKENS,
        max_execute_timeout: int = DEFAULT_MOST_SECONDS,
        permissions: Sequence[FilesystemPermission] = (),
    ) -> None:
        super().__init__()
        if max_execute_timeout <= 0:
            raise ConfigurationError(f"max_execute_timeout is {max_execute_timeout}. Pass a number of seconds above 0.")
        self.backend: BackendProtocol | BackendFactory = StateBackend() if backend is None else accept(backend)
        self._most_seconds = max_execute_timeout
        self.prompt = load_prompt("files") if system_prompt is None else system_prompt
        self._descriptions = {**(custom_tool_descriptions or {}), **(tool_descriptions or {})}
        self._only = None if tools is None else check_tool_list(tools)
        self._order = ChangeOrder()
        self._record: Callable[[BackendProtocol | BackendFactory], Any] | None = None
        self.permissions = check_permissions(permissions)
        self.rules = PathRules(self.permissions) if self.permissions else None
        self.tools = build_file_tools(self.files, self._descriptions, self._only, most_seconds=max_execute_timeout)
        limit = tool_token_limit_before_evict if result_token_limit == DEFAULT_RESULT_TOKENS else result_token_limit
        self._max_chars = None if limit is None else limit * CHARS_PER_TOKEN
        most = human_message_token_limit_before_evict if message_token_limit == DEFAULT_MESSAGE_TOKENS else message_token_limit
        self._large_messages = None if most is None else LargeMessages(most * CHARS_PER_TOKEN)

    @property
    def files(self) -> BackendProtocol | BackendFactory:
        """The backend as the model may use it: behind the permissions, if there are any."""
        backend = self.backend if self._record is None else cast("BackendProtocol", self._record(self.backend))
        if self.rules is None or not self.rules.restrict:
            return backend
        refuse_commands(backend, self.rules)
        return cast("BackendProtocol", PermittedBackend(backend, self.rules))

    def with_record(self, record: Callable[[BackendProtocol | BackendFactory], Any]) -> FilesystemMiddleware:
        """The same tools over a backend that `record` wraps, below the permissions."""
        other = copy(self)
        other._record = record
        other.tools = build_file_tools(other.files, self._descriptions, self._only, most_seconds=self._most_seconds)
        return other

    def with_permissions(self, permissions: Sequence[FilesystemPermission]) -> FilesystemMiddleware:
        """The same tools behind these permissions."""
        other = copy(self)
        other.permissions = check_permissions(permissions)
        other.rules = PathRules(other.permissions) if other.permissions else None
        other.tools = build_file_tools(other.files, self._descriptions, self._only, most_seconds=self._most_seconds)
        return other

    def with_mounts(self, mounts: Mapping[str, BackendProtocol]) -> FilesystemMiddleware:
        """The same tools over a tree of files in which these backends are mounted too."""
        other = copy(self)
        other.backend = CompositeBackend(self.backend, mounts)
        other.tools = build_file_tools(other.files, self._descriptions, self._only, most_seconds=self._most_seconds)
        return other

    def prepare(self, call: ModelCall) -> None:
        if self._large_messages:
            self._large_messages.shorten(call, self._place_for_messages)
        for message in self._crowding(call):
            _show(call, *self._keep(call.request, _places(message)))
        self._tell_conflicts(call)

    async def aprepare(self, call: ModelCall) -> None:
        if self._large_messages:
            await self._large_messages.ashorten(call, self._place_for_messages)
        for message in self._crowding(call):
            _show(call, *await self._akeep(call.request, _places(message)))
        self._tell_conflicts(call)

    def recover(self, call: ModelCall, error: Exception) -> dict[str, Any] | None:
        chosen = self._crowding_after(call, error)
        for message in chosen:
            _show(call, *self._keep(call.request, _places(message)))
        return _moved(call) if chosen else None

    async def arecover(self, call: ModelCall, error: Exception) -> dict[str, Any] | None:
        chosen = self._crowding_after(call, error)
        for message in chosen:
            _show(call, *await self._akeep(call.request, _places(message)))
        return _moved(call) if chosen else None

    def _place_for_messages(self, call: ModelCall) -> BackendProtocol | None:
        if not self._may_write_itself(f"{LARGE_MESSAGES}/any"):
            return None
        backend = backend_for(self.files, tool_runtime(call.request.state, call.request.runtime))
        return None if is_remote(backend, LARGE_MESSAGES) else backend

    def _may_write_itself(self, path: str) -> bool:
        """Whether a file may be written that nobody asked for; a rule that wants a person asked forbids it."""
        return self.rules is None or self.rules.decide("write", path) == "allow"

    def _crowding(self, call: ModelCall) -> list[ToolMessage]:
        """Results of the last tool calls that do not fit into the next model call."""
        if self._max_chars is None or not call.messages or call.messages[-1].type != "tool":
            return []
        if "messages" in call.update:  # results that we moved to files after the provider refused the previous attempt
            moved = {message.id: message for message in call.update["messages"]}
            call.messages = [moved.get(message.id, message) for message in call.messages]
        return crowding(call.messages, turn_room(call.request.model))

    def _crowding_after(self, call: ModelCall, error: Exception) -> list[ToolMessage]:
        if self._max_chars is None or not isinstance(error, ContextOverflowError):
            return []
        return crowding(call.messages)

    def _tell_conflicts(self, call: ModelCall) -> None:
        """Tell the model about file versions that lost a race, once, in the transcript."""
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
        result = self._order.run(request, handler)
        choices = self._large(request, result)
        return replace_message(result, *self._keep(request, choices)) if choices else result

    def awrap_tool_call(  # type: ignore[override]  # returns the coroutine: an `async def` costs a thread hop in LangChain's tracing
        self, request: ToolCallRequest, handler: AsyncToolHandler
    ) -> Awaitable[ToolResult]:
        return self._awrap_tool_call(request, handler)

    async def _awrap_tool_call(self, request: ToolCallRequest, handler: AsyncToolHandler) -> ToolResult:
        result = await self._order.arun(request, handler)
        choices = self._large(request, result)
        return replace_message(result, *await self._akeep(request, choices)) if choices else result

    def _keep(self, request: Request, choices: list[LargeResult]) -> tuple[LargeResult, WriteResult]:
        """Write a result to the first place that is free."""
        large, written = choices[0], WriteResult(error="remote")
        if backend := self._place_for_results(request, large):
            for large in choices:
                written = backend.write(large.path, large.text, **_replacing(large is choices[-1]))
                if not written.error:
                    break
        return large, written

    async def _akeep(self, request: Request, choices: list[LargeResult]) -> tuple[LargeResult, WriteResult]:
        large, written = choices[0], WriteResult(error="remote")
        if backend := self._place_for_results(request, large):
            for large in choices:
                written = await acall(backend, "write", large.path, large.text, **_replacing(large is choices[-1]))
                if not written.error:
                    break
        return large, written

    def _large(self, request: ToolCallRequest, result: ToolResult) -> list[LargeResult]:
        """The message to move to a file, if any, with the possible places in order of preference."""
        call = request.tool_call
        if self._max_chars is None or call["name"] in FILE_TOOL_NAMES:
            return []
        for message in messages_in(result):
            body = message_text(message)
            if len(body) > self._max_chars:
                return places_for(message, body, call["id"] or call["name"], files_in(result))
        return []

    def _place_for_results(self, request: Request, large: LargeResult) -> BackendProtocol | None:
        if large.message.name in FILE_TOOL_NAMES or not self._may_write_itself(large.path):
            return None
        if isinstance(request, ToolCallRequest):
            backend = backend_for(self.files, request.runtime)
        else:
            backend = backend_for(self.files, tool_runtime(request.state, request.runtime))
        return None if is_remote(backend, LARGE_RESULTS) else backend


def _replacing(last_choice: bool) -> dict[str, Any]:
    """Ask to overwrite only at the last place, which is named by its content. A third-party backend may not know the argument."""
    return {"overwrite": True} if last_choice else {}


def _places(message: ToolMessage) -> list[LargeResult]:
    return places_for(message, message_text(message), message.tool_call_id or message.name or "result", {})


def _show(call: ModelCall, large: LargeResult, written: WriteResult) -> None:
    """Replace the result with the pointer, for the model and in the transcript."""
    pointer = large.pointer(written)
    call.messages = [pointer if message is large.message else message for message in call.messages]
    call.update["messages"] = [*call.update.get("messages", []), pointer]
    if written.files_update:
        call.update["files"] = {**call.update.get("files", {}), **written.files_update}


def _moved(call: ModelCall) -> dict[str, Any]:
    return {key: call.update[key] for key in ("messages", "files") if key in call.update}


def _has_changed_files(messages: list[AnyMessage]) -> bool:
    """Whether the turn that just ended may have changed files."""
    for message in reversed(messages):
        if message.type != "tool":
            return False
        if message.name in CHANGING_TOOLS:
            return True
    return False


def _is_told(aside: str, messages: list[AnyMessage]) -> bool:
    """Whether the transcript already mentions this losing version."""
    return any(message.type == "tool" and f"is in {aside}." in str(message.content) for message in messages)


def _with_note(message: ToolMessage, kept: Mapping[str, str]) -> ToolMessage:
    notes = [f"{path} was changed by two at once; the second version is in {aside}." for aside, path in kept.items()]
    note = "Conflict: " + " ".join(notes) + " Merge what is needed with edit_file."
    content = (
        [*message.content_blocks, {"type": "text", "text": note}]
        if isinstance(message.content, list)
        else f"{message.content}\n\n{note}"
    )
    return message.model_copy(update={"content": content})
