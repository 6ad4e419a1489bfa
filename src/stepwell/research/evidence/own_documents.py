"""The user's own documents: the excerpts and notes that came with a question, and a search in them that sends nothing.

They are read from the question's entry in the trail, so a search can only find what is recorded there.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from stepwell.errors import InvalidRequestError
from stepwell.models.embedding.embedder import Embedder
from stepwell.research.evidence.selecting import select_quotes

NOTES: Final = "notes"
"""Stands for the user's notes where the id of an excerpt is expected."""
_NOWHERE: Final = ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1"))
"""Addresses reserved for documentation: nobody has them, and the way to them is the way to everywhere else."""


@dataclass(frozen=True)
class OwnText:
    """An excerpt or the notes. `id` is the excerpt's id, or `notes`; `document` identifies the document it is from."""

    id: str
    document: str
    label: str
    text: str


def read_own(question: Mapping[str, Any]) -> list[OwnText]:
    """What came with a question, as its entry in the trail says."""
    own = [OwnText(each["id"], each["document_id"], each["label"], each["text"]) for each in question.get("snippets") or ()]
    notes = str(question.get("knowledge_context") or "").strip()
    return [*own, *([OwnText(NOTES, NOTES, "your notes", notes)] if notes else [])]


def check_only_documents(notes: object, snippets: object, urls: object) -> None:
    """Raises `InvalidRequestError` if a question cannot be answered from the user's documents alone."""
    if not notes and not snippets:
        raise InvalidRequestError(
            "Only your documents are to be searched, and none came with the question. Send some, or let the web be searched too."
        )
    if urls:
        raise InvalidRequestError(
            "Only your documents are to be searched, and addresses of pages to read came along. Leave out one of the two."
        )


async def search_own(query: str, own: Sequence[OwnText], embedder: Embedder) -> list[OwnText]:
    """The texts with a passage about the query, in their order."""
    numbered = {str(number): each for number, each in enumerate(own)}
    texts = {number: each.text for number, each in numbered.items()}
    quotes = await select_quotes(query, texts, embedder, most=len(own), per_source=1)
    found = {quote.source_id for quote in quotes}
    return [each for number, each in numbered.items() if number in found]


def describe_found(found: Sequence[OwnText], own: Sequence[OwnText]) -> str:
    if not found:
        return f"Matched none of {len(own)} passages of {_count_documents(own)} of yours."
    return (
        f"Matched {len(found)} of {len(own)} passages, in {len({each.document for each in found})} of {_count_documents(own)}."
    )


def _count_documents(texts: Sequence[OwnText]) -> str:
    many = len({each.document for each in texts})
    return f"{many} document{'s' * (many != 1)}"


def has_route(connect: Callable[[int, str], None] | None = None) -> bool:
    """Whether this machine has a way to any network. Asks the operating system alone: connecting a UDP socket sends nothing. `connect`
    does that, and raises `OSError` if there is no way."""
    return any(_leads(connect or _connect, family, address) for family, address in _NOWHERE)


def _leads(connect: Callable[[int, str], None], family: int, address: str) -> bool:
    try:
        connect(family, address)
    except OSError:
        return False
    return True


def _connect(family: int, address: str) -> None:
    with socket.socket(family, socket.SOCK_DGRAM) as one:
        one.connect((address, 9))
