"""The pause for money, and its answer: the session that pays, or a cancellation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stepwell.answers.asking import ANSWER_WORDS, Json, ask

PAYMENT_EXHAUSTED = "payment_exhausted"

_SCHEMA: Json = {
    "type": "object",
    "properties": {"funding_id": {"type": "string"}, "cancel": {"const": True}},
    "description": "Who pays: the id of a session. Or, that nobody does.",
    ANSWER_WORDS: [],
}


def ask_payment(question: Json) -> str | None:
    """Pause until someone pays. Returns the session that pays; None if the payer cancels. Do nothing with an effect before this call."""
    answer = ask({"type": PAYMENT_EXHAUSTED, **question}, payment_fault, _SCHEMA)
    return None if answer.get("cancel") is True else str(answer["funding_id"])


def payment_fault(question: Json, answer: Any) -> str | None:
    """Why an answer neither names a paying session nor cancels; None if it does."""
    if isinstance(answer, Mapping):
        named = answer.get("funding_id")
        if answer.get("cancel") is True or (isinstance(named, str) and named):
            return None
    return (
        'A pause for money is answered with {"funding_id": "..."} of a session that pays, or with {"cancel": true}. Give a token to the '
        "wallet first (POST /api/wallet/fund, or fund() in the library): it returns the id."
    )
