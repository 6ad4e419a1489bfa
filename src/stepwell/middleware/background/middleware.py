"""`AsyncSubAgentMiddleware`: an agent's background subagents, and what its thread remembers about their tasks.

Where a task runs follows from its subagent and from where the agent runs:

| subagent | agent in a process | agent on our server |
|---|---|---|
| `url` | on that server, through LangGraph's SDK | the same |
| `graph_id` | refused without a `url` (sync), LangGraph's own transport (async) | a run of its own of the served graph |
| neither | in the process (`here`) | a run of its own, driven by any worker |
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import Annotated, Any, NotRequired

from langchain.agents.middleware.types import AgentState
from langchain.tools import ToolRuntime
from langchain_core.messages import HumanMessage
from langchain_core.runnables import Runnable
from langgraph.pregel import Pregel

from stepwell.errors import SubAgentSpecError
from stepwell.middleware.background.here import LocalTasks
from stepwell.middleware.background.specs import AsyncSubAgent, check_background, without_background_keys
from stepwell.middleware.background.tools import MAX_TASKS, START, TaskTools, without_start
from stepwell.middleware.request import RequestMiddleware
from stepwell.middleware.run_modes import has_run_modes
from stepwell.middleware.steering import SteeringMiddleware
from stepwell.middleware.subagents.specs import SubAgent, is_compiled
from stepwell.middleware.subagents.task import BuildSubAgent
from stepwell.tools.background import TASKS, AsyncTask, ServerHost, TaskHost, TaskReport, wake_message

Notify = Callable[[TaskReport, HumanMessage], None]
"""Called in the process when a task has ended, with how it ended and the message that tells the agent so."""


def merge_tasks(known: dict[str, AsyncTask] | None, changed: dict[str, AsyncTask] | None) -> dict[str, AsyncTask]:
    """The reducer of the state's tasks."""
    return {**(known or {}), **(changed or {})}


class AsyncSubAgentState(AgentState[Any]):
    async_tasks: Annotated[NotRequired[dict[str, AsyncTask]], merge_tasks]


