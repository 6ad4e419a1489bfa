"""Clarifying: the agent asks when the request leaves something open that no file tells, and only then."""

from __future__ import annotations

from collections.abc import Iterator

from evals.outcome import CHANGES, Outcome
from evals.task import Task

_STAGING = "/config/staging.ini"
_FILES = {
    _STAGING: "[http]\ntimeout_s = 30\n",
    "/config/production.ini": "[http]\ntimeout_s = 30\n",
}
_EXPECTED = {_STAGING: "[http]\ntimeout_s = 60\n"}


def ask_user(question: str) -> str:
    """Ask the user a question and wait for the answer. For what neither the request nor a file tells."""
    return "I mean staging only. Leave production as it is."


def check_ask(outcome: Outcome) -> Iterator[str]:
    yield from outcome.wrong_files(_EXPECTED)
    # By turn: a question that goes out together with the change was not waited for.
    asked = min((call.turn for call in outcome.named("ask_user")), default=None)
    changed = min((call.turn for call in outcome.named(*CHANGES)), default=None)
    if asked is None:
        yield "did not ask which file is meant"
    elif changed is not None and changed <= asked:
        yield "changed a file before it had the answer"


def check_do_not_ask(outcome: Outcome) -> Iterator[str]:
    yield from outcome.wrong_files(_EXPECTED)
    if outcome.named("ask_user"):
        yield "asked although everything was said"


ASK = Task(
    "asks-when-needed",
    "asks which of two files is meant before it changes one",
    "Set the HTTP timeout to 60 seconds in the configuration file. One of our two environments has to stay at 30.",
    check_ask,
    _FILES,
    (ask_user,),
)
DO_NOT_ASK = Task(
    "does-not-ask",
    "does a clear request without a question",
    f"Set the HTTP timeout to 60 seconds in {_STAGING}. Production stays at 30.",
    check_do_not_ask,
    _FILES,
    (ask_user,),
)
