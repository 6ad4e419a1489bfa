"""The answers a user may give to an interrupt of research. The nodes that ask use these readers, and so does the server when it checks
an answer before accepting it.

| interrupt | answer |
|---|---|
| `plan_approval` | `true` or `false`, or `{decision, plan?, reason?, stop?}` |
| `search_retry` | as for a plan; `approve` retries, `reject` ends the research, `documents` (if offered) writes from the user's documents |
| `source_review` | `true` for all sources, or `{admit: [ids], deny: [ids]}` with ids of the list |
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pydantic import ValidationError

from stepwell.answers import FindFault, ask_again
from stepwell.answers.asking import ANSWER_WORDS, worded
from stepwell.validation import describe_first_fault

if TYPE_CHECKING:
    from stepwell.research.graph.schemas import Approval, RetryAnswer

PLAN_APPROVAL: Final = "plan_approval"
SOURCE_REVIEW: Final = "source_review"
SEARCH_RETRY: Final = "search_retry"
PLAN_TAKEN: Final = "Send {\"decision\": \"approve\"}, 'reject' with a 'reason', or 'edit' with the changed 'plan'."
RETRY_TAKEN: Final = 'Answer {"decision": "approve"} to try again, {"decision": "reject"} to stop.'
DOCUMENTS_TAKEN: Final = ' {"decision": "documents"} writes from your documents alone.'
REVIEW_FAULT: Final = 'Answer {"admit": [ids], "deny": [ids]} with ids of the list; what is not named is admitted.'
Answer = TypeVar("Answer")


def ask(question: Mapping[str, Any], read: Callable[[Any], Answer], describe: Callable[[ValueError], str] = str) -> Answer:
    """Ask until the answer is valid, because a mistyped answer must not spoil the research."""
    words = ["yes"] if question["type"] == SOURCE_REVIEW else ["yes", "no"]
    return ask_again(question, read, describe, {"description": describe_taken(question), ANSWER_WORDS: words})


def describe_taken(question: Mapping[str, Any]) -> str:
    """How to answer an interrupt, for clients that show a question as it is."""
    more = DOCUMENTS_TAKEN if question["type"] == SEARCH_RETRY and question.get("documents") else ""
    return _TAKEN[question["type"]] + more


def read_approval(answer: Any) -> Approval:
    """Reads an answer: an object, or `true` or `false` as older clients send them. `ValueError` for an invalid answer."""
    from stepwell.research.graph.schemas import Approval  # imported on demand: a server checks answers, but rarely at its start

    if isinstance(answer, bool):
        return Approval(decision="approve" if answer else "reject", reason="" if answer else "not approved")
    approval = Approval.model_validate(_object(answer))
    if approval.decision == "edit" and approval.plan is None:
        raise ValueError("an edited plan is missing: send it as 'plan'")
    return approval


def read_review(answer: Any, known: Collection[str]) -> list[str]:
    """The denied sources; `ValueError` for an invalid answer. `true` admits all sources; if only `admit` is given, all others are
    denied."""
    if answer is True:
        return []
    if not isinstance(answer, Mapping) or not ("admit" in answer or "deny" in answer):
        raise ValueError(REVIEW_FAULT)
    admit, deny = answer.get("admit"), answer.get("deny")
    if not all(isinstance(names, list | tuple | None) for names in (admit, deny)):
        raise ValueError(REVIEW_FAULT)
    if not all(isinstance(name, str) and name in known for name in (*(admit or ()), *(deny or ()))):
        raise ValueError(REVIEW_FAULT)
    if deny is None:
        return sorted(set(known) - set(admit or ()), key=lambda name: int(name[1:]))
    return [name for name in dict.fromkeys(deny) if name not in (admit or ())]


def read_retry(answer: Any, *, documents: bool) -> RetryAnswer:
    """Whether to retry. `ValueError` for an invalid answer; `documents` says whether there are any to write from."""
    from stepwell.research.graph.schemas import RetryAnswer

    if isinstance(answer, bool):
        return RetryAnswer(decision="approve" if answer else "reject", reason="" if answer else "not approved")
    said = RetryAnswer.model_validate(_object(answer))
    if said.decision == "documents" and not documents:
        raise ValueError("no documents came with the question")
    return said


def _object(answer: Any) -> Any:
    if not isinstance(answer, Mapping):
        raise ValueError(f"it is {worded(answer)}, not an object")
    return answer


def approval_fault(error: ValueError) -> str:
    """Why `read_approval` rejected an answer."""
    if isinstance(error, ValidationError):
        return describe_first_fault(error)
    return str(error)


def _plan_fault(asked: Mapping[str, Any], answer: Any) -> str | None:
    try:
        read_approval(answer)
    except ValueError as error:
        return f"The answer to a plan could not be understood: {approval_fault(error)}. {PLAN_TAKEN}"
    return None


def _retry_fault(asked: Mapping[str, Any], answer: Any) -> str | None:
    try:
        read_retry(answer, documents=bool(asked.get("documents")))
    except ValueError as error:
        return f"The answer could not be understood: {approval_fault(error)}. {describe_taken(asked)}"
    return None


def _review_fault(asked: Mapping[str, Any], answer: Any) -> str | None:
    try:
        read_review(answer, [source["id"] for source in asked["sources"]])
    except ValueError as error:
        return f"The answer names no sources from the list. {error}"
    return None


_TAKEN: Final[Mapping[str, str]] = {
    PLAN_APPROVAL: PLAN_TAKEN,
    SOURCE_REVIEW: REVIEW_FAULT,
    SEARCH_RETRY: RETRY_TAKEN,
}
ANSWERS: Final[Mapping[str, FindFault]] = {
    PLAN_APPROVAL: _plan_fault,
    SOURCE_REVIEW: _review_fault,
    SEARCH_RETRY: _retry_fault,
}
