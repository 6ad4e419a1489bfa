"""Tasks on another LangGraph server, through its SDK. A task's thread and runs are that server's, and so are their limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from langgraph_sdk import get_client, get_sync_client

from stepwell.errors import ToolUseError
from stepwell.middleware.background.specs import AsyncSubAgent
from stepwell.secrets.errors import words_of
from stepwell.tools.background import AsyncTask, NewTask, TaskReport, TaskStatus, UpdateStrategy

NewClient = Callable[..., Any]

_STATUSES: dict[str, TaskStatus] = {"timeout": "error", "interrupted": "waiting"}
"""Statuses of runs that have another name here. A run that was cancelled is `interrupted` too, but then the task says so itself."""


def headers_for(spec: AsyncSubAgent) -> dict[str, str]:
    """The headers of every request; LangGraph's hosted servers want to know the scheme of the key."""
    return {"x-auth-scheme": "langsmith", **(spec.get("headers") or {})}


class RemoteTasks:
    """Tasks of one subagent. Clients are made when they are first needed."""

    def __init__(
        self, spec: AsyncSubAgent, *, sync_client: NewClient = get_sync_client, async_client: NewClient = get_client
    ) -> None:
        self._spec = spec
        self._new_sync, self._new_async = sync_client, async_client
        self._made: dict[str, Any] = {}

    def start(self, task: NewTask) -> TaskReport:
        client = self._sync()
        thread = client.threads.create()
        run = client.runs.create(**self._order(thread["thread_id"], task.description))
        return TaskReport("running", thread["thread_id"], run["run_id"])

    async def astart(self, task: NewTask) -> TaskReport:
        client = self._async()
        thread = await client.threads.create()
        run = await client.runs.create(**self._order(thread["thread_id"], task.description))
        return TaskReport("running", thread["thread_id"], run["run_id"])

    def look(self, tasks: Sequence[AsyncTask], *, results: bool) -> dict[str, TaskReport]:
        client = self._sync()
        reports = {}
        for task in tasks:
            run = client.runs.get(thread_id=task["thread_id"], run_id=task["run_id"])
            values: Any = None
            if results and run["status"] == "success":
                try:
                    values = client.threads.get(thread_id=task["thread_id"]).get("values")
                except Exception:  # the status is still worth telling
                    values = None
            reports[task["task_id"]] = _report(task, run, values)
        return reports

    async def alook(self, tasks: Sequence[AsyncTask], *, results: bool) -> dict[str, TaskReport]:
        client = self._async()
        reports = {}
        for task in tasks:
            run = await client.runs.get(thread_id=task["thread_id"], run_id=task["run_id"])
            values: Any = None
            if results and run["status"] == "success":
                try:
                    values = (await client.threads.get(thread_id=task["thread_id"])).get("values")
                except Exception:
                    values = None
            reports[task["task_id"]] = _report(task, run, values)
        return reports

    def update(self, task: AsyncTask, message: str, run_id: str, strategy: UpdateStrategy) -> TaskReport:
        run = self._sync().runs.create(**self._order(task["thread_id"], message), multitask_strategy=strategy)
        return TaskReport("running", task["thread_id"], run["run_id"])

    async def aupdate(self, task: AsyncTask, message: str, run_id: str, strategy: UpdateStrategy) -> TaskReport:
        run = await self._async().runs.create(**self._order(task["thread_id"], message), multitask_strategy=strategy)
        return TaskReport("running", task["thread_id"], run["run_id"])

    def cancel(self, task: AsyncTask) -> TaskReport:
        self._sync().runs.cancel(thread_id=task["thread_id"], run_id=task["run_id"])
        return TaskReport("cancelled", task["thread_id"], task["run_id"])

    async def acancel(self, task: AsyncTask) -> TaskReport:
        await self._async().runs.cancel(thread_id=task["thread_id"], run_id=task["run_id"])
        return TaskReport("cancelled", task["thread_id"], task["run_id"])

    def _order(self, thread_id: str, message: str) -> dict[str, Any]:
        order: dict[str, Any] = {
            "thread_id": thread_id,
            "assistant_id": self._spec["graph_id"],
            "input": {"messages": [{"role": "user", "content": message}]},
        }
        if webhook := self._spec.get("webhook"):
            order["webhook"] = webhook
        return order

    def _sync(self) -> Any:
        if self._spec.get("url") is None:
            raise ToolUseError(
                f"the subagent {self._spec['name']} has no url, and this agent does not run on a server. Give it one, or run the agent "
                "on a server that has the graph."
            )
        return self._client("sync", self._new_sync)

    def _async(self) -> Any:
        return self._client("async", self._new_async)

    def _client(self, kind: str, make: NewClient) -> Any:
        if kind not in self._made:
            self._made[kind] = make(url=self._spec.get("url"), headers=headers_for(self._spec))
        return self._made[kind]


def _report(task: AsyncTask, run: Mapping[str, Any], values: Any) -> TaskReport:
    status = _STATUSES.get(run["status"], cast("TaskStatus", run["status"]))
    error = None
    if status == "error":
        said = run.get("error")
        error = words_of(RuntimeError(str(said))) if said else "The subagent failed; its server does not say why."
    return TaskReport(status, task["thread_id"], task["run_id"], _last_text(values), error)


def _last_text(values: Any) -> str | None:
    messages = values.get("messages") if isinstance(values, Mapping) else None
    if not messages:
        return None
    last = messages[-1]
    return str(last.get("content", "")) if isinstance(last, Mapping) else str(last)
