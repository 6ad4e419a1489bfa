"""Background tasks as the code around a graph sees them: their names in a config and in messages, what a host of tasks offers, and the
message with which a finished task wakes its parent. Nothing here starts anything.

```
start_async_task ──> TaskHost.start ──> a run of its own on a thread of its own    (the server's host is in the config, under TASKS)
                                              │ ends
parent's thread <── wake_message ─────────────┘ once for each run of the task
```
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypedDict
from uuid import UUID, uuid5

from stepwell.tools.framing import escape_tags

TASKS = "__stepwell_background"
"""The key of the server's host in a config's `configurable`. Two underscores keep it out of metadata and checkpoints."""
SPENT_BEFORE = "__stepwell_spent_before"
"""The key in `configurable` for what the parent had spent when it started the task. A caller cannot set names with two underscores."""
NOTE = "background_task"
"""The key in a message's `additional_kwargs` that marks a message about a task."""
WHOLE_RESULT = 8_000
"""How many characters of a result a wake message has at most."""

_IDS = UUID("6a1f4d52-3b0c-5e0f-8a55-1d1c7e0b9f24")

TaskStatus = Literal["pending", "running", "waiting", "success", "error", "cancelled"]
ENDED: frozenset[str] = frozenset({"success", "error", "cancelled"})
"""Statuses that change only if the task gets another message."""
UpdateStrategy = Literal["interrupt", "enqueue"]


class AsyncTask(TypedDict):
    """A background task, as the parent's state knows it."""

    task_id: str
    """Also the id of the task's thread."""
    agent_name: str
    thread_id: str
    run_id: str
    """The newest run on its thread."""
    status: str
    """As it was when somebody last looked: pending, running, waiting, success, error or cancelled."""
    created_at: str
    """Times are UTC with whole seconds, such as `2026-11-17T20:15:00Z`."""
    last_checked_at: str
    last_updated_at: str
    """When the status changed, or the task got another message."""


@dataclass(frozen=True, slots=True)
class NewTask:
    """A task that is to be started."""

    task_id: str
    """Made from the call that starts it (`task_id_of`), so that a repeated call finds the same task."""
    agent_name: str
    description: str
    graph_id: str | None = None
    """A graph that the server serves; None for a subagent of the calling agent."""
    timeout_s: float | None = None
    notify_parent: bool = True
    webhook: str | None = None
    max_tasks: int | None = None
    """How many tasks of the parent's thread may be under way, this one included. The host counts, because calls of one step do not see
    each other's tasks in the state."""
    spent: Mapping[str, float] = field(default_factory=dict)
    """What the parent and its tasks have spent in this turn: tokens, usd, calls."""
    budget: tuple[str, Mapping[str, float]] | None = None
    """The turn of the parent's budget, and what the parent itself has spent of it; None if it has no budget."""


@dataclass(frozen=True, slots=True)
class TaskReport:
    """How a task is now."""

    status: TaskStatus
    thread_id: str
    run_id: str
    result: str | None = None
    """The answer of a task that succeeded."""
    error: str | None = None
    question: str | None = None
    """What a waiting task asks."""
    spent: Mapping[str, float] = field(default_factory=dict)


class TaskHost(Protocol):
    """Where tasks run. Every verb exists for sync and for async code."""

    def start(self, task: NewTask) -> TaskReport: ...
    async def astart(self, task: NewTask) -> TaskReport: ...
    def look(self, tasks: Sequence[AsyncTask], *, results: bool) -> dict[str, TaskReport]: ...
    async def alook(self, tasks: Sequence[AsyncTask], *, results: bool) -> dict[str, TaskReport]:
        """The tasks as they are now, by id; tasks that are unknown here are left out. `results`: with answers, which may be long."""
        ...

    def update(self, task: AsyncTask, message: str, run_id: str, strategy: UpdateStrategy) -> TaskReport: ...
    async def aupdate(self, task: AsyncTask, message: str, run_id: str, strategy: UpdateStrategy) -> TaskReport:
        """Send a task another message. With the same `run_id`, it is sent once."""
        ...

    def cancel(self, task: AsyncTask) -> TaskReport: ...
    async def acancel(self, task: AsyncTask) -> TaskReport: ...


