"""The server's host of background tasks: each is a run of its own, on a thread of its own, for any worker to drive.

It is given to the graph of every run, in its config (`tools.background.TASKS`), and does nothing until a tool uses it. What it
stores is stored in the lane of the parent's lease, after the checkpoint with the call. So a parent that is driven again after a crash
repeats its call, and finds what the call has started.

A run's host serves only the agent that the run's graph is, because a task's graph is found by the name of that graph
(`background_graph_id`). An ordinary subagent in the run could start tasks that nobody would find again, so it is refused. So is
a stateless run, whose thread is deleted when it ends.

A task inherits the parent's assistant, configuration and context, and with them its user, models, workspace and mode.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, TypeVar

from stepwell.clock import Clock
from stepwell.database.persistence import Persistence
from stepwell.database.queue import admission, background
from stepwell.database.queue.run_queue import Stops
from stepwell.database.queue.types import Admission
from stepwell.database.records.background import find
from stepwell.database.rows import to_time
from stepwell.database.shared_spending import SqlSharedSpending, note_agent
from stepwell.database.types import Assistant, BackgroundTask, Json, Lease, Run, RunRequest
from stepwell.errors import InvalidRequestError, NotFoundError, ToolUseError
from stepwell.permission_modes import PERMISSION_MODE
from stepwell.runs.threads.titles import title_of
from stepwell.sql import Connection
from stepwell.tools.background import (
    SPENT_BEFORE,
    AsyncTask,
    NewTask,
    TaskReport,
    UpdateStrategy,
    background_graph_id,
    task_id_of,
    too_many,
)

T = TypeVar("T")
FindAssistant = Callable[[str | None, str], Awaitable[Assistant]]
"""Owner, and the name of a graph or the id of an assistant -> the assistant."""

_NOT_THE_AGENT = (
    "Only the agent of this conversation can start background tasks, and this is one of its subagents. Do the work here, or say in your "
    "answer what should be started."
)
_STATELESS = (
    "This run is stateless: its thread is deleted when it ends, so a task would have nobody to report to. Do the work here."
)


class ServerTasks:
    """A `TaskHost` for one attempt at a run. Made on the engine's event loop; its sync half waits for that loop."""

    def __init__(
        self,
        persistence: Persistence,
        run: Run,
        lease: Lease,
        clock: Clock,
        *,
        graph: object,
        find_assistant: FindAssistant | None = None,
        max_active: int | None = None,
        shared: SqlSharedSpending,
        passed_on: Collection[str] = (),
    ) -> None:
        """`passed_on`: names in the configuration that also hold for tasks that are other assistants."""
        self._persistence = persistence
        self._run = run
        self._lease = lease
        self._clock = clock
        self._graph = graph
        self._find_assistant = find_assistant
        self._max_active = max_active
        self._shared = shared
        self._passed_on = {PERMISSION_MODE, *passed_on}
        self._loop = asyncio.get_running_loop()

    def serve(self, agent: object) -> None:
        """Raise `ToolUseError` if tasks of this agent's subagents cannot run here. `agent` is its middleware."""
        if self._run.request.delete_thread_after:
            raise ToolUseError(_STATELESS)
        if agent is not self._served_agent:
            raise ToolUseError(_NOT_THE_AGENT)

    @cached_property
    def _served_agent(self) -> object:
        # Imported only now: only agents with background subagents need it.
        from stepwell.middleware.background.middleware import find_background

        return find_background(self._graph)

    async def astart(self, task: NewTask) -> TaskReport:
        served = await self._served(task)
        known = self._describe(task, served)
        if served:  # the task has another configuration, so each of its runs has to know the parent's
            parent = self._run.request.without_secrets()
            known |= {"parent_config": parent.config, "parent_context": parent.context}
        run = self._new_run(task.task_id, task_id_of(f"{task.task_id}/first"), task.description, known, served, task.spent)
        wanted = self._admission(run, known, title_of(run.request.input))

        def work(connection: Connection, now: float) -> tuple[int | None, Stops]:
            busy = background.start(connection, self._in_turn(connection, wanted), task.description, now, task.max_tasks)
            if busy is None and task.budget and self._shared.scope is None:
                note_agent(connection, self._run.thread_id, *task.budget)
            return busy, ()

        if busy := await self._persistence.queue.under_lease(self._lease, work):
            raise ToolUseError(too_many(busy))
        return (await self._look([task.task_id], results=False))[task.task_id]

    async def alook(self, tasks: Sequence[AsyncTask], *, results: bool) -> dict[str, TaskReport]:
        return await self._look([task["task_id"] for task in tasks], results=results)

    async def aupdate(self, task: AsyncTask, message: str, run_id: str, strategy: UpdateStrategy) -> TaskReport:
        task_id = task["task_id"]
        await self._require_own(task_id)
        known = await self._stored(task_id)
        run = replace(self._new_run(task_id, run_id, message, known, None, {}), multitask_strategy=strategy)
        wanted = self._admission(run, known, None)

        def work(connection: Connection, now: float) -> tuple[None, Stops]:
            if background.has_run(connection, run_id):
                return None, ()
            _, to_stop = admission.admit(connection, self._in_turn(connection, wanted), now)
            return None, to_stop

        await self._persistence.queue.under_lease(self._lease, work)
        return TaskReport("running", task_id, run_id)

    async def acancel(self, task: AsyncTask) -> TaskReport:
        task_id = task["task_id"]

        def work(connection: Connection, now: float) -> tuple[None, Stops]:
            return None, background.cancel(connection, task_id, now)

        before = _report(await self._require_own(task_id))
        await self._persistence.queue.under_lease(self._lease, work)
        return before if before.status in ("success", "error") else replace(before, status="cancelled")

    # The same for sync tools, which run in threads.

    def start(self, task: NewTask) -> TaskReport:
        return self._wait(self.astart(task))

    def look(self, tasks: Sequence[AsyncTask], *, results: bool) -> dict[str, TaskReport]:
        return self._wait(self.alook(tasks, results=results))

    def update(self, task: AsyncTask, message: str, run_id: str, strategy: UpdateStrategy) -> TaskReport:
        return self._wait(self.aupdate(task, message, run_id, strategy))

    def cancel(self, task: AsyncTask) -> TaskReport:
        return self._wait(self.acancel(task))

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _served(self, task: NewTask) -> Assistant | None:
        """The assistant of a task that is a served graph; None for a subagent of the parent."""
        if task.graph_id is None:
            return None
        if self._find_assistant is None:
            raise NotFoundError("graph", task.graph_id, "Nothing else is served here.")
        return await self._find_assistant(self._run.owner, task.graph_id)

    def _describe(self, task: NewTask, served: Assistant | None) -> dict[str, Any]:
        """What every run of the task has to know (`RunRequest.background`)."""
        request = self._run.request
        return {
            "agent_name": task.agent_name,
            "graph_id": served.graph_id if served else background_graph_id(task.agent_name, request.graph_id),
            "assistant_id": served.assistant_id if served else request.assistant_id,
            "parent_thread_id": self._run.thread_id,
            "parent_graph_id": request.graph_id,
            "parent_assistant_id": request.assistant_id,
            "parent_webhook": request.webhook,
            "webhook": task.webhook,
            "notify_parent": task.notify_parent,
            "timeout_s": task.timeout_s,
            "budget": self._shared.scope or (task.budget and [self._run.thread_id, task.budget[0]]),
            "created_at": to_time(self._clock.now()),
        }

    def _new_run(
        self, task_id: str, run_id: str, message: str, known: Json, served: Assistant | None, spent: Mapping[str, float]
    ) -> Run:
        now = self._clock.now()
        request = self._run.request
        config, context = (request.config, request.context) if served is None else _of_served(request, served, self._passed_on)
        if spent:
            config = {**config, "configurable": {**(config.get("configurable") or {}), SPENT_BEFORE: dict(spent)}}
        return Run(
            run_id=run_id,
            thread_id=task_id,
            owner=self._run.owner,
            request=RunRequest(
                known["assistant_id"],
                known["graph_id"],
                input={"messages": [{"type": "human", "content": message, "id": run_id}]},
                config=config,
                context=context,
                stream_modes=request.stream_modes,
                stream_subgraphs=request.stream_subgraphs,
                durability=request.durability,
                webhook=known["webhook"],
                background=known,
                user=request.user,
                stamp=request.stamp,
            ),
            status="pending",
            created_at=now,
            updated_at=now,
            metadata={
                **(request.stamp or {}),
                "graph_id": known["graph_id"],
                "assistant_id": known["assistant_id"],
                "subagent_name": known["agent_name"],
                "parent_thread_id": known["parent_thread_id"],
            },
        )

    def _admission(self, run: Run, known: Json, title: str | None) -> Admission:
        names = {"graph_id": known["graph_id"], "assistant_id": known["assistant_id"]}
        return Admission(run, create_thread=True, thread_metadata=names, title=title, max_active=self._max_active, trusted=True)

    def _in_turn(self, connection: Connection, wanted: Admission) -> Admission:
        """A task waits for its turn like a run of its parent's."""
        row = connection.execute("SELECT tenant FROM runs WHERE run_id = ?", (self._run.run_id,)).fetchone()
        return replace(wanted, tenant=row["tenant"])

    async def _look(self, task_ids: Sequence[str], *, results: bool) -> dict[str, TaskReport]:
        return {task_id: _report(task) for task_id, task in (await self._find(task_ids, results=results)).items()}

    async def _find(self, task_ids: Sequence[str], *, results: bool) -> dict[str, BackgroundTask]:
        owner, parent = self._run.owner, self._run.thread_id
        return await self._persistence.database.read(
            lambda connection: find(connection, owner, task_ids, results=results, parent=parent)
        )

    async def _require_own(self, task_id: str) -> BackgroundTask:
        """A task that this thread has started. A copy of a thread knows the tasks of the original, but may not change them."""
        task = (await self._find([task_id], results=False)).get(task_id)
        if task is None:
            raise NotFoundError("task", task_id, "It was deleted. Start another one.")
        if task.parent_thread_id != self._run.thread_id:
            raise InvalidRequestError(f"The task '{task_id}' belongs to another conversation. Start another one here.")
        return task

    async def _stored(self, task_id: str) -> Json:
        return await self._persistence.database.read(lambda connection: background.description_of(connection, task_id))


def _of_served(request: RunRequest, served: Assistant, passed_on: Collection[str]) -> tuple[Json, Json | None]:
    """The configuration of another graph's assistant, with what the server has fixed for the parent, and with the parent's mode and
    payer."""
    ours = request.config.get("configurable") or {}
    fixed = {name: value for name, value in ours.items() if name.startswith("__") or name in passed_on}
    configurable = {**(served.config.get("configurable") or {}), **fixed}
    return {**served.config, "configurable": configurable}, served.context or None


def _report(task: BackgroundTask) -> TaskReport:
    return TaskReport(task.status, task.task_id, task.run_id, task.result, task.error, task.question, task.spent)
