"""Tasks in this process, for agents that run without a server. They end with the process; a server's tasks do not.

```
start ──> a thread (sync callers), or a task on the caller's event loop (async callers) ──> rounds, one after the other
update ─> a message in the inbox; with "interrupt", the round that is under way stops after its step
end ────> `notify`, once for each round that was not stopped
```
A round that takes too long ends as an error at that moment. A thread cannot be stopped within a step, so the next message waits until the
step that is under way has ended. A task whose event loop was closed has failed; its next message is worked on where the caller is.
Each task has a checkpointer in memory, so a follow-up message sees the whole conversation.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, cast

from langchain_core.messages import HumanMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.pregel import Pregel

from stepwell.errors import ToolUseError
from stepwell.middleware.subagents.call import final_text
from stepwell.models.usage import UsageMeter
from stepwell.secrets.errors import words_of
from stepwell.tools.background import ENDED, SPENT_BEFORE, AsyncTask, NewTask, TaskReport, TaskStatus, UpdateStrategy, too_many
from stepwell.tools.shared_spending import SHARED, SharedHere

Ended = Callable[[str, str, TaskReport], None]
"""Called with a task's id, its agent's name and how its round ended."""

_LOST = "The process in which this task ran has ended, and the task with it. Start it again if it is still needed."
_LOOP_CLOSED = "The event loop on which this task ran was closed. Send it another message to go on, or start it again."
_log = logging.getLogger(__name__)
_OF_PARENT = frozenset({"thread_id", "run_id", "checkpoint_id", "checkpoint_ns", "checkpoint_map"})


@dataclass
class _Local:
    """One task. Its fields change under `lock`."""

    task: NewTask
    agent: Runnable[Any, Any]
    config: RunnableConfig
    context: Any
    conversation: str
    """Of the parent."""
    shared: SharedHere | None = None
    """The parent's budget, if it has one."""
    lock: threading.Lock = field(default_factory=threading.Lock)
    inbox: list[tuple[str, str]] = field(default_factory=list)
    run_id: str = ""
    status: TaskStatus = "pending"
    result: str | None = None
    error: str | None = None
    question: str | None = None
    meter: UsageMeter = field(default_factory=UsageMeter)
    stop: Callable[[], None] | None = None
    """Stops the round that is under way."""
    is_stopped: bool = False
    is_working: bool = False
    has_ended: bool = True
    """Whether the newest round has ended for those who ask, though its thread may still be in its last step."""
    loop: asyncio.AbstractEventLoop | None = None
    """Where the round that is under way runs, if on an event loop."""

    @property
    def is_abandoned(self) -> bool:
        """Whether it was working on an event loop that has been closed since."""
        return self.is_working and self.loop is not None and self.loop.is_closed()

    def report(self) -> TaskReport:
        if self.is_abandoned and self.status not in ENDED:
            return TaskReport("error", self.task.task_id, self.run_id, error=_LOOP_CLOSED)
        sums = self.meter.sums().values()
        spent = {
            "tokens": sum(each.tokens.total for each in sums),
            "usd": sum(each.known_usd for each in sums),
            "calls": sum(each.calls for each in sums),
        }
        return TaskReport(self.status, self.task.task_id, self.run_id, self.result, self.error, self.question, spent)

    def begin(self) -> str | None:
        """The next message, if there is one; otherwise the task rests."""
        with self.lock:
            if not self.inbox:
                self.is_working = False
                return None
            self.run_id, message = self.inbox.pop(0)
            self.status, self.result, self.error, self.question = "running", None, None, None
            self.is_stopped, self.has_ended, self.meter = False, False, UsageMeter()
            return message

    def end(self, run_id: str, outcome: Any) -> TaskReport | None:
        """Note how a round ended. Returns what to tell about it; None if it was stopped, or had ended before."""
        with self.lock:
            if self.has_ended or run_id != self.run_id:
                return None
            self.stop, self.has_ended = None, True
            if self.is_stopped:
                self.status = "cancelled"
                return None
            if isinstance(outcome, BaseException):
                self.status, self.error = "error", f"{type(outcome).__name__}: {words_of(outcome)}"[:4000]
            elif asked := outcome.get("__interrupt__"):
                self.status, self.question = "waiting", str(asked[0].value)[:4000]
                return None
            else:
                self.status, self.result = "success", final_text(self.task.agent_name, outcome)
            return self.report()

    def timed_out(self) -> TimeoutError:
        return TimeoutError(f"the task took longer than {self.task.timeout_s:g} s and was stopped")


