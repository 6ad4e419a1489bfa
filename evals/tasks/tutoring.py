"""The tutor's guidance: what is vague leads to a question, what is clear leads to action. A trial ends where the tutor waits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from langchain_core.language_models import BaseChatModel
from langgraph.checkpoint.memory import InMemorySaver

from evals.outcome import Call, Outcome
from evals.task import Task
from stepwell.tutor.agent import build

_QUESTIONS = ("ask_user", "ask_choices")


def build_tutor(model: BaseChatModel, budget: Any) -> Any:
    return build(model, payment=budget, checkpointer=InMemorySaver())  # the budget stands where a payment would: outermost


def check_asks(outcome: Outcome) -> Iterator[str]:
    if not _begun(outcome, *_QUESTIONS):
        yield "did not ask what is meant"
    if _begun(outcome, "write_file", "edit_file", "propose_node"):
        yield "acted before it knew what is meant"


def check_writes(outcome: Outcome) -> Iterator[str]:
    written = _begun(outcome, "write_file")
    if _begun(outcome, *_QUESTIONS):
        yield "asked although everything was said"
    if not any(str(call.args.get("file_path", "")).startswith("/project/") for call in written):
        yield "wrote no document in the project"
    elif not any("sound money" in str(call.args.get("content", "")).casefold() for call in written):
        yield "wrote a document that does not speak of sound money"


def check_searches(outcome: Outcome) -> Iterator[str]:
    if _begun(outcome, *_QUESTIONS):
        yield "asked although everything was said"
    if not _begun(outcome, "grep", "search", "task"):
        yield "did not search"


def _begun(outcome: Outcome, *names: str) -> list[Call]:
    """Calls that succeeded, or wait for the person or their device."""
    return [call for call in outcome.calls if call.name in names and (not call.failed or not call.result)]


VAGUE_ARGUMENT = Task(
    "tutor-asks-topic", "the tutor asks what the argument is about", "Help me with my argument", check_asks, agent=build_tutor
)
VAGUE_SUBJECT = Task(
    "tutor-asks-aspect",
    "the tutor asks which aspect is meant",
    "I want to write about economics",
    check_asks,
    agent=build_tutor,
)
VAGUE_WISH = Task("tutor-asks-wish", "the tutor asks what to improve", "Improve this", check_asks, agent=build_tutor)
CLEAR_DOCUMENT = Task(
    "tutor-writes",
    "the tutor writes a document that was clearly asked for",
    "Create a new document titled 'Bitcoin Thesis' with an introduction about sound money",
    check_writes,
    agent=build_tutor,
)
CLEAR_SEARCH = Task(
    "tutor-searches",
    "the tutor searches where it was told to",
    "Search my files for mentions of inflation",
    check_searches,
    agent=build_tutor,
)
