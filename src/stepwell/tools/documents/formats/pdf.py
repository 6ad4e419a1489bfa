"""PDF: the text of each page."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

from stepwell.errors import FetchFailedError, needs_extra
from stepwell.tools.documents.pieces import Document, Piece

MOST_PAGES = 300
_LIGATURES = {0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl", 0xFB05: "st", 0xFB06: "st"}
"""Printed forms of letters that no reader would type."""


def read_pdf(content: bytes) -> Document:
    with needs_extra("Reading PDF files", "research"):
        from pypdf import PdfReader
        from pypdf.errors import PyPdfError
    document = Document(())
    try:
        reader = PdfReader(io.BytesIO(content), strict=False)
        if reader.is_encrypted and not reader.decrypt(""):
            raise FetchFailedError("The PDF is locked with a password.", "unreadable")
        count = len(reader.pages)
        document.title = str(reader.metadata.title or "") if reader.metadata else ""
    except FetchFailedError:
        raise
    except (PyPdfError, *_DAMAGE) as error:
        raise _damaged(error) from error
    if count > MOST_PAGES:
        document.notes.append(f"Only the first {MOST_PAGES} of {count} pages were read.")
    document.pieces = _pages(reader, min(count, MOST_PAGES))
    return document


# Which error pypdf raises for a damaged file depends on where the damage is.
_DAMAGE = (ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError, OSError)


def _damaged(error: Exception) -> FetchFailedError:
    return FetchFailedError(f"The PDF is damaged: {type(error).__name__}.", "unreadable")


def _pages(reader: Any, count: int) -> Iterator[Piece]:
    from pypdf.errors import PyPdfError

    for number in range(count):
        try:
            text = reader.pages[number].extract_text()
        except (PyPdfError, *_DAMAGE) as error:
            raise _damaged(error) from error
        yield Piece(text.translate(_LIGATURES), f"page {number + 1}")
