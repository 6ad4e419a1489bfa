"""`rewind`: files and conversation of a thread go back together to where a turn began."""

from __future__ import annotations

from typing import Any, Literal

from langchain_core.runnables import RunnableConfig
from langgraph.graph.state import CompiledStateGraph

from stepwell.backends.steps import arun_steps, run_steps
from stepwell.errors import RewindConflictError, RewindError
from stepwell.middleware.rewind.looking import Looking, RewindPlan, config_of, plan_rewind
from stepwell.middleware.rewind.middleware import CHANNEL, require_rewind
from stepwell.middleware.rewind.reports import RewindReport
from stepwell.tools.rewind.journal import REWINDS

COPY = "__copy__"
"""LangGraph's name for an update that makes an earlier checkpoint the newest one."""

DURABLE: Literal["sync"] = "sync"
"""The order to go back is stored before the first file changes, so that a kill in between is made good by the next run."""

Agent = CompiledStateGraph[Any, Any, Any, Any]


def rewind(
    agent: Agent, config: RunnableConfig, turn_id: str, *, dry_run: bool = False, force: bool = False, context: Any = None
) -> RewindReport:
    """Take back a turn and everything after it: the conversation, the files in the thread, and those in the agent's backends.

    Args:
        agent: An agent with `RewindMiddleware` and a checkpointer.
        config: The thread: `{"configurable": {"thread_id": ...}}`.
        turn_id: The id of the user's message that began the turn, or `rewind_id` of an earlier report to undo that rewind.
        dry_run: Only say what would happen.
        force: Go back even if somebody else has changed a file since. Undoing the rewind brings such a change back.
        context: The run's context, for backends that depend on it.

    Returns:
        What was done. If `can_rewind` is false, the conversation is as it was, and `problem` says why. So are the files, unless one
        could not be written: then `rewind_id` brings back those that were changed before it.

    Raises:
        RewindError: There is no such turn, or its history is not kept any more.
        InvalidRequestError: `turn_id` is not the id of anything.
    """
    require_rewind(agent)
    thread = config_of(config)
    looking = Looking.at(agent, thread, context)
    found = run_steps(plan_rewind(thread, turn_id, force=force), looking.perform)
    if dry_run or not found.report["can_rewind"]:
        return found.report
    try:
        done = agent.invoke({CHANNEL: found.order}, _start(thread, found), context=context, durability=DURABLE)
    except RewindError as error:
        agent.update_state(_at(thread, found.order["head"]), None, as_node=COPY)
        return _refused(found, error)
    return _report(found, done)


async def arewind(
    agent: Agent, config: RunnableConfig, turn_id: str, *, dry_run: bool = False, force: bool = False, context: Any = None
) -> RewindReport:
    """`rewind` for async code."""
    require_rewind(agent)
    thread = config_of(config)
    looking = Looking.at(agent, thread, context)
    found = await arun_steps(plan_rewind(thread, turn_id, force=force), looking.aperform)
    if dry_run or not found.report["can_rewind"]:
        return found.report
    try:
        done = await agent.ainvoke({CHANNEL: found.order}, _start(thread, found), context=context, durability=DURABLE)
    except RewindError as error:
        await agent.aupdate_state(_at(thread, found.order["head"]), None, as_node=COPY)
        return _refused(found, error)
    return _report(found, done)


def _start(thread: RunnableConfig, found: RewindPlan) -> RunnableConfig:
    """Where the run begins that carries out the order, which it alone may bring."""
    at = _at(thread, found.checkpoint_id)
    return {**at, "configurable": {**at["configurable"], REWINDS: True}}


def _at(thread: RunnableConfig, checkpoint_id: str) -> RunnableConfig:
    return {**thread, "configurable": {**thread["configurable"], "checkpoint_id": checkpoint_id}}


def _refused(found: RewindPlan, error: RewindError) -> RewindReport:
    """A file was changed between our look and the run, or could not be written. Then some files may be back already."""
    rewind_id = None if isinstance(error, RewindConflictError) else found.order["rewind_id"]
    return {**found.report, "can_rewind": False, "problem": str(error), "rewind_id": rewind_id}


def _report(found: RewindPlan, done: Any) -> RewindReport:
    """What was done, with what went back with the checkpoint."""
    return {**found.report, "rewind_id": done[CHANNEL]["rewind_id"]}