class LocalTasks:
    """The tasks of one agent in this process."""

    def __init__(self, agent: Callable[[str], Runnable[Any, Any]], ended: Ended | None = None) -> None:
        self._agent = agent
        self._ended = ended
        self._tasks: dict[str, _Local] = {}
        self._adding = threading.Lock()
        self._saver = InMemorySaver()

    def called_with(self, config: Mapping[str, Any], context: Any, conversation: str) -> HostHere:
        """The host for a call of the parent's: tasks get its configuration and context."""
        return HostHere(self, config, context, conversation)

    def add(self, task: NewTask, config: Mapping[str, Any], context: Any, conversation: str) -> _Local | None:
        """A new task; None if this call has started it before. Refused if as many of the conversation as may be are under way."""
        agent = self._agent(task.agent_name)
        if isinstance(agent, Pregel):
            agent = agent.copy(update={"checkpointer": self._saver})
        given = config.get("configurable") or {}
        kept = {key: value for key, value in given.items() if not key.startswith("__") and key not in _OF_PARENT}
        own: RunnableConfig = {
            "configurable": {**kept, "thread_id": task.task_id, SPENT_BEFORE: dict(task.spent)},
            "metadata": {"subagent": task.agent_name, "lc_agent_name": task.agent_name, "background_task": task.task_id},
        }
        with self._adding:
            if task.task_id in self._tasks:
                return None
            busy = [
                each for each in self._tasks.values() if each.conversation == conversation and each.report().status not in ENDED
            ]
            if task.max_tasks is not None and len(busy) >= task.max_tasks:
                raise ToolUseError(too_many(len(busy)))
            local = self._tasks[task.task_id] = _Local(task, agent, own, context, conversation, shared=_shared(task, given))
            return local

    def find(self, task_id: str) -> _Local:
        if task_id not in self._tasks:
            raise ToolUseError(_LOST)
        return self._tasks[task_id]

    def report(self, task_id: str) -> TaskReport:
        local = self._tasks.get(task_id)
        return local.report() if local else TaskReport("error", task_id, "", error=_LOST)

    def send(self, local: _Local, run_id: str, message: str, strategy: UpdateStrategy = "interrupt") -> bool:
        """Put a message into a task's inbox. Returns whether somebody has to begin working on it."""
        with local.lock:
            if run_id == local.run_id or any(run_id == waiting for waiting, _ in local.inbox):
                return False
            local.inbox.append((run_id, message))
            if local.is_working and not local.is_abandoned:
                if local.has_ended:  # its time was up, and its last step has not ended yet
                    local.run_id, local.status = run_id, "pending"
                if strategy == "interrupt" and local.stop:
                    local.is_stopped = True
                    local.stop()
                return False
            local.is_working, local.loop = True, None
            local.run_id, local.status = run_id, "pending"
            return True

    def cancel(self, task_id: str) -> TaskReport:
        local = self.find(task_id)
        with local.lock:
            local.inbox.clear()
            if local.status not in ENDED:
                local.is_stopped, local.status = True, "cancelled"
            if local.stop:
                local.stop()
        return local.report()

    def work(self, local: _Local) -> None:
        """Work on a task's messages, in a thread, until there are none left."""
        while (message := local.begin()) is not None:
            run_id, stop = local.run_id, threading.Event()
            local.stop = stop.set
            limit = threading.Timer(local.task.timeout_s or threading.TIMEOUT_MAX, self._time_is_up, (local, run_id, stop))
            limit.daemon = True
            limit.start()
            try:
                outcome: Any = _steps(local, message, stop)
            except BaseException as error:  # told as the task's error
                outcome = error
            limit.cancel()
            self._tell(local, local.end(run_id, outcome))

    async def awork(self, local: _Local) -> None:
        """The same on an event loop."""
        loop = local.loop = asyncio.get_running_loop()
        while (message := local.begin()) is not None:
            run_id = local.run_id
            round_ = loop.create_task(_around(local, message))
            local.stop = partial(_cancel_soon, loop, round_)
            try:
                outcome: Any = await round_
            except asyncio.CancelledError:
                local.is_stopped = True
                outcome = None
                if (current := asyncio.current_task()) is not None and current.cancelling():
                    local.inbox.clear()
            except GeneratorExit:  # its loop was closed, and whoever took the task over goes on
                raise
            except BaseException as error:
                outcome = error
            self._tell(local, local.end(run_id, outcome))

    def _time_is_up(self, local: _Local, run_id: str, stop: threading.Event) -> None:
        stop.set()
        self._tell(local, local.end(run_id, local.timed_out()))

    def _tell(self, local: _Local, report: TaskReport | None) -> None:
        if report is not None and local.task.notify_parent and self._ended:
            try:
                self._ended(local.task.task_id, local.task.agent_name, report)
            except Exception:  # the task takes further messages all the same
                _log.exception("notify failed for the background task %s", local.task.task_id)


