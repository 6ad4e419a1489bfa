"""The JSON of `/api/research`: camelCase, as its clients send it. Snake_case is accepted too.

Only the limits of requests are here; the application validates plans and answers.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel

from stepwell.server.schemas.fields import Body, JsonObject, Uuid, Whole

MAX_QUERY_CHARS = 4000
MAX_CONTEXT_CHARS = 200_000
MOST_SNIPPETS = 200
MAX_SNIPPET_CHARS = 4000
MAX_SNIPPETS_CHARS = 48_000
MAX_URLS = 50
MAX_URL_CHARS = 2048
MAX_REASON_CHARS = 4000


def _check_question(text: str) -> str:
    text = text.strip()
    if not text:
        raise ValueError("is empty. Send the question to research")
    if len(text) > MAX_QUERY_CHARS:
        raise ValueError(
            f"has {len(text)} characters; the limit is {MAX_QUERY_CHARS}. Shorten the question, and send background as retrievedContext"
        )
    return text


def _check_address(text: str) -> str:
    text = text.strip()
    if not text.lower().startswith(("http://", "https://")) or not text.isprintable() or " " in text:
        raise ValueError("is not the address of a web page. Send one that begins with https:// or http://")
    return text


Question = Annotated[
    str, Field(json_schema_extra={"minLength": 1, "maxLength": MAX_QUERY_CHARS}), AfterValidator(_check_question)
]
Address = Annotated[str, Field(max_length=MAX_URL_CHARS), AfterValidator(_check_address)]
SourceId = Annotated[str, Field(min_length=1, max_length=64)]
Sources = Annotated[list[SourceId], Field(max_length=1000)]


class _Camel(Body):
    model_config = ConfigDict(extra="ignore", strict=True, alias_generator=to_camel, populate_by_name=True)

    def fields(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in type(self).model_fields}


class Snippet(_Camel):
    """An excerpt of a document that stays on the caller's device, and its position in that document."""

    id: Annotated[str, Field(min_length=1, max_length=100)]
    document_id: Annotated[str, Field(min_length=1, max_length=100)]
    label: Annotated[str, Field(min_length=1, max_length=200)]
    place: Annotated[str, Field(max_length=200, description="Where in the document it is, such as `page 3`")] | None = None
    text: Annotated[str, Field(min_length=1, max_length=MAX_SNIPPET_CHARS)]
    start: Annotated[int, Field(ge=0), Whole]
    end: Annotated[int, Field(ge=1), Whole]

    def fields(self) -> dict[str, Any]:
        return {**super().fields(), "place": self.place or ""}


def _check_length(snippets: list[Snippet]) -> list[Snippet]:
    if (sent := sum(len(each.text) for each in snippets)) > MAX_SNIPPETS_CHARS:
        raise ValueError(f"have {sent:,} characters; the limit is {MAX_SNIPPETS_CHARS:,} together. Send fewer")
    return snippets


class ResearchQuestion(_Camel):
    """A question, with what the caller already knows. A new question on a thread stops the current one there."""

    query: Question
    retrieved_context: Annotated[str, Field(max_length=MAX_CONTEXT_CHARS)] | None = None
    snippets: Annotated[list[Snippet], Field(max_length=MOST_SNIPPETS), AfterValidator(_check_length)] | None = None
    context_urls: Annotated[list[Address], Field(max_length=MAX_URLS)] | None = None
    only_documents: bool | None = None
    """Search nothing but `snippets` and `retrievedContext`."""
    outline: bool | None = None
    """Propose the report's sections with the plan."""
    thread_id: Uuid | None = None
    max_plan_revisions: Annotated[int, Field(ge=1, le=20), Whole] | None = None
    review_sources: bool | None = None

    def fields(self) -> dict[str, Any]:
        return {**super().fields(), "snippets": [each.fields() for each in self.snippets or ()]}


class ResearchAnswer(_Camel):
    """A person's answer: `decision` on a plan (`approved` is the older name), `admit` and `deny` for sources.

    `interruptId` names the interrupt; by default, the open one.
    """

    thread_id: Uuid
    interrupt_id: Annotated[str, Field(pattern="^[0-9a-f]{32}$")] | None = None
    decision: Literal["approve", "edit", "reject", "documents"] | None = None
    approved: bool | None = None
    plan: JsonObject | None = None
    reason: Annotated[str, Field(max_length=MAX_REASON_CHARS)] | None = None
    stop: bool | None = None
    admit: Sources | None = None
    deny: Sources | None = None
