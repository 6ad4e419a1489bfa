"""Lets files and conversation go back together to where a turn began.

```
a turn begins   ─ before_agent ─▶ journal.mark(turn)
a file changes  ─ RecordedBackend ─▶ journal.begin(before-images) ─▶ the change
a tool acts     ─ wrap_tool_call ─▶ journal.begin(note)              what it does cannot be undone
a rewind        = a run from the checkpoint before the turn, with the input {"rewind": order}
                ─ before_agent ─▶ journal.mark(rewind) ─▶ the files ─▶ {"rewind": report}, and the run ends
```
An order in the input of any other run is refused, and a `rewind` in the thread's state that is no order for it is ignored.

The run starts from the old checkpoint, so the conversation and the files in the agent's state are back from its first step on. If it is
killed before all other files are back, the order is still in the thread: whoever drives the thread next finishes it before anything else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from copy import copy
from functools import partial
from pathlib import Path
from typing import Any, NotRequired, cast
from uuid import uuid4

from langchain.agents.middleware import AgentMiddleware, hook_config
from langchain.agents.middleware.types import AgentState
from langchain_core.messages import AnyMessage
from langchain_core.runnables import RunnableConfig
from langgraph.config import get_config
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.runtime import Runtime
from typing_extensions import TypedDict  # pydantic cannot build a JSON schema from typing's own before Python 3.12

from stepwell.backends.protocol import BackendFactory, BackendProtocol
from stepwell.backends.steps import Steps
from stepwell.errors import ConfigurationError, InvalidRequestError, RewindConflictError
from stepwell.middleware.request import AsyncToolHandler, ToolHandler, ToolResult, tool_runtime
from stepwell.middleware.rewind.planning import REWIND, find_turn, notes_since, plan
from stepwell.middleware.rewind.reports import COMMANDS, RewindReport, describe_change, describe_notes
from stepwell.middleware.rewind.restoring import FileOutlook, Files, look, restore
from stepwell.tools.effects import declared_effect, is_file_change
from stepwell.tools.files.tools import backend_for
from stepwell.tools.rewind.folder import FolderJournals
from stepwell.tools.rewind.journal import MARK, NO_INPUT, REWINDS, Entry, FileJournal, JournalKeeper, MemoryJournals, journal_in
from stepwell.tools.rewind.recorded import JournalCall, RecordedBackend, Request

CHANNEL = "rewind"
_OWN_TOOLS = frozenset({"task", "write_todos"})
"""Tools whose effects are in the thread, or are noted by those that they call."""
_BACKGROUND = {"start_async_task": "description", "update_async_task": "message"}
"""Tools that set a background subagent to work, which has a thread and a journal of its own; with the argument that says what to do."""
_DETAIL_CHARS = 120


class RewindOrder(TypedDict):
    """What a run is told to take back."""

    turn_id: str
    rewind_id: str
    head: str
    """The thread's newest checkpoint before the rewind, so that the rewind can be undone."""
    last_message: str | None
    """The last message that stays."""
    force: bool


class RewindState(AgentState[Any]):
    rewind: NotRequired[RewindOrder | RewindReport | None]
    """An order to go back; after it was carried out, the report."""


