"""PDF: the pages, with headings and rows of tables found by their layout."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterator
from typing import Any

from stepwell.errors import FetchFailedError, needs_extra
from stepwell.tools.documents.formats.pdf_layout import WORD_GAP, Sizes, Word, blocks, lines, paragraphs, segments
from stepwell.tools.documents.pieces import Document, Piece

MOST_PAGES = 300
_MOST_CHARACTERS = 200_000
"""The most characters of one page."""
_BLANKS = frozenset({0, 0x09, 0x0A, 0x0D, 0x20, 0xA0})
_LIGATURES = {0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl", 0xFB05: "st", 0xFB06: "st"}
"""Printed forms of letters that no reader would type."""


def read_pdf(content: bytes) -> Document:
    """The pages; each begins a part."""
    with needs_extra("Reading PDF files", "research"):
        import pypdfium2  # type: ignore[import-untyped]  # ships without types
    try:
        pdf = pypdfium2.PdfDocument(content)
    except pypdfium2.PdfiumError as error:
        if error.err_code == pypdfium2.raw.FPDF_ERR_PASSWORD:
            raise FetchFailedError("The PDF is locked with a password.", "unreadable") from error
        raise FetchFailedError("The PDF is damaged: it cannot be opened.", "unreadable") from error
    document = Document((), title=str(pdf.get_metadata_value("Title") or ""))
    count = len(pdf)
    if count > MOST_PAGES:
        document.notes.append(f"Only the first {MOST_PAGES} of {count} pages were read.")
    document.pieces = _pages(pdf, min(count, MOST_PAGES), document.notes)
    return document


def _pages(pdf: Any, count: int, notes: list[str]) -> Iterator[Piece]:
    import pypdfium2

    sizes = Sizes()
    damaged = []
    for number in range(1, count + 1):
        yield Piece("", f"page {number}")
        try:
            page = pdf[number - 1]
            text_page = page.get_textpage()
        except pypdfium2.PdfiumError:
            damaged.append(number)
            continue
        found = list(segments(_words(text_page.raw, text_page.count_chars())))
        text_page.close()
        page.close()
        sizes.learn(found)
        yield from map(Piece, paragraphs(lines(blocks(found)), sizes))
    if damaged and len(damaged) == count:
        raise FetchFailedError("The PDF is damaged: none of its pages can be read.", "unreadable")
    if damaged:
        notes.append(f"Damaged pages were left out: {', '.join(map(str, damaged[:20]))}.")


def _words(text_page: Any, count: int) -> Iterator[Word]:
    """The words of a page in the order in which they were written. Each call of the library costs about a microsecond, and a page has
    thousands of characters, so size and baseline are looked up once for each word."""
    from pypdfium2 import raw

    unicode_of, box_of = raw.FPDFText_GetUnicode, raw.FPDFText_GetLooseCharBox
    box, x, y = raw.FS_RECTF(), ctypes.c_double(), ctypes.c_double()
    letters: list[str] = []
    left = right = bottom = base = size = 0.0
    weight = 0
    for place in range(min(count, _MOST_CHARACTERS)):
        code = unicode_of(text_page, place)
        if code in _BLANKS or not box_of(text_page, place, box):
            if letters:
                yield Word("".join(letters), left, right, base, size, weight)
                letters = []
            continue
        if letters and not (abs(box.bottom - bottom) <= 0.5 * size and -size <= box.left - right <= WORD_GAP * size):
            yield Word("".join(letters), left, right, base, size, weight)
            letters = []
        if not letters:
            raw.FPDFText_GetCharOrigin(text_page, place, x, y)
            left, bottom, base = box.left, box.bottom, y.value
            size, weight = _font(raw, text_page, place)
        letters.append(_LIGATURES.get(code) or chr(min(code, 0x10FFFF)))
        right = box.right
    if letters:
        yield Word("".join(letters), left, right, base, size, weight)


def _font(raw: Any, text_page: Any, place: int) -> tuple[float, int]:
    """The size of a character as it is shown, and its weight."""
    matrix = raw.FS_MATRIX()
    raw.FPDFText_GetMatrix(text_page, place, matrix)
    size = raw.FPDFText_GetFontSize(text_page, place) * math.hypot(matrix.c, matrix.d)
    return max(0.1, size), raw.FPDFText_GetFontWeight(text_page, place)