class AsyncSubAgentMiddleware(RequestMiddleware):
    """Offers background subagents through `start_async_task` and four more tools.

    `create_deep_agent` adds it for every subagent with `mode="background"` or a `graph_id`. On a server, the end of a task starts a run on
    the parent's thread. In a process nobody can start one, so `notify` is called there: pass its message to the agent.
    `system_prompt` is added to the agent's prompt, with the list of subagents. `build` turns a description into an agent;
    `create_deep_agent` brings its own. `max_tasks` limits how many tasks of a thread are under way at once.
    """

    state_schema = AsyncSubAgentState
    reaches_subagents = False

    def __init__(
        self,
        *,
        async_subagents: Sequence[AsyncSubAgent],
        system_prompt: str | None = None,
        build: BuildSubAgent | None = None,
        notify: Notify | None = None,
        max_tasks: int = MAX_TASKS,
    ) -> None:
        super().__init__()
        self._specs = check_background(async_subagents)
        self._build = build
        self._notify = notify
        self._built: dict[str, Runnable[Any, Any]] = {}
        self._building = threading.Lock()
        self._here = LocalTasks(self.agent, self._tell if notify else None)
        self._remote: dict[str, TaskHost] = {}
        rows = "\n".join(f"- {name}: {spec['description'].strip()}" for name, spec in self._specs.items())
        self.system_prompt = f"{system_prompt}\n\nBackground subagents:\n{rows}" if system_prompt else None
        self.prompt = self.system_prompt or ""
        unheld = [name for name, spec in self._specs.items() if _is_unheld(spec)]
        self.tools = TaskTools(self._specs, self._host, unheld=unheld, owner=self, max_tasks=max_tasks).all

    def offer_build(self, build: BuildSubAgent) -> None:
        """Use this function to build subagents, unless the caller brought one."""
        self._build = self._build or build

    def without_starts(self) -> AsyncSubAgentMiddleware:
        """The same, but `start_async_task` refuses every call: for forks, whose tools have to look like the main agent's, which would not
        know of their tasks."""
        refusing = copy(self)
        refusing.tools = [without_start(tool) if tool.name == START else tool for tool in self.tools]
        return refusing

    def agent(self, name: str) -> Runnable[Any, Any]:
        """A background subagent of ours by its name, compiled on first use."""
        spec = self._specs.get(name)
        if spec is None or "graph_id" in spec:
            raise SubAgentSpecError(f"This agent has no background subagent '{name[:80]}' of its own.")
        plain = without_background_keys(spec)
        if is_compiled(plain):
            return plain["runnable"]
        with self._building:
            if name not in self._built:
                if self._build is None:
                    raise SubAgentSpecError(
                        f"The background subagent '{name}' cannot be built here. Use create_deep_agent, or pass its graph as runnable."
                    )
                self._built[name] = self._build(_steered(plain))
            return self._built[name]

    def look(self, task_id: str) -> TaskReport:
        """How a task in this process is now."""
        return self._here.report(task_id)

    def stop(self, task_id: str) -> None:
        """Stop a task in this process."""
        self._here.cancel(task_id)

    def wake_for(self, task_id: str) -> HumanMessage | None:
        """The message that tells the agent how a task in this process has ended; None while it works, and if it was stopped."""
        report = self._here.report(task_id)
        if report.status not in ("success", "error") or not report.run_id:
            return None
        return _wake(task_id, self._here.find(task_id).task.agent_name, report)

    def _host(self, spec: AsyncSubAgent, runtime: ToolRuntime) -> TaskHost:
        configurable: Mapping[str, Any] = runtime.config.get("configurable") or {}
        if "url" not in spec and (server := configurable.get(TASKS)) is not None:
            host: ServerHost = server
            host.serve(self)
            return host
        if "graph_id" in spec:
            # Imported only now: most agents have no subagents elsewhere.
            from stepwell.middleware.background.remote import RemoteTasks

            return self._remote.setdefault(spec["name"], RemoteTasks(spec))
        return self._here.called_with(runtime.config, runtime.context, _conversation(runtime))

    def _tell(self, task_id: str, agent_name: str, report: TaskReport) -> None:
        if self._notify:
            self._notify(report, _wake(task_id, agent_name, report))


def _steered(spec: SubAgent) -> SubAgent:
    """The subagent with a place where messages enter: unlike other subagents, it is the main agent of its own run."""
    own = spec.get("middleware", ())
    return {**spec, "middleware": [SteeringMiddleware(), *(each for each in own if not isinstance(each, SteeringMiddleware))]}


def _wake(task_id: str, agent_name: str, report: TaskReport) -> HumanMessage:
    told = wake_message({"task_id": task_id, "agent_name": agent_name}, report)  # type: ignore[typeddict-item]  # enough to tell
    return HumanMessage(told["content"], id=told["id"], additional_kwargs=told["additional_kwargs"])


def _conversation(runtime: ToolRuntime) -> str:
    """A name for the parent's conversation. Without a thread, the model's first answer stands for it."""
    if thread_id := (runtime.config.get("configurable") or {}).get("thread_id"):
        return str(thread_id)
    return str(next((message.id for message in runtime.state.get("messages") or () if message.type == "ai"), ""))


def find_background(graph: object) -> AsyncSubAgentMiddleware | None:
    """The middleware of a compiled agent, or of an agent inside of a graph; None if there is none."""
    if not isinstance(graph, Pregel):
        return None
    for one in (graph, *(subgraph for _, subgraph in graph.get_subgraphs(recurse=True))):
        node = one.nodes.get("tools") if isinstance(one, Pregel) else None
        tool = getattr(getattr(node, "bound", None), "tools_by_name", {}).get(START)
        owner = getattr(getattr(getattr(tool, "func", None), "__self__", None), "owner", None)
        if isinstance(owner, AsyncSubAgentMiddleware):
            return owner
    return None


def _is_unheld(spec: AsyncSubAgent) -> bool:
    """Whether a subagent knows nothing of a run's mode: a graph elsewhere, or one of another package."""
    return "graph_id" in spec or ("runnable" in spec and not has_run_modes(spec["runnable"]))
