"""A question whose answer is checked before LangGraph keeps it.

LangGraph keeps whatever answers an `interrupt()`, the node fails on it, and fails again whenever the thread is resumed. Here the
interrupt carries the shape of its answer: LangGraph checks an answer first, lets calls that were answered beside it finish, and leaves
the interrupt open under the same id, in subagents too.

**Whose question it is.** A graph of the user's may ask anything, also in words that we use. So our questions are marked: their schema,
which travels with the interrupt through checkpoints, streams and our tables, names their kind under `ANSWER_KIND`. What clients see of
the question itself stays as it is. Only a marked question is held to one of our rules (`shapes`).

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

ACTION_REQUESTS = "action_requests"
"""The kind of LangChain's approvals, which have no `type`: the field that they are known by."""
ANSWER_KIND = "x-stepwell-answer"
"""The keyword by which a schema says that the question is ours, and of which kind. Validators ignore it."""

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
    shape: Any = Annotated[Mapping[str, Any], PlainValidator(check), WithJsonSchema(mark_schema(question, schema))]
    try:
        return interrupt(question, response_schema=shape)
    except ValidationError as error:
        if not is_invalid_resume(error):
            raise
        raise _refusal(error) from error


def mark_schema(question: Json, schema: Json) -> dict[str, Any]:
    """The schema of a question that is ours. Whoever would rather ask again than refuse an answer passes it to `interrupt()` itself."""
    return {**schema, ANSWER_KIND: kind_of(question)}


def kind_of(question: Any) -> str:
    """What a question says of itself; empty if nothing."""
    if not isinstance(question, Mapping):
        return ""
    kind = question.get("type")
    return kind if isinstance(kind, str) else ACTION_REQUESTS if isinstance(question.get(ACTION_REQUESTS), list) else ""


def is_ours(question: Any, schema: Any) -> bool:
    """Whether one of our own graphs or capabilities asks."""
    kind = kind_of(question)
    return bool(kind) and isinstance(schema, Mapping) and schema.get(ANSWER_KIND) == kind


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
