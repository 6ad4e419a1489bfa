"""A session with a graph in this process. Its threads live in memory: nothing is written to disk, and they end with the process.

LangChain's objects become JSON here, as on a server, so that all sessions yield the same format.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, MutableMapping
from contextlib import aclosing
from typing import Any
from uuid import uuid4

from stepwell.errors import NoActiveRunError, NotFoundError
from stepwell.state.steering import Steering
from stepwell.terminal.dialogue.session import OpenInterrupt, RunFailedError, StreamPart, SubAgentLine, TaskLine, ThreadLine
from stepwell.terminal.dialogue.stored_subagents import stored_messages, stored_subagents
from stepwell.tools.shared_spending import SHARED, WHOLE_THREAD, SharedHere

MODES = ("messages", "updates", "custom")


class GraphSession:
    """Runs a compiled graph that has a checkpointer."""

    def __init__(
        self,
        graph: Any,
        thread_id: str,
        titles: MutableMapping[str, str] | None = None,
        configurable: Mapping[str, Any] | None = None,
    ) -> None:
        self._graph = graph
        self._thread_id = thread_id
        self._config: Any = {"configurable": {"thread_id": thread_id}}
        self._titles = {} if titles is None else titles
        self._configurable = {} if configurable is None else configurable
        self._steering = Steering()
        self._driving = False

    @property
    def thread_id(self) -> str:
        return self._thread_id

    def send(self, input: Mapping[str, Any] | None, *, title: str = "") -> AsyncGenerator[StreamPart]:
        self._titles.setdefault(self._thread_id, title)
        return self._drive(None if input is None else dict(input))

    def answer(self, answers: Mapping[str, Any]) -> AsyncGenerator[StreamPart]:
        from langgraph.types import Command

        return self._drive(Command(resume=dict(answers)))

    async def follow(self) -> AsyncGenerator[StreamPart]:
        """Yields nothing: a run here ends when its reader stops, so there is never a run to follow."""
        nothing: tuple[StreamPart, ...] = ()
        for part in nothing:
            yield part

    async def stop(self) -> None:
        """Does nothing, because closing the stream has already ended the run."""

    async def values(self) -> Mapping[str, Any]:
        values: Mapping[str, Any] = _as_json((await self._state()).values)
        return values

    async def inputs(self) -> list[Mapping[str, Any]]:
        return []

    async def failure(self) -> RunFailedError | None:
        """None: the reader of a run's stream gets its exception, and it is not stored."""
        return None

    async def interrupts(self) -> tuple[OpenInterrupt, ...]:
        state = await self._state()
        return tuple(OpenInterrupt(each.id, _as_json(each.value), _schema_of(each)) for each in state.interrupts)

    async def tasks(self) -> list[TaskLine]:
        known = (await self.values()).get("async_tasks") or {}
        background = self._background()
        return [
            TaskLine(task_id, task["agent_name"], background.look(task_id).status if background else task["status"])
            for task_id, task in known.items()
        ]

    async def stop_task(self, task_id: str) -> None:
        background = self._background()
        if background is None or task_id not in ((await self.values()).get("async_tasks") or {}):
            raise NotFoundError("background task", task_id, "List them with /tasks.")
        background.stop(task_id)

    async def hear_tasks(self) -> AsyncGenerator[StreamPart]:
        """Nobody but us can start a run here, so we pass on what tasks have to say, each once."""
        values, background = await self.values(), self._background()
        said = {message.get("id") for message in values.get("messages") or ()}
        found = [background.wake_for(task_id) for task_id in values.get("async_tasks") or {}] if background else []
        news = [message for message in found if message is not None and message.id not in said]
        if news:
            async with aclosing(self._drive({"messages": news})) as parts:
                async for part in parts:
                    yield part

    def _background(self) -> Any:
        from stepwell.middleware.background.middleware import find_background  # as below: only with a graph in this process

        return find_background(self._graph)

    async def subagents(self) -> list[SubAgentLine]:
        return await stored_subagents(self._graph.checkpointer, self._thread_id)

    async def subagent_messages(self, task_id: str) -> list[Mapping[str, Any]]:
        return await stored_messages(self._graph.checkpointer, self._thread_id, task_id)

    async def claim(self, interrupt_id: str) -> None:
        """No claim is needed, because no other device can reach a thread in this process."""

    async def rewind(self, turn_id: str, *, dry_run: bool = False, force: bool = False) -> Mapping[str, Any]:
        from stepwell.agent.rewind import arewind  # imports LangChain, which a graph in this process has imported already

        config: Any = {"configurable": {**self._configurable, **self._config["configurable"]}}
        return await arewind(self._graph, config, turn_id, dry_run=dry_run, force=force)

    async def steer(self, text: str) -> None:
        if not self._driving:
            raise NoActiveRunError("The turn has ended.")
        self._steering.send(text)

    async def withdraw(self) -> list[str]:
        waiting = self._steering.waiting
        return [str(message.content) for message in waiting if self._steering.withdraw(message.id)]

    async def hear_steered(self) -> AsyncGenerator[StreamPart]:
        messages = (await self._state()).values.get("messages") or []
        left = self._steering.take_left(messages)
        if left:
            news = [{"role": "user", "content": message.content, "id": message.id} for message in left]
            async with aclosing(self._drive({"messages": news})) as parts:
                async for part in parts:
                    yield part

    async def aside(self, question: str) -> str:
        values = (await self._state()).values
        messages, spent = values.get("messages") or [], values.get("spending") or {}
        copied: dict[str, Any] = {**self._configurable, "thread_id": f"{self._thread_id}-aside", "side_question": True}
        if spent.get("turn") == WHOLE_THREAD:  # the question spends from the conversation's budget
            SharedHere(self._thread_id).begin(WHOLE_THREAD, spent)
            copied[SHARED] = SharedHere(self._thread_id, str(uuid4()), WHOLE_THREAD, is_aside=True)
        try:
            said = await self._graph.ainvoke({"messages": [*messages, ("user", question)]}, {"configurable": copied})
        finally:
            await self._graph.checkpointer.adelete_thread(copied["thread_id"])
        return str(said["messages"][-1].text)

    async def _state(self) -> Any:
        return await self._graph.aget_state(self._config)

    async def _drive(self, turn: Any) -> AsyncGenerator[StreamPart]:
        # Closed as soon as the reader stops (Ctrl-C), so that the run does not continue behind the prompt.
        config = self._steering.config(**self._configurable, **self._config["configurable"])
        self._driving = True
        try:
            async with aclosing(self._graph.astream(turn, config, stream_mode=list(MODES), subgraphs=True)) as stream:
                async for namespace, mode, chunk in stream:
                    yield StreamPart(mode, namespace, _as_json(chunk))
        finally:
            self._driving = False


class GraphConversations:
    """The threads of one graph that this process started."""

    def __init__(self, graph: Any, new_id: Callable[[], str] = lambda: str(uuid4())) -> None:
        self._graph = graph
        self._new_id = new_id
        self._titles: dict[str, str] = {}
        self.configurable: dict[str, Any] = {}

    def new(self) -> GraphSession:
        return GraphSession(self._graph, self._new_id(), self._titles, self.configurable)

    async def open(self, thread_id: str) -> GraphSession:
        if thread_id not in self._titles:
            raise NotFoundError("thread", thread_id, "List them with /threads.")
        return GraphSession(self._graph, thread_id, self._titles, self.configurable)

    async def newest(self) -> list[ThreadLine]:
        return [ThreadLine(thread_id, title) for thread_id, title in reversed(self._titles.items())]


def _schema_of(interrupt: Any) -> Mapping[str, Any] | None:
    """None also for a class, which only the graph itself can use."""
    schema = interrupt.response_schema
    return schema if isinstance(schema, Mapping) else None


def _as_json(value: Any) -> Any:
    import orjson

    from stepwell.state import wire  # imports LangChain, which a graph in this process has imported already

    return orjson.loads(wire.encode(value))
