"""An agent with background subagents, which does what its user writes: `start`, `twice`, `hasty`, `question`, `cancel`, `update`,
`updates`, `check`."""

from __future__ import annotations

import asyncio
import re
from typing import Any

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool

from stepwell import BudgetMiddleware, create_deep_agent
from stepwell.middleware.background.tools import MAX_TASKS
from stepwell.middleware.steering import STEERED
from stepwell.testing import Asked, ScriptedModel, call, calls, say
from stepwell.tools.effects import with_effect

RELEASED: set[str] = set()
"""Words whose waiting has an end; the tests add to it."""
ASKED: list[str] = []
"""The agent of each model call."""


@tool
async def wait_for(word: str) -> str:
    """Wait for a word."""
    while word not in RELEASED:  # noqa: ASYNC110 - the tests add to it from other loops
        await asyncio.sleep(0.01)
    return f"{word} came"


@tool
def change(what: str) -> str:
    """Change something."""
    return f"changed {what}"


@tool
@with_effect("read")
def configured(config: RunnableConfig) -> str:
    """Tell how the run is configured."""
    configurable = config["configurable"]
    return f"{configurable.get('colour')} in {configurable.get('permission_mode')}"


def _start(description: str, agent: str = "researcher") -> Any:
    return call("start_async_task", description=description, subagent_type=agent)


def _update(known: list[str], message: str) -> Any:
    return call("update_async_task", task_id=known[-1], message=message)


def _main(asked: Asked) -> Any:
    last = asked.messages[-1]
    known = re.findall(r"task_id: (\S+)", "\n".join(message.text for message in asked.messages if message.type == "tool"))
    if last.type == "tool":
        asking = next(message for message in reversed(asked.messages) if message.type == "human")
        if asking.text == "hasty" and "Launched" in last.text:
            return _update(known, "two")
        return say(f"done: {last.text}")
    words = last.text.split()
    if "Background" in words[:1] and "writing" in last.text:
        return call("write_file", file_path="/parent.md", content="written")
    if "Background" in words[:1]:
        return say(f"heard of {words[2]}")
    match words:
        case ["hasty"]:
            return _start("one")
        case ["start", *rest]:
            return _start(" ".join(rest) or "answer")
        case ["five", word]:
            return calls(*(_start(f"steps {word}{number}") for number in range(5)))
        case ["twice"]:
            return calls(_start("answer one"), _start("answer two"))
        case ["many"]:
            return calls(*[_start("wait many") for _ in range(MAX_TASKS + 3)])
        case ["served"]:
            return _start("answer", "other")
        case ["nest"]:
            return _start("start", "nest")
        case ["delegate"]:
            return call("task", description="start", subagent_type="foreman")
        case ["question"]:
            return call("change", what="the parent's")
        case ["check"]:
            return call("check_async_task", task_id=known[-1])
        case ["cancel"]:
            return call("cancel_async_task", task_id=known[-1])
        case ["update", *rest]:
            return _update(known, " ".join(rest))
        case ["updates", *rest]:
            return calls(*(_update(known, word) for word in rest))
    return say("what?")


def _researcher(asked: Asked) -> Any:
    last, first = asked.messages[-1], asked.messages[0].text
    if first.startswith("steps ") and sum(1 for message in asked.messages if message.type == "tool") < 4:
        return call("wait_for", word=first.split()[1])
    if last.type == "tool":
        return say(f"found: {last.text}")
    match last.text.split():
        case ["wait", word]:
            return call("wait_for", word=word)
        case ["change"]:
            return call("change", what="the task's")
        case ["write"]:
            return call("write_file", file_path="/task.md", content="written")
        case ["configured"]:
            return call("configured")
        case ["refuse"] if last.additional_kwargs.get(STEERED):
            raise ValueError("it came at the wrong moment")
        case ["fail"]:
            raise ValueError("it cannot be done")
    return say(f"answer to: {last.text}")


def _answer(asked: Asked) -> Any:
    ASKED.append(asked.agent or "")
    return _researcher(asked) if asked.agent == "researcher" else _main(asked)


RESEARCHER: Any = {
    "name": "researcher",
    "description": "looks things up",
    "system_prompt": "You look things up.",
    "mode": "background",
    "timeout_s": 600,
}


def parent() -> Any:
    return create_deep_agent(
        ScriptedModel.answering(_answer, usage=(10, 1)),
        [wait_for, change, configured],
        subagents=[RESEARCHER, {"name": "other", "description": "another graph", "graph_id": "other"}],
        interrupt_on={"change": True},
    )


def nesting() -> Any:
    """Its `nest` and its `foreman` have a `researcher` of their own."""
    inner = ScriptedModel.answering(lambda asked: say("from the inner researcher"))
    nest = create_deep_agent(ScriptedModel.answering(_main), subagents=[{**RESEARCHER, "model": inner}], name="nest")
    return create_deep_agent(
        ScriptedModel.answering(_answer),
        subagents=[
            RESEARCHER,
            {"name": "nest", "description": "has helpers", "runnable": nest, "mode": "background"},
            {"name": "foreman", "description": "has helpers", "runnable": nest},
        ],
    )


def hurried() -> Any:
    return create_deep_agent(
        ScriptedModel.answering(_answer, usage=(10, 1)), [wait_for], subagents=[{**RESEARCHER, "timeout_s": 0.3}]
    )


def silent() -> Any:
    return create_deep_agent(
        ScriptedModel.answering(_answer, usage=(10, 1)), [wait_for], subagents=[{**RESEARCHER, "notify_parent": False}]
    )


def thrifty() -> Any:
    return create_deep_agent(
        ScriptedModel.answering(_answer, usage=(10, 1)),
        [wait_for],
        subagents=[RESEARCHER],
        middleware=[BudgetMiddleware(max_model_calls=3)],
    )


def few_calls() -> Any:
    return _limited(BudgetMiddleware(max_model_calls=8))


def few_tokens() -> Any:
    return _limited(BudgetMiddleware(max_tokens=88))


def few_in_all() -> Any:
    return _limited(BudgetMiddleware(max_model_calls=8, per="thread"))


def _limited(budget: BudgetMiddleware) -> Any:
    model = ScriptedModel.answering(_answer, usage=(10, 1))
    return create_deep_agent(model, [wait_for], subagents=[RESEARCHER], middleware=[budget])


def other() -> Any:
    return create_deep_agent(ScriptedModel.answering(lambda asked: say("from another graph")), name="other")
