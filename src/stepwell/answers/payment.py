"""The pause for money, and its answer: who pays, or that nobody does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stepwell.answers.asking import Json, ask

PAYMENT_EXHAUSTED = "payment_exhausted"

_SCHEMA: Json = {
    "type": "object",
    "properties": {"funding_id": {"type": "string"}, "cancel": {"const": True}},
    "description": "Who pays: the id of a session. Or, that nobody does.",
}


def ask_payment(question: Json) -> str | None:
    """Pause until somebody pays. Gives the session that does; None if the payer would rather stop. Nothing may stand before it."""
    answer = ask({"type": PAYMENT_EXHAUSTED, **question}, payment_fault, _SCHEMA)
    return None if answer.get("cancel") is True else str(answer["funding_id"])


def payment_fault(question: Json, answer: Any) -> str | None:
    """What keeps an answer from saying who pays, or that nobody does."""
    if isinstance(answer, Mapping):
        named = answer.get("funding_id")
        if answer.get("cancel") is True or (isinstance(named, str) and named):
            return None
    return (
        'A pause for money is answered with {"funding_id": "..."} of a session that pays, or with {"cancel": true}. Hand a token to the '
        "wallet first (POST /api/wallet/fund, or fund() in the library): it gives the id."
    )
