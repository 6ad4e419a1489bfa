"""Helps to read input: extracts JSON from an answer, suggests the right name for a misspelt one, and turns pydantic's errors into a
sentence with the place and the fault, such as `steps.0.input: Field required`. The sentence never contains the value, which may be
a secret.

It takes pydantic's errors without importing pydantic, so that it can be in the lowest layer.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic import ValidationError


def describe_first_fault(error: ValidationError, whole: str = "it", *, under: Sequence[str] = ()) -> str:
    """The first fault, without a full stop. `whole` names the value if the fault has no field; `under` is the path to the value."""
    fault = error.errors(include_url=False, include_input=False, include_context=False)[0]
    return f"{name_place((*under, *fault['loc']), whole)}: {reason_of(fault)}"


def suggest(given: str, known: Iterable[str]) -> str:
    """` Did you mean 'x'?` for the nearest known name, if one is close; otherwise an empty string."""
    nearest = difflib.get_close_matches(given, list(known), n=1)
    return f" Did you mean '{nearest[0]}'?" if nearest else ""


def name_place(place: Sequence[int | str], whole: str) -> str:
    """The path of a field from the top, with dots; `whole` if the path is empty."""
    return ".".join(map(str, place)) or whole


def reason_of(fault: Mapping[str, Any]) -> str:
    """What is wrong, in pydantic's words or in those of our own validators."""
    return str(fault["msg"]).removeprefix("Value error, ")


def extract_json(text: str) -> Any:
    """The first JSON object in a text, because models often add words around it. Raises `ValueError` if there is none."""
    decoder = json.JSONDecoder()
    start = text.find("{")
    while start >= 0:
        try:
            return decoder.raw_decode(text, start)[0]
        except json.JSONDecodeError:
            start = text.find("{", start + 1)
    raise ValueError("there is no JSON object in it")
