"""Excerpts that a caller's device sends with a question. Their documents stay on the device.

All snippets of one document become one source of kind `device` under its label, so they can be quoted, cited and checked like a page
(`audit/excerpts.py`). Their places on the device (`document_id`, `start`, `end`) are stored with the question, so that a reader of the
report can find each quote there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, TypeAdapter, ValidationError, model_validator

from stepwell.errors import InvalidRequestError
from stepwell.research.audit.excerpts import MAX_ALL_CHARS as MAX_SNIPPETS_CHARS
from stepwell.research.audit.excerpts import MAX_EXCERPT_CHARS as MAX_SNIPPET_CHARS
from stepwell.research.audit.excerpts import MAX_LABEL_CHARS, MAX_PLACE_CHARS
from stepwell.research.audit.excerpts import MOST_EXCERPTS as MOST_SNIPPETS
from stepwell.secrets.text import hide_secrets
from stepwell.validation import describe_first_fault

__all__ = ["MAX_SNIPPETS_CHARS", "MAX_SNIPPET_CHARS", "MOST_SNIPPETS", "Snippet", "read_snippets", "show_snippets"]

_Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100)]


class Snippet(BaseModel):
    """Text of a document on the device, and its place there (offsets as the device counts them)."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)

    id: _Name
    document_id: _Name
    label: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_LABEL_CHARS)]
    place: Annotated[str, StringConstraints(strip_whitespace=True, max_length=MAX_PLACE_CHARS)] = ""
    """Where in the document it is, as a reader would call it: `page 3`."""
    text: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_SNIPPET_CHARS)]
    start: Annotated[int, Field(ge=0)]
    end: int

    @model_validator(mode="after")
    def _check(self) -> Snippet:
        if self.end <= self.start:
            raise ValueError("ends before it begins: 'end' must be greater than 'start'")
        try:
            f"{self.label}{self.place}{self.text}".encode()
        except UnicodeEncodeError as error:
            raise ValueError("contains half a character (a lone surrogate), which cannot be stored") from error
        return self


_SNIPPETS = TypeAdapter(Annotated[list[Snippet], Field(max_length=MOST_SNIPPETS)])


def read_snippets(given: Any) -> list[Snippet]:
    """The snippets, each text of a document once, without anything that looks like a key. If they are invalid, `InvalidRequestError` says
    why."""
    try:
        snippets = _SNIPPETS.validate_python(given or [])
    except ValidationError as error:
        raise InvalidRequestError(
            f"{describe_first_fault(error, under=('snippets',))}. A snippet is {{id, document_id, label, place, text, start, end}}; you "
            f"can send at most {MOST_SNIPPETS}, of {MAX_SNIPPET_CHARS:,} characters each and {MAX_SNIPPETS_CHARS:,} together."
        ) from error
    named = {(each.label, each.text): each for each in reversed(snippets)}
    once = {(each.document_id, each.text): each for each in named.values()}
    kept = list(reversed(once.values()))
    if (sent := sum(len(each.text) for each in kept)) > MAX_SNIPPETS_CHARS:
        raise InvalidRequestError(
            f"The snippets have {sent:,} characters; the limit is {MAX_SNIPPETS_CHARS:,} together. Send fewer."
        )
    return [each.model_copy(update={name: _hide(getattr(each, name)) for name in ("label", "place", "text")}) for each in kept]


def _hide(text: str) -> str:
    """The text without keys. It gets no longer, so that it is still within the limits when a later step reads it again."""
    hidden = hide_secrets(text)
    return text if hidden == text else hidden[: len(text) - 1].strip()


def show_snippets(snippets: Sequence[Snippet]) -> str:
    """The snippets as text for a model, before fencing."""
    return "\n\n".join(f"{', '.join(filter(None, (each.label, each.place)))}:\n{each.text}" for each in snippets)
