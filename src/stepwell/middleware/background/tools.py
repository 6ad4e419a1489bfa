"""The five tools with which an agent uses its background subagents. Each names a task by the id that `start_async_task` returned."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal

from langchain.tools import ToolRuntime
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.types import Command
from pydantic import BaseModel, Field

from stepwell.control_flow import let_pass
from stepwell.middleware.background.specs import TIMEOUT_S, AsyncSubAgent
from stepwell.middleware.run_modes import UNHELD
from stepwell.middleware.turns import turn_of
from stepwell.secrets.errors import words_of
from stepwell.tools.background import (
    ENDED,
    NOTE,
    AsyncTask,
    NewTask,
    TaskHost,
    TaskReport,
    note,
    spent_by_tasks,
    task_id_of,
    too_many,
)
from stepwell.tools.effect_journal import call_key
from stepwell.tools.effects import with_effect

CHANNEL = "async_tasks"
START = "start_async_task"
MAX_TASKS = 10
"""How many tasks of a thread may be under way at once, by default."""

FindHost = Callable[[AsyncSubAgent, ToolRuntime], TaskHost]
StatusFilter = Literal["pending", "running", "waiting", "success", "error", "cancelled", "all"]

_TASK_ID = "the task_id that start_async_task returned"
_START = """Start a subagent in the background. It works on its own and has none of your conversation; this returns a task_id at once. \
{after} Types:
{rows}"""
_WOKEN = "You are told when it is done, so do not wait for it or poll: go on, or end your turn."
_UNTOLD = "Look for its answer later with check_async_task; do not poll."
_CHECK = """The current status of a background task, and its answer once it is done. Statuses seen earlier are stale."""
_UPDATE = """Send a background task another message. It keeps its task_id and sees its whole conversation."""
_CANCEL = """Stop a background task that is no longer needed."""
_LIST = """All background tasks of this conversation with their current statuses. Statuses seen earlier are stale."""


class StartArgs(BaseModel):
    description: str = Field(description="everything it needs to know, and what to return")
    subagent_type: str


class TaskArgs(BaseModel):
    task_id: str = Field(description=_TASK_ID)


class UpdateArgs(BaseModel):
    task_id: str = Field(description=_TASK_ID)
    message: str


class ListArgs(BaseModel):
    status_filter: StatusFilter | None = None


class TaskTools:
    """The tools over the given subagents. `host` finds out where a subagent's tasks run."""

    def __init__(
        self,
        specs: Mapping[str, AsyncSubAgent],
        host: FindHost,
        *,
        unheld: Iterable[str] = (),
        owner: object = None,
        max_tasks: int = MAX_TASKS,
    ) -> None:
        self._specs = specs
        self._host = host
        self._max_tasks = max_tasks
        self.owner = owner
        """The middleware that has these tools (`find_background`)."""
        rows = "\n".join(f"- {name}: {spec['description'].strip()}" for name, spec in specs.items())
        told = any(spec.get("notify_parent", True) and "url" not in spec for spec in specs.values())
        description = _START.format(after=_WOKEN if told else _UNTOLD, rows=rows)
        metadata = {UNHELD: frozenset(unheld)} if unheld else None
        self.all: list[BaseTool] = [
            _tool(START, description, self.start, self.astart, StartArgs, metadata),
            _tool("check_async_task", _CHECK, self.check, self.acheck, TaskArgs),
            _tool("update_async_task", _UPDATE, self.update, self.aupdate, UpdateArgs),
            _tool("cancel_async_task", _CANCEL, self.cancel, self.acancel, TaskArgs),
            _tool("list_async_tasks", _LIST, self.show, self.ashow, ListArgs),
        ]

    @with_effect("read")  # the subagent's own tools are held to the run's mode
    def start(self, runtime: ToolRuntime, description: str, subagent_type: str) -> Any:
        if isinstance(spec := self._spec(subagent_type), str):
            return spec
        try:
            host = self._host(spec, runtime)
            if fault := self._full(
                self._open(runtime), host.look(self._open(runtime), results=False) if self._many(runtime) else {}
            ):
                return fault
            return _started(runtime, subagent_type, host.start(self._new_task(runtime, spec, description)))
        except Exception as error:
            return _failed(f"Failed to launch async subagent '{subagent_type}'", error)

    @with_effect("read")
    async def astart(self, runtime: ToolRuntime, description: str, subagent_type: str) -> Any:
        if isinstance(spec := self._spec(subagent_type), str):
            return spec
        try:
            host = self._host(spec, runtime)
            known = await host.alook(self._open(runtime), results=False) if self._many(runtime) else {}
            if fault := self._full(self._open(runtime), known):
                return fault
            return _started(runtime, subagent_type, await host.astart(self._new_task(runtime, spec, description)))
        except Exception as error:
            return _failed(f"Failed to launch async subagent '{subagent_type}'", error)

    @with_effect("read")
    def check(self, runtime: ToolRuntime, task_id: str) -> Any:
        if isinstance(task := self._tracked(runtime, task_id), str):
            return task
        try:
            host = self._host(self._specs[task["agent_name"]], runtime)
            return _checked(runtime, task, host.look([task], results=True).get(task["task_id"]))
        except Exception as error:
            return _failed("Failed to get run status", error)

    @with_effect("read")
    async def acheck(self, runtime: ToolRuntime, task_id: str) -> Any:
        if isinstance(task := self._tracked(runtime, task_id), str):
            return task
        try:
            host = self._host(self._specs[task["agent_name"]], runtime)
            return _checked(runtime, task, (await host.alook([task], results=True)).get(task["task_id"]))
        except Exception as error:
            return _failed("Failed to get run status", error)

    @with_effect("read")
    def update(self, runtime: ToolRuntime, task_id: str, message: str) -> Any:
        if isinstance(task := self._tracked(runtime, task_id), str):
            return task
        try:
            spec = self._specs[task["agent_name"]]
            strategy = spec.get("update_strategy", "interrupt")
            report = self._host(spec, runtime).update(task, message, task_id_of(_key(runtime)), strategy)
            return _changed(runtime, task, report, f"Updated async subagent. task_id: {task['task_id']}")
        except Exception as error:
            return _failed("Failed to update async subagent", error)

    @with_effect("read")
    async def aupdate(self, runtime: ToolRuntime, task_id: str, message: str) -> Any:
        if isinstance(task := self._tracked(runtime, task_id), str):
            return task
        try:
            spec = self._specs[task["agent_name"]]
            strategy = spec.get("update_strategy", "interrupt")
            report = await self._host(spec, runtime).aupdate(task, message, task_id_of(_key(runtime)), strategy)
            return _changed(runtime, task, report, f"Updated async subagent. task_id: {task['task_id']}")
        except Exception as error:
            return _failed("Failed to update async subagent", error)

    @with_effect("read")
    def cancel(self, runtime: ToolRuntime, task_id: str) -> Any:
        if isinstance(task := self._tracked(runtime, task_id), str):
            return task
        try:
            return _cancelled(runtime, task, self._host(self._specs[task["agent_name"]], runtime).cancel(task))
        except Exception as error:
            return _failed("Failed to cancel run", error)

    @with_effect("read")
    async def acancel(self, runtime: ToolRuntime, task_id: str) -> Any:
        if isinstance(task := self._tracked(runtime, task_id), str):
            return task
        try:
            return _cancelled(runtime, task, await self._host(self._specs[task["agent_name"]], runtime).acancel(task))
        except Exception as error:
            return _failed("Failed to cancel run", error)

    @with_effect("read")
    def show(self, runtime: ToolRuntime, status_filter: StatusFilter | None = None) -> Any:
        reports: dict[str, TaskReport] = {}
        for name, tasks in self._unfinished(runtime).items():
            try:
                reports |= self._host(self._specs[name], runtime).look(tasks, results=False)
            except Exception as error:
                let_pass(error)  # otherwise the statuses stay as they were last known
        return _listed(runtime, reports, status_filter)

    @with_effect("read")
    async def ashow(self, runtime: ToolRuntime, status_filter: StatusFilter | None = None) -> Any:
        reports: dict[str, TaskReport] = {}
        for name, tasks in self._unfinished(runtime).items():
            try:
                reports |= await self._host(self._specs[name], runtime).alook(tasks, results=False)
            except Exception as error:
                let_pass(error)
        return _listed(runtime, reports, status_filter)

    def _spec(self, name: str) -> AsyncSubAgent | str:
        if name in self._specs:
            return self._specs[name]
        return f"Unknown async subagent type `{name[:80]}`. Available types: {', '.join(f'`{known}`' for known in self._specs)}"

    def _tracked(self, runtime: ToolRuntime, task_id: str) -> AsyncTask | str:
        task = _tasks(runtime).get(task_id.strip())
        if task is None:
            return (
                f"No tracked task found for task_id: {task_id[:80]!r}. list_async_tasks shows the tasks of this conversation."
            )
        if task["agent_name"] not in self._specs:
            return f"The task belongs to the subagent '{task['agent_name']}', which this agent no longer has."
        return task

    def _open(self, runtime: ToolRuntime) -> Sequence[AsyncTask]:
        return [task for task in _tasks(runtime).values() if task["status"] not in ENDED and task["agent_name"] in self._specs]

    def _many(self, runtime: ToolRuntime) -> bool:
        return len(self._open(runtime)) >= self._max_tasks

    def _full(self, tasks: Sequence[AsyncTask], known: Mapping[str, TaskReport]) -> str | None:
        """Why no more tasks can be started; None if they can."""
        busy = [task for task in tasks if (report := known.get(task["task_id"])) is None or report.status not in ENDED]
        if len(busy) < self._max_tasks:
            return None
        return f"Error: {too_many(len(busy))}"

    def _new_task(self, runtime: ToolRuntime, spec: AsyncSubAgent, description: str) -> NewTask:
        return NewTask(
            task_id=task_id_of(_key(runtime)),
            agent_name=spec["name"],
            description=description,
            graph_id=spec.get("graph_id"),
            timeout_s=spec.get("timeout_s", TIMEOUT_S),
            notify_parent=spec.get("notify_parent", True),
            webhook=spec.get("webhook"),
            max_tasks=self._max_tasks,
            spent=_spent(runtime.state),
            budget=_budget(runtime.state),
        )

    def _unfinished(self, runtime: ToolRuntime) -> dict[str, list[AsyncTask]]:
        """Tasks whose status may have changed, by the name of their subagent."""
        grouped: dict[str, list[AsyncTask]] = {}
        for task in self._open(runtime):
            grouped.setdefault(task["agent_name"], []).append(task)
        return grouped


