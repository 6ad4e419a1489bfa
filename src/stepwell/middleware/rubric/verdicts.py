"""What a grader says about an answer, and what is stored of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NotRequired

from langchain_core.messages import AIMessage, AnyMessage
from pydantic import BaseModel, Discriminator, Field, model_validator
from typing_extensions import TypedDict

GraderVerdict = Literal["satisfied", "needs_revision", "failed"]
RubricResult = GraderVerdict | Literal["max_iterations_reached", "grader_error"]
"""How a check of an answer ended.

| result | meaning | then |
|---|---|---|
| `satisfied` | every criterion is met | the agent is done |
| `needs_revision` | at least one is not | the agent goes on, and reads why |
| `max_iterations_reached` | the same, for the last time | the agent is done; what is missing is said |
| `failed` | the rubric cannot be judged | the agent is done |
| `grader_error` | a grader broke | the agent is done; its answer was not checked |
"""

ENDED = frozenset({"satisfied", "max_iterations_reached", "failed", "grader_error"})


class CriterionPass(TypedDict):
    name: str
    passed: Literal[True]


class CriterionFail(TypedDict):
    name: str
    passed: Literal[False]
    gap: str


CriterionEval = Annotated[CriterionPass | CriterionFail, Discriminator("passed")]


class Criterion(TypedDict):
    """One criterion of an evaluation."""

    name: str
    passed: bool
    by: Literal["code", "model"]
    gap: NotRequired[str]
    """Why it is not met."""
    broken: NotRequired[bool]
    """The grader itself broke, so nobody knows whether it is met."""


class RubricEvaluation(TypedDict):
    """One check of one answer."""

    grading_run_id: str
    """The same for all checks that belong together: those of one rubric and one message of the user."""
    iteration: int
    """Counts from 0 within a grading run."""
    result: RubricResult
    explanation: str
    criteria: list[Criterion]
    message_id: str
    """The answer that was checked."""


class GraderResponse(BaseModel):
    """The judgement of a model."""

    result: GraderVerdict = Field(
        description="'satisfied' if every criterion is met, 'needs_revision' if one is not, 'failed' if the rubric cannot be judged."
    )
    explanation: str = Field(description="One or two sentences. The agent reads them if it has to go on.")
    criteria: list[CriterionEval] = Field(
        default_factory=list, description="Every criterion once: `passed`, and a `gap` if it is not met."
    )

    @model_validator(mode="after")
    def _agree(self) -> GraderResponse:
        is_missing = any(not each["passed"] for each in self.criteria)
        if self.result == "satisfied" and is_missing:
            raise ValueError("The result is 'satisfied', but a criterion is not met. Make them agree.")
        if self.result == "needs_revision" and self.criteria and not is_missing:
            raise ValueError("The result is 'needs_revision', but every criterion is met. Make them agree.")
        return self


def in_words(evaluation: RubricEvaluation) -> str:
    """An evaluation in a line: "2 of 3 checks passed"."""
    criteria = evaluation["criteria"]
    if evaluation["result"] == "grader_error":
        return "The answer could not be checked."
    if not criteria:
        return "The checks passed." if evaluation["result"] == "satisfied" else "The checks did not pass."
    passed = sum(each["passed"] for each in criteria)
    return f"{passed} of {len(criteria)} {'check' if len(criteria) == 1 else 'checks'} passed."


def what_is_missing(evaluation: RubricEvaluation) -> list[str]:
    """A line for each criterion that is not met."""
    return [f"{each['name']}: {each.get('gap', 'not met')}" for each in evaluation["criteria"] if not each["passed"]]


def answer_in(messages: Sequence[AnyMessage]) -> AIMessage | None:
    """The answer with which an agent wants to finish; None if the user spoke last. A structured answer is followed by a result."""
    newest = next((each for each in reversed(messages) if each.type in ("ai", "human")), None)
    return newest if isinstance(newest, AIMessage) else None


def left_over(state: Mapping[str, Any]) -> str:
    """What the answer of this state lacks, in words; empty if nothing, or if it was not checked."""
    answer = answer_in(state.get("messages") or ())
    evaluation = (state.get("checks") or {}).get(answer.id) if answer else None
    if evaluation is None or evaluation["result"] == "satisfied":
        return ""
    lines = [f"- {line}" for line in what_is_missing(evaluation)] or [f"- {evaluation['explanation']}"]
    return "\n".join([in_words(evaluation), *lines])
