"""Lets the agent ask its user a question: `ask_user` for answers in words, `ask_choices` with options.

Each question is one interrupt (`answers.clarification`), in a subagent too. An agent has at most one open question: if a model asks
several at once, the first is asked and the others return errors that say so.
"""

from __future__ import annotations

from typing import Annotated, Any

from langchain.tools import ToolRuntime
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import BaseTool, StructuredTool
from pydantic import BaseModel, Field

from stepwell.answers.clarification import ASK_CHOICES, ASK_USER, Choice, ask_choices, ask_user
from stepwell.middleware.own_words import refuse
from stepwell.middleware.prompts import load_prompt
from stepwell.middleware.request import RequestMiddleware
from stepwell.tools.effects import with_effect

MAX_OPTIONS = 20
USER_WORDS = "user_words"
"""The key in a result's `additional_kwargs` for what the person wrote, without what the agent asked and offered."""
USER_CHOICE = "user_choice"
"""The key for the ids of the options that the person chose."""


class Option(BaseModel):
    id: Annotated[str, Field(min_length=1, max_length=100)]
    label: Annotated[str, Field(min_length=1, max_length=500)]


class AskUserArgs(BaseModel):
    question: str


class AskChoicesArgs(BaseModel):
    question: str
    options: list[Option | str] = Field(description="2 to 20 texts, or objects with id and label")
    allow_multiple: bool = Field(False, description="several may be chosen")
    allow_freeform: bool = Field(True, description="the user may answer in their own words")


class ClarifyWithHumanMiddleware(RequestMiddleware):
    """Offers `ask_user` and `ask_choices`. `system_prompt` replaces the section that says when to ask, and when not."""

    def __init__(self, *, system_prompt: str | None = None) -> None:
        super().__init__()
        self.prompt = load_prompt("clarify") if system_prompt is None else system_prompt
        self.tools: list[BaseTool] = [
            StructuredTool(
                name=ASK_USER,
                description="Ask the user one question, answered in their own words.",
                func=_ask_user,
                coroutine=_aask_user,
                args_schema=AskUserArgs,
            ),
            StructuredTool(
                name=ASK_CHOICES,
                description="Ask the user one question with options to choose from.",
                func=_ask_choices,
                coroutine=_aask_choices,
                args_schema=AskChoicesArgs,
            ),
        ]


@with_effect("read")
def _ask_user(runtime: ToolRuntime, question: str) -> ToolMessage:
    if problem := _question_problem(runtime, question):
        return _refuse(runtime, ASK_USER, problem)
    answer = ask_user(question.strip(), tool_call_id=runtime.tool_call_id or "")
    return _message(runtime, ASK_USER, f"The user answers: {answer}", words=answer)


async def _aask_user(runtime: ToolRuntime, question: str) -> ToolMessage:
    return _ask_user(runtime, question)


@with_effect("read")
def _ask_choices(
    runtime: ToolRuntime, question: str, options: list[Any], allow_multiple: bool = False, allow_freeform: bool = True
) -> ToolMessage:
    offered = _read_options(options)
    if problem := _question_problem(runtime, question) or _options_problem(offered):
        return _refuse(runtime, ASK_CHOICES, problem)
    chosen = ask_choices(
        question.strip(),
        [{"id": name, "label": label} for name, label in offered],
        allow_multiple=allow_multiple,
        allow_freeform=allow_freeform,
        tool_call_id=runtime.tool_call_id or "",
    )
    return _message(runtime, ASK_CHOICES, _say_choice(chosen, dict(offered)), chosen.freeform or "", chosen.selected)


async def _aask_choices(
    runtime: ToolRuntime, question: str, options: list[Any], allow_multiple: bool = False, allow_freeform: bool = True
) -> ToolMessage:
    return _ask_choices(runtime, question, options, allow_multiple, allow_freeform)


# The annotations are classes, not names: LangChain resolves them for every new agent, and resolving a name costs more.
_ask_user.__annotations__ = _aask_user.__annotations__ = {"runtime": ToolRuntime, "question": str}
_ask_choices.__annotations__ = _aask_choices.__annotations__ = {"runtime": ToolRuntime, "question": str, "options": list}


def _message(runtime: ToolRuntime, name: str, text: str, words: str, chosen: list[str] | None = None) -> ToolMessage:
    said = {USER_WORDS: words, **({USER_CHOICE: chosen} if chosen else {})}
    return ToolMessage(text, name=name, tool_call_id=runtime.tool_call_id or "", additional_kwargs=said)


def _refuse(runtime: ToolRuntime, name: str, problem: str) -> ToolMessage:
    return refuse({"name": name, "args": {}, "id": runtime.tool_call_id, "type": "tool_call"}, problem)


def _question_problem(runtime: ToolRuntime, question: str) -> str | None:
    if not question.strip():
        return "Error: the question is empty. Say in a sentence what you want to know."
    message = next((each for each in reversed(runtime.state.get("messages", [])) if isinstance(each, AIMessage)), None)
    asking = [call["id"] for call in message.tool_calls if call["name"] in (ASK_USER, ASK_CHOICES)] if message else []
    if asking and asking[0] != runtime.tool_call_id:
        return (
            "Error: only one question can be open at a time, and another one of this turn was asked. Wait for its answer, then ask "
            "this one if it is still needed."
        )
    return None


def _read_options(options: list[Any]) -> list[tuple[str, str]]:
    """The id and label of each option, in the order given."""
    return [
        (each.strip(), each.strip()) if isinstance(each, str) else (_field(each, "id"), _field(each, "label"))
        for each in options
    ]


def _options_problem(offered: list[tuple[str, str]]) -> str | None:
    if not 2 <= len(offered) <= MAX_OPTIONS:
        return f"Error: {len(offered)} options. Offer 2 to {MAX_OPTIONS}, or ask an open question with ask_user."
    if len(dict(offered)) < len(offered) or not all(name for name, _ in offered):
        return "Error: two options are the same, or one is empty. Give every option a text or an id of its own."
    return None


def _field(option: Any, name: str) -> str:
    return str(option[name] if isinstance(option, dict) else getattr(option, name)).strip()


def _say_choice(chosen: Choice, offered: dict[str, str]) -> str:
    labels = [name if offered[name] == name else f"{offered[name]} ({name})" for name in chosen.selected]
    parts = [f"The user chose: {', '.join(labels)}."] if labels else []
    parts += [f"The user writes: {chosen.freeform}"] if chosen.freeform else []
    return " ".join(parts)
