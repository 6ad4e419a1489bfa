"""Claim: that documents are read in a process apart costs an honest page next to nothing.

The same pages, PDFs and Office documents, read in turn by a warm reader and by a call in the same process, which is how it was done before
there were readers. Best wall time of some tries each, so that a busy moment of the machine does not count. Nobody else takes part.
"""

from __future__ import annotations

import asyncio
import time
from types import ModuleType
from typing import Any

from benchmarks.bench import Bench, Row

LIMIT_MS = 20.0
SENTENCE = "The bridge over the {} is {} metres long and was opened in spring, as everybody here remembers. "


def measure(_contestant: ModuleType, *, tries: int) -> dict[str, Any]:
    """Milliseconds of each page, by where it was read."""
    from stepwell.tools.documents.reader_pool import ReaderPool

    readers = ReaderPool(size=1)
    try:
        return asyncio.run(_measure(readers, tries))
    finally:
        readers.close()


async def _measure(readers: Any, tries: int) -> dict[str, Any]:
    from stepwell.tools.documents.page import read_page, warm_up

    warm_up()
    await readers.read_page(b"a few words", "text/plain")
    times: dict[str, Any] = {}
    for name, (content, content_type) in _pages().items():
        apart, here = [], []
        for _ in range(tries):
            begun = time.perf_counter()
            there = await readers.read_page(content, content_type)
            between = time.perf_counter()
            same = read_page(content, content_type, 60.0)
            here.append(time.perf_counter() - between)
            apart.append(between - begun)
            if there != same:
                raise RuntimeError(f"{name} has another text when it is read apart")
        times[name] = {"apart_ms": 1000 * min(apart), "here_ms": 1000 * min(here)}
    return times


def _pages() -> dict[str, tuple[bytes, str]]:
    import io

    from docx import Document
    from openpyxl import Workbook
    from pptx import Presentation

    from stepwell.demo.web.rendering import html, pdf

    def sentences(count: int) -> list[str]:
        return [SENTENCE.format(f"river {n}", n) * 4 for n in range(count)]

    def saved(document: Any) -> bytes:
        file = io.BytesIO()
        document.save(file)
        return file.getvalue()

    word, book, deck = Document(), Workbook(), Presentation()
    for number, text in enumerate(sentences(250)):
        word.add_heading(f"River {number}", 2)
        word.add_paragraph(text)
    for number in range(2_000):
        book.active.append([f"river {number}", number, number / 7, "open"] if number else ["River", "Length", "Share", "State"])
    for number, text in enumerate(sentences(30)):
        slide = deck.slides.add_slide(deck.slide_layouts[1])
        slide.shapes.title.text, slide.placeholders[1].text = f"River {number}", text
    return {
        "DOCX of 100 kB of text": (saved(word), ""),
        "XLSX of 2,000 rows": (saved(book), ""),
        "PPTX of 30 slides": (saved(deck), ""),
        "10 kB": (html("A page", sentences(25)), "text/html"),
        "100 kB": (html("A page", sentences(250)), "text/html"),
        "1 MB": (html("A page", sentences(2_500)), "text/html"),
        "PDF of 20 pages": (pdf(sentences(10), "A document", pages=20), "application/pdf"),
        "1 MB of plain text": ("".join(sentences(2_500)).encode(), "text/plain"),
    }


def rows(bench: Bench) -> list[Row]:
    figures = bench.rounds("reading", {"tries": 3 if bench.quick else 10}, count=1, who=("ours",))["ours"]
    times = figures[0] if figures else {}
    more = {name: each["apart_ms"] - each["here_ms"] for name, each in times.items()}
    note = "; ".join(
        f"{name} {each['apart_ms']:.1f} ms, in the caller's process {each['here_ms']:.1f} ms" for name, each in times.items()
    )
    return [
        Row(
            "an honest page read in a process apart, wall time more than in the caller's own, the worst of eight",
            f"≤ {LIMIT_MS:.0f} ms",
            max(more.values(), default=None),
            None,
            None,
            LIMIT_MS,
            form="{:.1f} ms".format,
            note=note,
        )
    ]
