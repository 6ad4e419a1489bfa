"""What a subagent knows before its task: nothing, an earlier task of its own, or its parent's conversation.

```
fresh       ── task                                                         the default
continued   ── messages of the earlier task ── task                         task(..., task_id=)
fork        ── parent's messages, up to the call ── task                    mode="fork"
```
A continued task gets a copy: what the earlier one has stored stays as it is. So a call that is driven again after a crash starts from the
same messages, and so does one on another branch of the thread. A fork's messages begin exactly like the parent's last request, and its
system prompt and tools are the parent's, so that the provider's cache serves all of that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from langchain.tools import ToolRuntime
from langchain_core.messages import AIMessage, BaseMessage, ToolCall, ToolMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph.state import CompiledStateGraph

from stepwell.backends.steps import Steps, arun_steps, run_steps
from stepwell.errors import ToolUseError
from stepwell.state.transcripts import Transcript, aread_transcript, read_transcript

_CHECKPOINTER = "__pregel_checkpointer"
_FORKED = frozenset(
    {
        *("summary", "loaded_tools", "checked_input", "pinned_skills", "skills_metadata", "skills_files", "skills_load_errors"),
        *("memory_contents", "memory_files"),
    }
)
"""Private state of the parent that shapes its requests; without it, a fork's would begin differently."""
_MOST_LISTED = 10
_EXCERPT_CHARS = 60


@dataclass(frozen=True, slots=True)
class Known:
    """Messages before the task, and private state that belongs to them."""

    messages: Sequence[BaseMessage] = ()
    state: Mapping[str, Any] = field(default_factory=dict)
    continues: str | None = None
    """The task that is continued."""


FRESH = Known()


def fork_of(runtime: ToolRuntime) -> Known:
    """The parent's conversation, as its model saw it when it made the call."""
    state = runtime.state
    messages = list(state.get("messages") or ())
    made = next((place for place in reversed(range(len(messages))) if _makes(messages[place], runtime.tool_call_id)), None)
    return Known(messages[:made], {key: state[key] for key in _FORKED & state.keys()})


def earlier_task(runtime: ToolRuntime, tool_name: str, name: str, task_id: str) -> Known:
    """What the earlier task of this subagent has stored; `ToolUseError` if there is nothing to continue."""
    saver, thread_id = _saver(runtime, task_id)
    return run_steps(_earlier(runtime, tool_name, name, task_id), lambda call_id: read_transcript(saver, thread_id, call_id))


async def aearlier_task(runtime: ToolRuntime, tool_name: str, name: str, task_id: str) -> Known:
    """The same from async code."""
    saver, thread_id = _saver(runtime, task_id)
    return await arun_steps(
        _earlier(runtime, tool_name, name, task_id), lambda call_id: aread_transcript(saver, thread_id, call_id)
    )


@contextmanager
def carrying(known: Known, agent: object) -> Iterator[None]:
    """Let this agent begin with private state. An input cannot bring it: LangGraph drops private state there, and no client may set any."""
    token = _carried.set(_Carried(getattr(agent, "builder", None), known.state)) if known.state else None
    try:
        yield
    finally:
        if token is not None:
            _carried.reset(token)


def carried_writes(graph: CompiledStateGraph[Any, Any, Any, Any], given: Any) -> list[tuple[str, Any]] | None:
    """The writes with which a graph begins in addition to its input; none in graphs inside of the one that was called."""
    carried = _carried.get()
    if carried is None or carried.builder is not graph.builder:
        return None
    return [(name, value) for name, value in carried.state.items() if name in graph.channels]


@dataclass(frozen=True, slots=True)
class _Carried:
    builder: object
    """Of the agent's graph; copies of a graph share it."""
    state: Mapping[str, Any]


_carried: ContextVar[_Carried | None] = ContextVar("stepwell_carried_state", default=None)


@dataclass(frozen=True, slots=True)
class _Task:
    """A call of `task` in the conversation."""

    call: ToolCall
    answered: bool

    @property
    def id(self) -> str:
        return self.call["id"] or ""

    @property
    def continues(self) -> str | None:
        return self.call["args"].get("task_id")


def _earlier(runtime: ToolRuntime, tool_name: str, name: str, task_id: str) -> Steps[str, Known]:
    """Yields ids of calls whose transcripts are wanted."""
    tasks = _tasks(runtime.state.get("messages") or (), tool_name)
    own = runtime.tool_call_id
    known = {task.id: task for task in tasks if task.answered}
    if task_id not in known:
        raise ToolUseError(_unknown(task_id, list(known.values())))
    _check_name(known[task_id], name)
    chain = [task_id]
    """The task and all that continued it, oldest first: on this branch of the conversation, and no other."""
    for task in tasks:
        if task.continues not in chain:
            continue
        if task.answered:
            chain.append(task.id)
        elif task.id == own:
            break
        else:
            raise ToolUseError(
                f"Error: another call of this turn already continues task '{task_id}'. Wait for its answer, then continue it again."
            )
    for call_id in reversed(chain):
        found: Transcript | None = yield call_id
        if found is not None and found.messages:
            return Known(found.messages, found.state, task_id)
    raise ToolUseError(
        f"Error: the messages of task '{task_id}' are no longer stored, so it cannot be continued. Start a new task without task_id, "
        "and tell it what it needs to know."
    )


def _tasks(messages: Sequence[Any], tool_name: str) -> list[_Task]:
    answered = {message.tool_call_id for message in messages if isinstance(message, ToolMessage)}
    calls = [call for message in messages if isinstance(message, AIMessage) for call in message.tool_calls]
    return [_Task(call, call["id"] in answered) for call in calls if call["name"] == tool_name]


def _check_name(task: _Task, name: str) -> None:
    done_by = task.call["args"].get("subagent_type")
    if done_by != name:
        raise ToolUseError(
            f"Error: task '{task.id}' was done by {done_by}, not by {name}. Give subagent_type='{done_by}', or leave task_id out."
        )


def _unknown(task_id: str, known: Sequence[_Task]) -> str:
    text = f"Error: this conversation has no earlier task '{task_id[:80]}'."
    if not known:
        return f"{text} Leave task_id out to start a new one."
    rows = [f"'{task.id}' ({task.call['args'].get('subagent_type')}: {_excerpt(task)})" for task in known[-_MOST_LISTED:]]
    return f"{text} Use one of these, or leave task_id out: {', '.join(rows)}."


def _excerpt(task: _Task) -> str:
    return " ".join(str(task.call["args"].get("description") or "").split())[:_EXCERPT_CHARS]


def _saver(runtime: ToolRuntime, task_id: str) -> tuple[BaseCheckpointSaver[Any], str]:
    named = runtime.config.get("configurable") or {}
    saver = named.get(_CHECKPOINTER)
    if not isinstance(saver, BaseCheckpointSaver) or not named.get("thread_id"):
        raise ToolUseError(
            f"Error: task '{task_id[:80]}' cannot be continued, because this agent stores no threads. "
            "Start a new task without task_id, and tell it what it needs to know."
        )
    return saver, str(named["thread_id"])


def _makes(message: Any, call_id: str | None) -> bool:
    return isinstance(message, AIMessage) and any(call["id"] == call_id for call in message.tool_calls)
