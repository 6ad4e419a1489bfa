"""A question whose answer is checked before LangGraph keeps it.

LangGraph keeps whatever answers an `interrupt()`, the node fails on it, and fails again whenever the thread is resumed. Here the
interrupt carries the shape of its answer: LangGraph checks an answer first, lets calls that were answered beside it finish, and leaves
the interrupt open under the same id, in subagents too.

Rule to keep: a fault names what is wrong and what to send instead, and never repeats what was sent, which may hold a secret.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any

from langgraph.config import get_config
from langgraph.errors import is_invalid_resume
from langgraph.types import interrupt
from pydantic import PlainValidator, ValidationError, WithJsonSchema

from stepwell.errors import AnswerShapeError

Json = Mapping[str, Any]
FindFault = Callable[[Json, Any], str | None]
"""Question and answer -> what is wrong with the answer, as a sentence; None if nothing is."""

# LangGraph's names for what it hands to a node: the answers of this run by id, and the place where a bare one waits.
_ANSWERS_BY_ID, _SCRATCHPAD = "__pregel_resume_map", "__pregel_scratchpad"


def ask(question: Json, find_fault: FindFault, schema: Json) -> Any:
    """The answer to a question, once there is one that fits. `schema` says the same as `find_fault`, for clients that make a form of it.

    Raises:
        AnswerShapeError: For an answer that does not fit; the question goes on waiting.
    """

    def check(answer: Any) -> Any:
        if fault := find_fault(question, answer):
            raise ValueError(fault)
        return answer

    _drop_leftover_answer()
    shape: Any = Annotated[Mapping[str, Any], PlainValidator(check), WithJsonSchema(dict(schema))]
    try:
        return interrupt(question, response_schema=shape)
    except ValidationError as error:
        if not is_invalid_resume(error):
            raise
        raise _refusal(error) from error


def _drop_leftover_answer() -> None:
    """LangGraph stores a bare answer with the checkpoint, whether it was taken or refused, and gives it to whatever that checkpoint asks
    next: a subagent's second approval would be answered by its first. In a run whose answers are named it can only be a leftover."""
    inside = get_config()["configurable"]
    if inside.get(_ANSWERS_BY_ID) and _SCRATCHPAD in inside:
        inside[_SCRATCHPAD].get_null_resume(True)


def _refusal(error: ValidationError) -> AnswerShapeError:
    fault = str(error.errors(include_url=False, include_input=False)[0]["ctx"]["error"])
    refused = AnswerShapeError(f"{fault} The interrupt is still open.")
    # The mark by which LangGraph knows that it was the answer that failed, not the node: it goes on with what runs beside it.
    vars(refused).update(vars(error))
    return refused


def worded(value: Any) -> str:
    """The JSON type of a value, as a person says it."""
    if value is None:
        return "null"
    if isinstance(value, Mapping):
        return "an object"
    kinds: dict[type, str] = {
        bool: "true or false",
        str: "a text",
        int: "a number",
        float: "a number",
        list: "a list",
        tuple: "a list",
    }
    return kinds.get(type(value), f"a value of type {type(value).__name__}")
