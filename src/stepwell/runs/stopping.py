"""Stopping a run: its task is cancelled, the unfinished text is kept, calls without a result are closed.

What is stopped is user code: a factory that is still running, or a node that may not react. `stop_streaming` therefore waits only for a
moment, and leaves behind what does not end.

**The unfinished text** (`PartialText`) is written into the thread as a message marked as unfinished, so that it is neither lost nor
mistaken for a complete answer.

**Open calls** (`close_open_calls`). If an effect requires it (`must_keep_steps`), a run keeps its steps when it is rolled back (ADR 0011).
Each call without a result gets one in the thread at once, so that nobody sees it open: if the call's effect began, the result says what the
journal knows about the effect; all other calls get the same result as any stopped call. If this is not possible (a crash came first,
another task's interrupt is open in the same step, the state has no messages), the calls are closed when the thread continues.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid5

from langchain_core.messages import AIMessage
from langgraph.errors import InvalidUpdateError
from langgraph.pregel import Pregel
from langgraph.types import StateUpdate

from stepwell.errors import InfrastructureError
from stepwell.runs.streaming.progress import PartialMessage
from stepwell.tools.effect_journal import JOURNAL, EffectJournal, Standing, call_key

if TYPE_CHECKING:
    from langchain_core.messages import AnyMessage, ToolCall, ToolMessage


logger = logging.getLogger(__name__)

_STOP_S = 0.8
"""How long a graph may take to stop, since a cancelled run must end within a second."""
CANCELLED = "cancelled"
"""The `finish_reason` of a stopped answer."""
_MESSAGES = "messages"
_OWN_TASK = UUID("0b3c8c0e-5b8e-5d0b-9f0e-3a0d4c1f7b11")


@contextmanager
def ended_by(stop: asyncio.Future[Any], limit: asyncio.Timeout) -> Iterator[None]:
    """Let `stop` end the block that `limit` guards, as if its time were up."""

    def end(_: object) -> None:
        limit.reschedule(asyncio.get_running_loop().time())

    stop.add_done_callback(end)
    try:
        yield
    finally:
        stop.remove_done_callback(end)


async def stop_streaming(streaming: asyncio.Task[None]) -> None:
    """Cancel a task, and leave it behind if it does not end in time: the fence refuses its writes."""
    if not streaming.done():
        streaming.cancel()
        await asyncio.wait({streaming}, timeout=_STOP_S)
    if not streaming.done():
        logger.warning("a node did not stop in time and was left behind", extra={"task": streaming.get_name()})
        streaming.add_done_callback(_forget_late_error)
    elif not streaming.cancelled():
        streaming.exception()  # retrieved now, because the code that follows may fail before it does so


def _forget_late_error(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()):
        logger.info("a node that was left behind has ended", exc_info=error)


class PartialText:
    """Remembers the newest unfinished answer at the root of a graph."""

    def __init__(self) -> None:
        self._newest: PartialMessage | None = None

    def note(self, partial: PartialMessage) -> None:
        self._newest = partial

    async def keep(self, graph: Pregel[Any, Any, Any, Any], thread_id: str) -> Any | None:
        """Write the unfinished answer into the thread's messages. Returns the thread's values, or `None` if nothing was written."""
        partial = self._newest
        if partial is None or partial.done or not partial.text or _MESSAGES not in graph.channels:
            return None
        message = AIMessage(partial.text, id=partial.message_id, response_metadata={"finish_reason": CANCELLED})
        config: Any = {"configurable": {"thread_id": thread_id}}
        try:
            await graph.aupdate_state(config, {_MESSAGES: [message]}, as_node=partial.node)
        except InvalidUpdateError:
            # The state's `messages` are not a list of messages, so the text stays only in the run's events.
            logger.info("the text of a stopped answer does not fit the graph's state", exc_info=True)
            return None
        snapshot = await graph.aget_state(config)
        return snapshot.values


async def close_open_calls(graph: Pregel[Any, Any, Any, Any], thread_id: str, journal: EffectJournal) -> None:
    """Write a result for every call in the thread's messages that has none."""
    if _MESSAGES not in graph.channels:
        return
    try:
        await _close(graph, thread_id, journal)
    except InfrastructureError:
        raise
    except Exception:
        # Writing the results runs code of the user's graph, which decides what comes next. If that fails, the run is rolled back all the
        # same.
        logger.warning("the calls of a run that was rolled back will be closed later", exc_info=True)


async def _close(graph: Pregel[Any, Any, Any, Any], thread_id: str, journal: EffectJournal) -> None:
    # Work that the run submitted before it was stopped may still be on its way to disk.
    await asyncio.wrap_future(journal.barrier())
    latest = await graph.aget_state({"configurable": {"thread_id": thread_id}})
    # Read the checkpoint by its id, because otherwise LangGraph also shows what tasks of the interrupted step have written, which an update
    # drops.
    snapshot = await graph.aget_state(latest.config)
    stopped = set(snapshot.next)
    results = await _results(snapshot.values.get(_MESSAGES) or [], journal)
    if not results or len(stopped) != 1:
        return
    # The update gets its own task id. With the id of a task of the interrupted step, that task's own writes would replace the update.
    own_id = str(uuid5(_OWN_TASK, snapshot.config["configurable"]["checkpoint_id"]))
    update = StateUpdate({_MESSAGES: results}, as_node=stopped.pop(), task_id=own_id)
    # The update is made on this very checkpoint, because on a later one the same calls would be closed a second time.
    await graph.abulk_update_state(snapshot.config, [[update]])


async def _results(messages: list[AnyMessage], journal: EffectJournal) -> list[ToolMessage]:
    # Imported only now: an agent's middleware takes a third of a second to import, and a server starts without it.
    from stepwell.middleware.effects import result_of_effect
    from stepwell.middleware.patch_tool_calls import close_dangling

    _, closed = close_dangling(messages)
    left = {result.tool_call_id: result for result in closed}
    calls = _calls_by_key(messages, journal)
    begun = await asyncio.wrap_future(journal.look([key for key, call in calls.items() if call["id"] in left]))
    known: dict[str, Standing] = dict(begun)
    return [*(result_of_effect(calls[key], key, standing) for key, standing in known.items()), *_others(left, calls, known)]


def _calls_by_key(messages: list[AnyMessage], journal: EffectJournal) -> dict[str, ToolCall]:
    """Effect key -> call, for the calls in the root graph's messages. The root's steps have a namespace with one part, whose name does not
    matter."""
    root: Any = {"configurable": {"checkpoint_ns": "root", JOURNAL: journal}}
    return {
        call_key(root, message.id, call["id"] or ""): call
        for message in messages
        if message.type == "ai" and message.id is not None
        for call in message.tool_calls
    }


def _others(left: dict[str, ToolMessage], calls: dict[str, ToolCall], known: dict[str, Standing]) -> list[ToolMessage]:
    told = {calls[key]["id"] for key in known}
    return [result for call_id, result in left.items() if call_id not in told]
