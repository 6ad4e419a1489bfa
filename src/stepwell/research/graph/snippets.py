"""Excerpts that a caller's device sends with a question. Their documents stay on the device.

A snippet becomes a source of kind `device` under its label, so it can be quoted, cited and checked like a page. Its place on the
device (`document_id`, `start`, `end`) is stored with the question, so that a reader of the report can find it there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, TypeAdapter, ValidationError, model_validator

from stepwell.errors import InvalidRequestError
from stepwell.secrets.text import hide_secrets
from stepwell.validation import describe_first_fault

MOST_SNIPPETS = 16
MAX_SNIPPET_CHARS = 4_000
MAX_LABEL_CHARS = 200

_Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100)]


class Snippet(BaseModel):
    """Text of a document on the device, and its place there (offsets as the device counts them)."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)

    id: _Name
    document_id: _Name
    label: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_LABEL_CHARS)]
    text: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_SNIPPET_CHARS)]
    start: Annotated[int, Field(ge=0)]
    end: int

    @model_validator(mode="after")
    def _check(self) -> Snippet:
        if self.end <= self.start:
            raise ValueError("ends before it begins: 'end' must be greater than 'start'")
        try:
            f"{self.label}{self.text}".encode()
        except UnicodeEncodeError as error:
            raise ValueError("contains half a character (a lone surrogate), which cannot be stored") from error
        return self


_SNIPPETS = TypeAdapter(Annotated[list[Snippet], Field(max_length=MOST_SNIPPETS)])


def read_snippets(given: Any) -> list[Snippet]:
    """The snippets, each text once, without anything that looks like a key. If they are invalid, `InvalidRequestError` says why."""
    try:
        snippets = _SNIPPETS.validate_python(given or [])
    except ValidationError as error:
        raise InvalidRequestError(
            f"{describe_first_fault(error, under=('snippets',))}. A snippet is {{id, document_id, label, text, start, end}}; you can send "
            f"at most {MOST_SNIPPETS}, of {MAX_SNIPPET_CHARS:,} characters each."
        ) from error
    named = {(each.label, each.text): each for each in reversed(snippets)}
    return [each.model_copy(update={"text": hide_secrets(each.text)}) for each in reversed(named.values())]


def show_snippets(snippets: Sequence[Snippet]) -> str:
    """The snippets as text for a model, before fencing."""
    return "\n\n".join(f"{each.label}:\n{each.text}" for each in snippets)
