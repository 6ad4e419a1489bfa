"""Reading what others wrote: the JSON in an answer, the name that a misspelt one means, and what a pydantic model has against a value,
as a sentence: where, and what is wrong. Never what was sent: it may hold a secret.

`steps.0.input: Field required`. Takes pydantic's errors and imports none of it, so that it can stand below everything.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic import ValidationError


def describe_first_fault(error: ValidationError, whole: str = "it", *, under: Sequence[str] = ()) -> str:
    """The first fault, without a full stop. `whole` names the value where no part of it is named; `under` is where it stands."""
    fault = error.errors(include_url=False, include_input=False, include_context=False)[0]
    return f"{name_place((*under, *fault['loc']), whole)}: {reason_of(fault)}"


def suggest(given: str, known: Iterable[str]) -> str:
    """` Did you mean 'x'?` for the nearest of what is known, if one is near; otherwise nothing."""
    nearest = difflib.get_close_matches(given, list(known), n=1)
    return f" Did you mean '{nearest[0]}'?" if nearest else ""


def name_place(place: Sequence[int | str], whole: str) -> str:
    """A field by its way from the top."""
    return ".".join(map(str, place)) or whole


def reason_of(fault: Mapping[str, Any]) -> str:
    """What is wrong, in pydantic's words or in those of our own validators."""
    return str(fault["msg"]).removeprefix("Value error, ")


def extract_json(text: str) -> Any:
    """The first JSON object in a text, such as a model's answer: models like to talk around it. `ValueError` if there is none."""
    decoder = json.JSONDecoder()
    start = text.find("{")
    while start >= 0:
        try:
            return decoder.raw_decode(text, start)[0]
        except json.JSONDecodeError:
            start = text.find("{", start + 1)
    raise ValueError("there is no JSON object in it")
