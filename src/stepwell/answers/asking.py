"""Asks a question until there is an answer that fits. `ask` checks an answer before LangGraph stores it, and rejects an invalid one.
`ask_again` takes any answer; if it cannot read the answer, it asks again and says what was wrong.

LangGraph stores any answer to an `interrupt()`; if the node fails on that answer, it fails again whenever the thread is resumed. Our
interrupts carry the shape of their answer, so LangGraph checks an answer first. If it is invalid, LangGraph lets the calls that were
answered at the same time finish, and leaves the interrupt open under the same id, in subagents too.

**Whose question it is.** A user's graph may ask anything, even in the same words as ours. So our questions are marked: their schema,
which travels with the interrupt through checkpoints, streams and our tables, names their kind under `ANSWER_KIND`. The question that
clients see is unchanged. Our rules (`shapes`) apply only to marked questions.

Rule to keep: an error says what is wrong and what to send instead, and never repeats what was sent, which may contain a secret.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, TypeVar

from langgraph.config import get_config
from langgraph.errors import is_invalid_resume
from langgraph.types import interrupt
from pydantic import PlainValidator, ValidationError, WithJsonSchema

from stepwell.errors import AnswerShapeError

Json = Mapping[str, Any]
Answer = TypeVar("Answer")
FindFault = Callable[[Json, Any], str | None]
"""Takes question and answer; returns what is wrong with the answer, as a sentence, or None."""

ACTION_REQUESTS = "action_requests"
"""The kind of LangChain's approvals: they have no `type`, so we recognise them by this field."""
ANSWER_KIND = "x-stepwell-answer"
"""The keyword with which a schema says that the question is ours, and what kind it is. Validators ignore this keyword."""
ANSWER_WORDS = "x-stepwell-words"
"""The keyword with which a schema says which of the words yes and no are an answer; without it, both are."""

# LangGraph's keys in a node's config: the answers of this run by id, and the place where an answer without an id waits.
_ANSWERS_BY_ID, _SCRATCHPAD = "__pregel_resume_map", "__pregel_scratchpad"


def ask(question: Json, find_fault: FindFault, schema: Json) -> Any:
    """The answer to a question, once there is a valid one. `schema` says the same as `find_fault`, for clients that build a form from it.

    Raises:
        AnswerShapeError: For an invalid answer; the question stays open.
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


def ask_again(question: Json, read: Callable[[Any], Answer], describe: Callable[[ValueError], str], schema: Json) -> Answer:
    """The answer as `read` returns it. If `read` raises a `ValueError`, the question is asked again, and its `problem` is what `describe`
    says about the error."""
    asked = question
    while True:
        _drop_leftover_answer()
        answer = interrupt(asked, response_schema=mark_schema(asked, schema))
        try:
            return read(answer)
        except ValueError as error:
            asked = {**question, "problem": describe(error)}


def mark_schema(question: Json, schema: Json) -> dict[str, Any]:
    """The schema of one of our questions, with the mark that says it is ours."""
    return {**schema, ANSWER_KIND: kind_of(question)}


def kind_of(question: Any) -> str:
    """The kind that a question claims to be; empty if none."""
    if not isinstance(question, Mapping):
        return ""
    kind = question.get("type")
    return kind if isinstance(kind, str) else ACTION_REQUESTS if isinstance(question.get(ACTION_REQUESTS), list) else ""


def is_ours(question: Any, schema: Any) -> bool:
    """Whether the question comes from one of our own graphs or capabilities."""
    kind = kind_of(question)
    return bool(kind) and isinstance(schema, Mapping) and schema.get(ANSWER_KIND) == kind


def _drop_leftover_answer() -> None:
    """LangGraph stores an answer without an id with the checkpoint, even if it was rejected, and gives it to the next question of that
    checkpoint, so a subagent's first approval would also answer its second. If this run's answers have ids, a stored answer without
    one can only be a leftover."""
    inside = get_config()["configurable"]
    if inside.get(_ANSWERS_BY_ID) and _SCRATCHPAD in inside:
        inside[_SCRATCHPAD].get_null_resume(True)


def _refusal(error: ValidationError) -> AnswerShapeError:
    fault = str(error.errors(include_url=False, include_input=False)[0]["ctx"]["error"])
    refused = AnswerShapeError(f"{fault} The interrupt is still open.")
    # This mark tells LangGraph that the answer failed and not the node, so LangGraph continues what runs in parallel.
    vars(refused).update(vars(error))
    return refused


def worded(value: Any) -> str:
    """The JSON type of a value, in words."""
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