class RewindMiddleware(AgentMiddleware[Any, Any, Any]):
    """Keeps what is needed to take turns back with `rewind(agent, config, turn_id)`.

    Args:
        folder: Where before-images are kept, if no server keeps them: a folder that the agent's tools cannot reach. Without one they
            last as long as the process.
        backend: The files, for stacks without `FilesystemMiddleware`.
    """

    state_schema = RewindState
    reaches_subagents = True
    stands_outermost = True

    def __init__(self, *, folder: str | Path | None = None, backend: BackendProtocol | BackendFactory | None = None) -> None:
        super().__init__()
        self.keeper: JournalKeeper = MemoryJournals() if folder is None else FolderJournals(Path(folder))
        self._files = None if backend is None else RecordedBackend(backend, self.keeper)
        self._is_of_agent = False
        self._has_main = False

    def for_agent(self) -> RewindMiddleware:
        """The one of a new agent and its subagents. Agents that are given the same instance share its journals, not their files."""
        if self._is_of_agent:
            return self
        other = copy(self)
        other._is_of_agent = True
        return other

    def recorder(self) -> Callable[[BackendProtocol | BackendFactory], RecordedBackend]:
        """Wraps the backends of one more agent so that their changes are journaled. The first agent is the main one, whose files a
        rewind restores; the others are its subagents."""
        depth = 1 if self._has_main else 0
        self._has_main = True
        return partial(self._record, depth)

    def _record(self, depth: int, backend: BackendProtocol | BackendFactory) -> RecordedBackend:
        if self._files is None and depth == 0:
            self._files = RecordedBackend(backend, self.keeper)
        is_known = self._files is not None and self._files.has_files_of(backend)
        return RecordedBackend(backend, self.keeper, depth=depth if is_known else None)

    def journal(self, config: Mapping[str, Any]) -> FileJournal | None:
        """The journal of the thread in this config."""
        return journal_in(config, self.keeper)

    def files_for(self, runtime: Any) -> Files | None:
        """The thread's files outside of its state; None without any."""
        journal = self.journal(runtime.config)
        if self._files is None or journal is None:
            return None
        return Files(backend_for(cast("BackendProtocol", self._files), runtime), journal)

    @hook_config(can_jump_to=["end"])
    def before_agent(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        config = get_config()
        files = None if _is_nested(config) else self.files_for(tool_runtime(state, runtime))
        return None if files is None else files.run(_begin(state, config))

    @hook_config(can_jump_to=["end"])
    async def abefore_agent(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        config = get_config()
        files = None if _is_nested(config) else self.files_for(tool_runtime(state, runtime))
        return None if files is None else await files.arun(_begin(state, config))

    def wrap_tool_call(self, request: ToolCallRequest, handler: ToolHandler) -> ToolResult:
        if (noted := self._note(request)) is not None:
            noted.result()
        return handler(request)

    def awrap_tool_call(  # type: ignore[override]  # returns the coroutine: an `async def` costs a thread hop in LangChain's tracing
        self, request: ToolCallRequest, handler: AsyncToolHandler
    ) -> Awaitable[ToolResult]:
        noted = self._note(request)
        return handler(request) if noted is None else _after(noted, request, handler)

    def _note(self, request: ToolCallRequest) -> Any:
        """Write down a call whose effect cannot be undone. None if there is nothing to write."""
        name = request.tool_call["name"]
        if request.tool is None or name in _OWN_TOOLS or is_file_change(request.tool):
            return None
        if declared_effect(request.tool) == "read" and name not in _BACKGROUND:
            return None
        journal = self.journal(request.runtime.config)
        if journal is None:
            return None
        called = request.tool_call
        note = Entry("note", name, checkpoint_id=called.get("id") or "", detail=_detail(name, called["args"]))
        return journal.begin([note], {})


def _detail(name: str, args: Mapping[str, Any]) -> str:
    """What a note says about a call."""
    if name in _BACKGROUND:
        asked = " ".join(str(args.get(_BACKGROUND[name])).split())
        whose = args.get("subagent_type") or args.get("task_id")
        return f"background task {whose}: {asked}"[:_DETAIL_CHARS] + ". What it changed stays; if it is under way, it goes on"
    command = args.get("command") if name in COMMANDS else None
    return (f"{name}: {command}" if isinstance(command, str) else name)[:_DETAIL_CHARS]


async def _after(noted: Any, request: ToolCallRequest, handler: AsyncToolHandler) -> ToolResult:
    await asyncio.wrap_future(noted)
    return await handler(request)


def mark_rewind(graph: CompiledStateGraph[Any, Any, Any, Any], middleware: RewindMiddleware) -> None:
    """Note that the graph's threads can go back. Copies of the graph share the builder."""
    vars(graph.builder)[MARK] = middleware


def rewind_of(graph: object) -> RewindMiddleware | None:
    """The middleware of an agent whose threads can go back; None if they cannot."""
    found: RewindMiddleware | None = getattr(getattr(graph, "builder", None), MARK, None)
    return found


def require_rewind(graph: object) -> RewindMiddleware:
    if (found := rewind_of(graph)) is None:
        raise ConfigurationError(
            "This agent keeps nothing that a rewind needs. Build it with create_deep_agent(middleware=[RewindMiddleware()]); turns that "
            "begin from then on can be taken back."
        )
    return found


def new_order(turn_id: str, head: str, last_message: str | None, *, force: bool) -> RewindOrder:
    return {
        "turn_id": turn_id,
        "rewind_id": f"rewind-{uuid4()}",
        "head": head,
        "last_message": last_message,
        "force": force,
    }


def _begin(state: Mapping[str, Any], config: Mapping[str, Any]) -> Steps[Request, dict[str, Any] | None]:
    """A turn begins; if the thread has an order to go back, that comes first."""
    order = _order_in(state)
    last = _last(state)
    if order is None:
        yield JournalCall("mark", (_turn(last, config),))
        return None
    report = yield from _go_back(order, config)
    if order["last_message"] == (last.id if last else None):
        return {CHANNEL: report, "jump_to": "end"}
    yield JournalCall("mark", (_turn(last, config),))  # an earlier run was killed while it went back; this one has a message
    return {CHANNEL: report}


def _go_back(order: RewindOrder, config: Mapping[str, Any]) -> Steps[Request, RewindReport | None]:
    """What was done. None if the thread has no such turn: somebody wrote the order into the thread's state."""
    entries: list[Entry] = yield JournalCall("entries", ())
    mark = find_turn(entries, order["turn_id"])
    if mark is None and _rewinds(config):
        raise RewindConflictError(unknown_turn(order["turn_id"]))
    if mark is None:
        return None
    yield JournalCall("mark", (Entry("turn", order["rewind_id"], checkpoint_id=order["head"], detail=REWIND),))
    outlook: FileOutlook = yield from look(plan(entries, mark))
    report = report_of(order["turn_id"], outlook, entries, mark, force=order["force"])
    if not report["can_rewind"]:
        # The order stays in the thread until the conversation is back where it was, so that no run works on half a rewind.
        raise RewindConflictError(
            f"{report['problem']} The files are as they were. If the conversation is not, go back to '{order['rewind_id']}'."
        )
    yield from restore(outlook.restores, order["rewind_id"])
    report["rewind_id"] = order["rewind_id"]
    return report


def report_of(turn_id: str, outlook: FileOutlook, entries: list[Entry], mark: Entry, *, force: bool) -> RewindReport:
    """The report about the files outside of the thread."""
    files = [describe_change(each.path, each.now, each.then) for each in outlook.restores]
    conflicts = outlook.conflicts
    problem = outlook.problem
    if problem is None and conflicts and not force:
        problem = conflict_sentence(conflicts)
    return {
        "turn_id": turn_id,
        "can_rewind": problem is None,
        "problem": problem,
        "files_changed": [each["path"] for each in files],
        "insertions": sum(each["insertions"] for each in files),
        "deletions": sum(each["deletions"] for each in files),
        "files": files,
        "conflicts": conflicts,
        "messages_removed": 0,
        "not_undone": describe_notes(notes_since(entries, mark)),
        "rewind_id": None,
    }


def conflict_sentence(conflicts: list[str]) -> str:
    named = ", ".join(f"'{path}'" for path in conflicts[:5]) + (f" and {len(conflicts) - 5} more" if len(conflicts) > 5 else "")
    verb = "was" if len(conflicts) == 1 else "were"
    return (
        f"{named} {verb} changed since by somebody else: a person, a command or another conversation. Look at it first, or send force=true "
        "to go back all the same; undoing the rewind brings those changes back."
    )


def unknown_turn(turn_id: str) -> str:
    return (
        f"No turn '{turn_id[:80]}' that can be taken back. Send the id of a message of the user that started a run, or the id of that run; "
        "turns from before RewindMiddleware was added, and turns whose history was pruned, cannot be taken back."
    )


def _turn(last: AnyMessage | None, config: Mapping[str, Any]) -> Entry:
    checkpoint_id = (config.get("configurable") or {}).get("checkpoint_map", {}).get("", "")
    name = last.id if last is not None and last.type == "human" and last.id else checkpoint_id
    return Entry("turn", name, checkpoint_id=checkpoint_id)


def _last(state: Mapping[str, Any]) -> AnyMessage | None:
    messages = state.get("messages") or []
    return messages[-1] if messages else None


def _is_nested(config: Mapping[str, Any]) -> bool:
    """Whether this is a subagent, whose turns are its parent's."""
    return "|" in str((config.get("configurable") or {}).get("checkpoint_ns") or "")


def _rewinds(config: Mapping[str, Any]) -> bool:
    """Whether this run was started to go back."""
    return (config.get("configurable") or {}).get(REWINDS) is True


def check_input(given: Any, config: RunnableConfig) -> Any:
    """The input without what no caller may set. Subagents are given their parent's state, so there it is only left out."""
    if not isinstance(given, Mapping) or CHANNEL not in given or _rewinds(config):
        return given
    if _is_nested(config):
        return {name: value for name, value in given.items() if name != CHANNEL}
    raise InvalidRequestError(NO_INPUT)


def _order_in(state: Mapping[str, Any]) -> RewindOrder | None:
    """The order that a thread's state has; None if it has a report, or nothing that can be carried out."""
    order = state.get(CHANNEL)
    if not isinstance(order, Mapping) or "can_rewind" in order:
        return None
    texts = [order.get(name) for name in ("turn_id", "rewind_id", "head")]
    if not all(isinstance(each, str) and each for each in texts):
        return None
    last = order.get("last_message")
    return {
        "turn_id": str(order["turn_id"]),
        "rewind_id": str(order["rewind_id"]),
        "head": str(order["head"]),
        "last_message": last if isinstance(last, str) else None,
        "force": order.get("force") is True,
    }