class ServerHost(TaskHost, Protocol):
    """The server's host, for one run."""

    def serve(self, agent: object) -> None:
        """Raise `ToolUseError` if tasks of this agent's subagents cannot run here. `agent` is its middleware."""
        ...


def task_id_of(call_key: str) -> str:
    """The id of the task that a call starts, or of the run that it adds to a task."""
    return str(uuid5(_IDS, call_key))


def wake_run_id(run_id: str) -> str:
    """The id of the parent's run that one run of a task starts when it ends. There can be only one with this id."""
    return str(uuid5(_IDS, f"wake/{run_id}"))


def too_many(count: int) -> str:
    """Why no more tasks can be started."""
    return f"{count} background tasks are under way, which is the limit. Wait for one of them, or cancel one."


def background_graph_id(agent_name: str, graph_id: str) -> str:
    """The name under which a background subagent is driven. `graph_id` is that of the agent that has it: a served graph, or another
    background subagent."""
    return f"{agent_name}@{graph_id}"


def split_graph_id(graph_id: str, served: Collection[str]) -> tuple[tuple[str, ...], str]:
    """The background subagents that lead to the one that a name means, outermost first (none for a served graph), and the served graph.
    A subagent's name has no `@`; a graph's may have one."""
    path: tuple[str, ...] = ()
    while graph_id not in served and "@" in graph_id:
        agent_name, _, graph_id = graph_id.partition("@")
        path = (agent_name, *path)
    return path, graph_id


def wake_text(task: AsyncTask, report: TaskReport) -> str:
    """What a parent is told when a run of a task has ended. The subagent wrote the answer, and perhaps the error: no tag begins in them, so
    they cannot end the frame or imitate another speaker's."""
    subject = f"Background task {task['task_id']} ({task['agent_name']})"
    if report.status == "error":
        return f"{subject} failed: {_cut(report.error or 'no reason is known')}"
    return f"{subject} is done. Its answer:\n<background_result>\n{_cut(report.result or '')}\n</background_result>"


def wake_message(task: AsyncTask, report: TaskReport) -> dict[str, Any]:
    """The message with which a task wakes its parent, in the form of a run's input."""
    return {
        "type": "human",
        "content": wake_text(task, report),
        "id": wake_run_id(report.run_id),
        # `lc_source`: written in the user's place, so pages do not show it as the user's.
        "additional_kwargs": {NOTE: note(task, report), "lc_source": NOTE},
    }


def note(task: AsyncTask, report: TaskReport) -> dict[str, Any]:
    """What a message about a task carries beside its text. `spent` counts towards the parent's budget, once for each run."""
    told: dict[str, Any] = {
        "task_id": task["task_id"],
        "agent_name": task["agent_name"],
        "run_id": report.run_id,
        "status": report.status,
    }
    return {**told, "spent": dict(report.spent)} if report.spent else told


def is_note(message: Any) -> bool:
    """Whether a message was written by a task and not by the user."""
    return NOTE in (getattr(message, "additional_kwargs", None) or ())


def spent_by_tasks(messages: Sequence[Any]) -> dict[str, float]:
    """What the tasks that these messages report have spent: tokens, usd, calls. Each run of a task counts once."""
    runs = reports_of_tasks(messages)
    return {name: sum(spent.get(name, 0) for spent in runs.values()) for name in ("tokens", "usd", "calls")} if runs else {}


def reports_of_tasks(messages: Sequence[Any]) -> dict[str, dict[str, float]]:
    """What the runs of tasks that these messages report have spent. A client can write such messages too, so nothing in them can make it
    less."""
    runs: dict[str, dict[str, float]] = {}
    for message in messages:
        told = (message.additional_kwargs or {}).get(NOTE)
        spent = told.get("spent") if isinstance(told, Mapping) else None
        if not isinstance(told, Mapping) or not isinstance(spent, Mapping):
            continue
        known = runs.setdefault(str(told.get("run_id")), {})
        for name in ("tokens", "usd", "calls"):
            amount = spent.get(name, 0)
            known[name] = max(known.get(name, 0), amount if isinstance(amount, int | float) else 0)
    return runs


def _cut(text: str) -> str:
    shown = escape_tags(text[:WHOLE_RESULT])
    return shown if len(text) <= WHOLE_RESULT else f"{shown}\n(cut here; check_async_task gives all of it)"
