"""Asks a model for a value of a given form: extraction, validation, and up to three attempts with the error fed back.

Every answer is recorded by its key before it is used. A node that runs again after a crash gets the answers that it got before, so the
same research continues instead of a new one, and nothing is paid for twice. A replay needs no model at all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from pydantic import BaseModel, ValidationError

from stepwell.errors import ModelAnswerError
from stepwell.models import capabilities_of
from stepwell.validation import describe_first_fault, extract_json

MAX_ATTEMPTS = 3
T = TypeVar("T", bound=BaseModel)


class ModelCalls(Protocol):
    """Stores model calls by key. Calls the model only for an unknown key."""

    async def call(self, key: str, role: str, messages: list[BaseMessage], model: BaseChatModel) -> str: ...


_WANTED = {"thinker": "plan", "auditor": "audit", "judge": "verdict"}
"""What a role is asked for, in a person's words."""


async def ask_for(
    form: type[T],
    *,
    model: BaseChatModel,
    calls: ModelCalls,
    key: str,
    role: str,
    system: str,
    user: str,
    check: Callable[[T], str | None] | None = None,
) -> T:
    """A value of `form`. `check` may object to a valid value; its sentence is then fed back like an error."""
    messages: list[BaseMessage] = [SystemMessage(system), HumanMessage(user)]
    complaint = ""
    for attempt in range(1, MAX_ATTEMPTS + 1):
        asked = _by_schema(model, form)
        text = await calls.call(f"{key}:{attempt}", role, messages, asked)
        try:
            value = form.model_validate(extract_json(text))
            complaint = (check(value) if check else None) or ""
        except ValidationError as error:
            complaint = describe_first_fault(error, "the answer")
        except ValueError as error:
            complaint = str(error)
        else:
            if not complaint:
                return value
        messages = [*messages[:2], HumanMessage(_again(text, complaint))]
    wanted = _WANTED.get(role, "answer")
    raise ModelAnswerError(
        f"The model gave no usable {wanted} in {MAX_ATTEMPTS} tries. What is wrong with the last one: {complaint}. "
        "Ask again, or choose another model."
    )


def _by_schema(model: BaseChatModel, form: type[BaseModel]) -> Any:
    """The model, constrained to the schema while it writes if it is too small to follow instructions."""
    return model if capabilities_of(model).writes else model.with_structured_output(form.model_json_schema())


def _again(text: str, complaint: str) -> str:
    return (
        f"Your last answer could not be used: {complaint}.\nIt began: {text[:500]}\n"
        "Answer again with the JSON object alone, corrected."
    )