def without_start(tool: BaseTool) -> BaseTool:
    """`start_async_task` as a copy of the agent has it: it looks the same and refuses every call."""
    return tool.model_copy(update={"func": _refuse, "coroutine": _arefuse})


@with_effect("read")
def _refuse(runtime: ToolRuntime, description: str, subagent_type: str) -> str:
    return "Error: a copy of the agent cannot start background tasks. Do this part of the task yourself."


@with_effect("read")
async def _arefuse(runtime: ToolRuntime, description: str, subagent_type: str) -> str:
    return _refuse(runtime, description, subagent_type)


# The annotations are classes, not names: LangChain resolves them for every new agent, and resolving a name costs more.
_RUNTIME = {"runtime": ToolRuntime}
for _method, _more in (
    (TaskTools.start, {"description": str, "subagent_type": str}),
    (TaskTools.astart, {"description": str, "subagent_type": str}),
    (_refuse, {"description": str, "subagent_type": str}),
    (_arefuse, {"description": str, "subagent_type": str}),
    (TaskTools.check, {"task_id": str}),
    (TaskTools.acheck, {"task_id": str}),
    (TaskTools.update, {"task_id": str, "message": str}),
    (TaskTools.aupdate, {"task_id": str, "message": str}),
    (TaskTools.cancel, {"task_id": str}),
    (TaskTools.acancel, {"task_id": str}),
    (TaskTools.show, {"status_filter": StatusFilter | None}),
    (TaskTools.ashow, {"status_filter": StatusFilter | None}),
):
    _method.__annotations__ = {**_RUNTIME, **_more}