class HostHere:
    """A `TaskHost` over `LocalTasks`, for one call of the parent's."""

    def __init__(self, tasks: LocalTasks, config: Mapping[str, Any], context: Any, conversation: str) -> None:
        self._tasks = tasks
        self._config = config
        self._context = context
        self._conversation = conversation

    def start(self, task: NewTask) -> TaskReport:
        local = self._tasks.add(task, self._config, self._context, self._conversation)
        if local is not None and self._tasks.send(local, task.task_id, task.description):
            self._in_thread(local)
        return self._tasks.report(task.task_id)

    async def astart(self, task: NewTask) -> TaskReport:
        local = self._tasks.add(task, self._config, self._context, self._conversation)
        if local is not None and self._tasks.send(local, task.task_id, task.description):
            self._on_loop(local)
        return self._tasks.report(task.task_id)

    def look(self, tasks: Sequence[AsyncTask], *, results: bool) -> dict[str, TaskReport]:
        return {task["task_id"]: self._tasks.report(task["task_id"]) for task in tasks}

    async def alook(self, tasks: Sequence[AsyncTask], *, results: bool) -> dict[str, TaskReport]:
        return self.look(tasks, results=results)

    def update(self, task: AsyncTask, message: str, run_id: str, strategy: UpdateStrategy) -> TaskReport:
        local = self._tasks.find(task["task_id"])
        if self._tasks.send(local, run_id, message, strategy):
            self._in_thread(local)
        return TaskReport("running", task["task_id"], run_id)

    async def aupdate(self, task: AsyncTask, message: str, run_id: str, strategy: UpdateStrategy) -> TaskReport:
        local = self._tasks.find(task["task_id"])
        if self._tasks.send(local, run_id, message, strategy):
            self._on_loop(local)
        return TaskReport("running", task["task_id"], run_id)

    def cancel(self, task: AsyncTask) -> TaskReport:
        return self._tasks.cancel(task["task_id"])

    async def acancel(self, task: AsyncTask) -> TaskReport:
        return self.cancel(task)

    # A fresh context: the task is no part of the parent's step, which will have ended.

    def _in_thread(self, local: _Local) -> None:
        name = f"background-{local.task.agent_name}"
        threading.Thread(target=contextvars.Context().run, args=(self._tasks.work, local), name=name, daemon=True).start()

    def _on_loop(self, local: _Local) -> None:
        working = asyncio.get_running_loop().create_task(self._tasks.awork(local), context=contextvars.Context())
        _WORKING.add(working)
        working.add_done_callback(_WORKING.discard)


_WORKING: set[asyncio.Task[None]] = set()
"""An event loop keeps only weak references to its tasks."""


def _cancel_soon(loop: asyncio.AbstractEventLoop, task: asyncio.Task[Any]) -> None:
    with suppress(RuntimeError):  # the loop was closed, so nothing runs on it
        loop.call_soon_threadsafe(task.cancel)


def _steps(local: _Local, message: str, stop: threading.Event) -> Mapping[str, Any]:
    """One round, step by step, so that it can be stopped between two of them."""
    agent, given, config = local.agent, {"messages": [HumanMessage(message)]}, _config(local)
    if not isinstance(agent, Pregel):
        return cast("Mapping[str, Any]", agent.invoke(given, config))
    final: Mapping[str, Any] = {}
    asked: Any = None
    for mode, chunk in agent.stream(given, config, context=local.context, stream_mode=["values", "updates"]):
        if mode == "values":
            final = cast("Mapping[str, Any]", chunk)
        asked = cast("Mapping[str, Any]", chunk).get("__interrupt__", asked)
        if stop.is_set():
            break
    return {**final, "__interrupt__": asked} if asked else final


async def _around(local: _Local, message: str) -> Mapping[str, Any]:
    agent, given, config = local.agent, {"messages": [HumanMessage(message)]}, _config(local)
    try:
        async with asyncio.timeout(local.task.timeout_s) as limit:
            if not isinstance(agent, Pregel):
                return cast("Mapping[str, Any]", await agent.ainvoke(given, config))
            return cast("Mapping[str, Any]", await agent.ainvoke(given, config, context=local.context))
    except TimeoutError:
        if not limit.expired():
            raise
        raise local.timed_out() from None


def _shared(task: NewTask, given: Mapping[str, Any]) -> SharedHere | None:
    """The budget that the task spends from: the parent's, or the one that the parent spends from, if it is a task itself."""
    if isinstance(around := given.get(SHARED), SharedHere):
        return around
    if task.budget is None:
        return None
    turn, spent = task.budget
    thread_id = str(given.get("thread_id", ""))
    SharedHere(thread_id).begin(turn, spent)
    return SharedHere(thread_id, turn=turn)


def _config(local: _Local) -> RunnableConfig:
    configurable = local.config["configurable"]
    if local.shared is not None:
        configurable = {**configurable, SHARED: replace(local.shared, run_id=local.run_id)}
    return {**local.config, "configurable": configurable, "callbacks": [local.meter]}
