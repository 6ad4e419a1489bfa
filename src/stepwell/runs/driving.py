"""What one attempt at a run passes to LangGraph: the input and the configuration. Pure functions, which get the traces of earlier attempts
as arguments.

A repeated attempt must not pass again what an earlier one has passed:

| the earlier attempt left | this one passes |
|---|---|
| a checkpoint of the root graph | nothing: LangGraph continues from there |
| an answer that a task has received, and no checkpoint | only the other answers |
| nothing | everything, as the first did |
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.runnables import RunnableConfig
from langgraph.types import Command, Send

from stepwell.database.persistence import RunTraces
from stepwell.database.types import Run
from stepwell.errors import InterruptAnsweredError
from stepwell.runs.run_config import describe_user


def make_input(run: Run, traces: RunTraces | None, tasks_of_interrupts: Mapping[str, str]) -> Any:
    """The graph's input: a state update, a command, or `None` to continue. `traces` is what earlier attempts left, if any."""
    request = run.request
    if traces and traces.checkpointed:
        return None
    resume = dict(request.resume or {})
    if traces:
        resume = {name: answer for name, answer in resume.items() if tasks_of_interrupts.get(name) not in traces.resumed_tasks}
    if resume or request.command:
        return _command(request.command or {}, resume)
    if request.resume:
        return None
    return request.input


def keep_open_answers(run: Run, tasks_of_interrupts: Mapping[str, str]) -> Run:
    """The run with only those answers whose interrupts are still waiting. If none is left, the run must not be driven, because LangGraph
    would continue with whatever comes next in the thread.

    Raises:
        InterruptAnsweredError: A message sent before the answers has taken the thread past all of their interrupts.
    """
    answers = run.request.resume or {}
    wanted = {name: answer for name, answer in answers.items() if name in tasks_of_interrupts}
    if answers and not wanted:
        raise InterruptAnsweredError(
            f"The question '{next(iter(answers))}' is no longer asked: a message sent before the answer took the thread on "
            "without it. Read the thread's state for what is open now.",
            tuple(answers),
        )
    return replace(run, request=replace(run.request, resume=wanted))


def _command(parts: Mapping[str, Any], resume: Mapping[str, Any]) -> Command[Any]:
    goto = parts.get("goto") or ()
    targets = goto if isinstance(goto, list | tuple) else [goto]
    return Command(
        resume=dict(resume) if resume else None,
        update=_update(parts.get("update")),
        goto=[Send(target["node"], target.get("input")) if isinstance(target, Mapping) else target for target in targets],
    )


def _update(update: Any) -> Any:
    # LangGraph accepts a list of pairs as well as an object; JSON has no pairs, only lists of two.
    return [tuple(pair) for pair in update] if isinstance(update, list) else update


def make_config(
    run: Run,
    *,
    given: Mapping[str, Any],
    callbacks: Sequence[BaseCallbackHandler] = (),
    checkpoint: Mapping[str, Any] | None = None,
) -> RunnableConfig:
    """The configuration of an attempt: the caller's, overridden by what only we may set. `given` holds the objects the run works with,
    under names that no caller can set."""
    request = run.request
    names = {
        "thread_id": run.thread_id,
        "run_id": run.run_id,
        "assistant_id": request.assistant_id,
        "graph_id": request.graph_id,
    }
    config: RunnableConfig = {
        "configurable": {
            **request.config.get("configurable", {}),
            **names,
            **describe_user(run.owner, request.user),
            **(checkpoint or {}),
            **given,
        },
        "metadata": {**request.config.get("metadata", {}), **run.metadata, **names, "run_attempt": run.attempt},
        "callbacks": list(callbacks),
        "run_id": _trace_id(run),
    }
    for name in ("tags", "recursion_limit", "max_concurrency", "run_name"):
        if name in request.config:
            config[name] = request.config[name]
    return config


def _trace_id(run: Run) -> uuid.UUID:
    # Each attempt is a separate trace, with the run's id in its metadata. The first has the run's own id, which clients look for in
    # stream events and give feedback on.
    run_id = uuid.UUID(run.run_id)
    return run_id if run.attempt == 1 else uuid.uuid5(run_id, str(run.attempt))


def checkpoint_asked_for(run: Run) -> dict[str, Any] | None:
    """The checkpoint to go back to. If the caller only meant to continue, the queue has removed the checkpoint from the request."""
    asked = run.request.checkpoint
    if not asked or not asked.get("checkpoint_id"):
        return None
    return {
        "checkpoint_id": asked["checkpoint_id"],
        "checkpoint_ns": asked.get("checkpoint_ns") or "",
        **({"checkpoint_map": asked["checkpoint_map"]} if asked.get("checkpoint_map") else {}),
    }