def _tool(
    name: str,
    description: str,
    func: Callable[..., Any],
    coroutine: Callable[..., Any],
    args: type[BaseModel],
    metadata: dict[str, Any] | None = None,
) -> StructuredTool:
    return StructuredTool(
        name=name, description=description, func=func, coroutine=coroutine, args_schema=args, metadata=metadata
    )


def _tasks(runtime: ToolRuntime) -> dict[str, AsyncTask]:
    return runtime.state.get(CHANNEL) or {}


def _key(runtime: ToolRuntime) -> str:
    """A name for this call that stays the same when the step is repeated after a crash."""
    call_id = runtime.tool_call_id or ""
    messages = runtime.state.get("messages") or ()
    asking = next(
        (each for each in reversed(messages) if any(call["id"] == call_id for call in getattr(each, "tool_calls", ()))), None
    )
    if asking is None or not (runtime.config.get("configurable") or {}).get("checkpoint_ns"):
        return f"{(runtime.config.get('configurable') or {}).get('thread_id', '')}/{call_id}/{id(runtime)}"
    return call_key(runtime, asking.id or "", call_id, "background")


def _spent(state: Mapping[str, Any]) -> dict[str, float]:
    """What the parent and its tasks have spent so far in this turn, if the parent has a budget."""
    messages = state.get("messages") or ()
    stored = state.get("spending") or {}
    if stored.get("turn") not in (turn_of(messages), "thread"):
        return {}
    before = spent_by_tasks(messages)
    return {name: stored.get(name, 0) + before.get(name, 0) for name in ("tokens", "usd", "calls")}


