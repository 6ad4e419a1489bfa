"""Side questions: one model call over a copy of a thread's messages. The thread stays as it is, also while a run works on it.

The call is a run of the same agent without a thread of its own, so limits, payments, connected models and usage apply as to any run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from stepwell.errors import InvalidRequestError, RunError, SideQuestionPausedError
from stepwell.runs.engine import Engine
from stepwell.runs.starting import RunOrder
from stepwell.runs.threads.operations import Threads
from stepwell.runs.threads.state import graph_of

SIDE_QUESTION = "side_question"
"""As in `middleware/side_questions`, which takes long to import."""
MAX_CHARS = 10_000


@dataclass(frozen=True)
class SideAnswer:
    answer: str
    run_id: str
    """The run that answered. Its thread is deleted soon."""


async def ask_aside(
    engine: Engine, threads: Threads, owner: str | None, thread_id: str, question: str, grants: object = None
) -> SideAnswer:
    """Answer a question about one of the owner's threads.

    Raises:
        InvalidRequestError: The question is empty or too long, or the thread is not a conversation with an agent.
        SideQuestionPausedError: The answer would need something from the user first, such as money.
        RunError: The model gave no answer.
    """
    if not question.strip() or len(question) > MAX_CHARS:
        raise InvalidRequestError(f"The question has {len(question)} characters. Send between 1 and {MAX_CHARS}.")
    thread = await threads.get(owner, thread_id, with_values=False)
    graph_id = graph_of(thread)
    if graph_id is None or not await engine.is_agent(thread.owner, graph_id):
        raise InvalidRequestError("This thread is not a conversation with an agent. Ask side questions on the thread of one.")
    values = (await threads.state(owner, thread_id)).get("values") or {}
    order = RunOrder(
        str(thread.metadata.get("assistant_id") or graph_id),
        input={"messages": [*_conversation(values), {"type": "human", "content": question}]},
        config={"configurable": {**await _configured(engine, owner, thread_id), SIDE_QUESTION: True}},
        metadata={"side_question_of": thread_id},
        counts_for=thread_id,
    )
    await engine.share_budget(thread_id)
    run = (await engine.start(owner, order, grants)).run
    result = orjson.loads(await engine.result(owner, run.thread_id, run.run_id))
    if "__error__" in result:
        raise RunError(f"The side question was not answered: {result['__error__'].get('message')}")
    if asked := result.get("__interrupt__"):
        raise SideQuestionPausedError(_say_paused(asked[0].get("value")))
    return SideAnswer(_text(result["messages"][-1].get("content")), run.run_id)


async def _configured(engine: Engine, owner: str | None, thread_id: str) -> Mapping[str, Any]:
    """The configuration of the thread's newest run: its model answers, and its payer pays."""
    newest = await engine.newest_run(owner, thread_id)
    return (newest.request.config.get("configurable") or {}) if newest else {}


def _say_paused(value: Any) -> str:
    why = value.get("message") if isinstance(value, Mapping) else None
    return f"The side question was not answered, because it needs something first: {why or 'an answer to a question'}"


def _conversation(values: Mapping[str, Any]) -> list[Any]:
    """The messages as the model last saw them: after a summary, only what follows it."""
    messages, summary = values.get("messages") or [], values.get("summary") or {}
    behind = next((place for place, each in enumerate(messages, 1) if each.get("id") == summary.get("until")), 0)
    if not behind or not summary.get("text"):
        return list(messages)
    said = {"type": "human", "content": f"Summary of our conversation so far:\n\n{summary['text']}"}
    return [said, *messages[behind:]]


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "".join(block.get("text", "") for block in content or () if isinstance(block, dict))
