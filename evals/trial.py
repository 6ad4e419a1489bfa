"""One trial: a fresh agent does a task within its budget, and the task's check looks at what it did.

What the model does wrong is a failed trial. What is wrong with the way to the model (a key, a network) is no result at all: it is
raised, and ends the evaluation.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver

from evals.outcome import Outcome
from evals.task import Task
from stepwell import create_deep_agent
from stepwell.errors import ModelAnswerError
from stepwell.middleware.budget import BudgetMiddleware
from stepwell.middleware.robust_calls import RobustCallsMiddleware

GRACE_S = 120.0
"""A budget does not cut a call that is under way; this long after its seconds a trial is ended from outside."""
_NEVER_REACHED = 10_000
"""LangGraph's own limit of steps, out of the way: the budget ends a trial."""


@dataclass(frozen=True)
class Trial:
    """How it went, and what it cost."""

    faults: tuple[str, ...]
    model_calls: int
    tokens: int
    seconds: float

    @property
    def passed(self) -> bool:
        return not self.faults


async def run_trial(
    task: Task, model: BaseChatModel, *, monotonic: Callable[[], float] = time.monotonic, grace_s: float = GRACE_S
) -> Trial:
    """Let an agent do the task once: one with default settings, if the task has none of its own."""
    limits = task.ceiling
    budget = BudgetMiddleware(max_tokens=limits.tokens, max_model_calls=limits.model_calls, max_seconds=limits.seconds)
    agent = task.agent(model, budget) if task.agent else _usual_agent(task, model, budget)
    config: RunnableConfig = {"configurable": {"thread_id": "trial"}, "recursion_limit": _NEVER_REACHED}
    started = monotonic()
    ended = await _drive(agent, task, config, grace_s)
    seconds = monotonic() - started
    values = (await agent.aget_state(config)).values
    spent = values.get("spending") or {}
    faults = (ended,) if ended else _faults(task, values)
    return Trial(faults, spent.get("calls", 0), spent.get("tokens", 0), seconds)


def _usual_agent(task: Task, model: BaseChatModel, budget: BudgetMiddleware) -> Any:
    return create_deep_agent(
        model, list(task.tools), middleware=[budget, RobustCallsMiddleware()], checkpointer=InMemorySaver()
    )


async def _drive(agent: Any, task: Task, config: RunnableConfig, grace_s: float) -> str | None:
    """Run to the end; the fault if the model did not get there."""
    given = {"messages": [("user", task.request)], "files": dict(task.files)}
    try:
        async with asyncio.timeout(task.ceiling.seconds + grace_s):
            await agent.ainvoke(given, config)
    except TimeoutError:
        return "took far longer than its budget of time"
    except ModelAnswerError as error:
        return f"gave no usable answer ({type(error).__name__})"
    return None


def _faults(task: Task, values: Mapping[str, Any]) -> tuple[str, ...]:
    messages = values.get("messages") or []
    last = messages[-1] if messages else None
    if isinstance(last, AIMessage) and last.response_metadata.get("finish_reason") == "budget":
        return ("stopped at the ceiling of its budget",)
    after = {path: "\n".join(file["content"]) for path, file in (values.get("files") or {}).items() if file is not None}
    outcome = Outcome(messages, task.files, after, values.get("todos") or ())
    return tuple(task.check(outcome))