def _budget(state: Mapping[str, Any]) -> tuple[str, dict[str, float]] | None:
    """The turn of the parent's budget, and what the parent itself has spent of it."""
    stored = state.get("spending") or {}
    turn = stored.get("turn")
    if turn not in (turn_of(state.get("messages") or ()), "thread"):
        return None
    return turn, {name: stored.get(name, 0) for name in ("tokens", "usd", "calls")}


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _started(runtime: ToolRuntime, name: str, report: TaskReport) -> Command[Any]:
    now = _now()
    task = AsyncTask(
        task_id=report.thread_id,
        agent_name=name,
        thread_id=report.thread_id,
        run_id=report.run_id,
        status=report.status,
        created_at=now,
        last_checked_at=now,
        last_updated_at=now,
    )
    return _update(runtime, f"Launched async subagent. task_id: {report.thread_id}", {report.thread_id: task})


def _checked(runtime: ToolRuntime, task: AsyncTask, report: TaskReport | None) -> Command[Any]:
    report = report or TaskReport("error", task["thread_id"], task["run_id"], error="The task no longer exists.")
    told: dict[str, Any] = {"status": report.status, "thread_id": task["thread_id"]}
    if report.status == "success":
        told["result"] = report.result or "(completed with no output messages)"
    elif report.status == "error":
        told["error"] = report.error or "No reason is known."
    elif report.question:
        told["waits_for"] = report.question
    extra = {NOTE: note(task, report)} if report.status in ENDED and report.spent else {}
    return _update(runtime, json.dumps(told, ensure_ascii=False), {task["task_id"]: _renewed(task, report)}, extra)


def _changed(runtime: ToolRuntime, task: AsyncTask, report: TaskReport, text: str) -> Command[Any]:
    changed = AsyncTask(**{**task, "run_id": report.run_id, "status": report.status, "last_updated_at": _now()})
    return _update(runtime, text, {task["task_id"]: changed})


def _cancelled(runtime: ToolRuntime, task: AsyncTask, report: TaskReport) -> Command[Any]:
    renewed = _renewed(task, report)
    if report.status in ("success", "error"):
        text = f"The task {task['task_id']} had ended before ({report.status}); check_async_task gives its answer."
    else:
        renewed["status"], renewed["last_updated_at"] = "cancelled", _now()
        text = f"Cancelled async subagent task: {task['task_id']}"
    return _update(runtime, text, {task["task_id"]: renewed})


def _listed(runtime: ToolRuntime, reports: Mapping[str, TaskReport], wanted: StatusFilter | None) -> Any:
    tasks = [_renewed(task, reports[task_id]) if task_id in reports else task for task_id, task in _tasks(runtime).items()]
    shown = [task for task in tasks if wanted in (None, "all", task["status"])]
    changed = {task["task_id"]: task for task in tasks if task["task_id"] in reports}
    text = "No async subagent tasks tracked."
    if shown:
        rows = [f"- task_id: {task['task_id']}  agent: {task['agent_name']}  status: {task['status']}" for task in shown]
        text = "\n".join([f"{len(shown)} tracked task(s):", *rows])
    return _update(runtime, text, changed) if shown or changed else text


def _renewed(task: AsyncTask, report: TaskReport) -> AsyncTask:
    now = _now()
    changed: AsyncTask = {**task, "status": report.status, "last_checked_at": now}
    if report.status != task["status"]:
        changed["last_updated_at"] = now
    return changed


def _update(
    runtime: ToolRuntime, text: str, tasks: Mapping[str, AsyncTask], extra: Mapping[str, Any] | None = None
) -> Command[Any]:
    message = ToolMessage(text, tool_call_id=runtime.tool_call_id or "", additional_kwargs=dict(extra or {}))
    return Command(update={"messages": [message], CHANNEL: dict(tasks)})


def _failed(what: str, error: Exception) -> str:
    let_pass(error)
    return f"{what}: {words_of(error)}"[:4000]
