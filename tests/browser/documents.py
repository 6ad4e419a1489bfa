"""Documents that the tests drop on the page, made when they are needed."""

from __future__ import annotations

from io import BytesIO
from typing import Any

from PIL import Image
from reportlab.lib.pagesizes import A4
from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.lib.utils import simpleSplit
from reportlab.pdfgen.canvas import Canvas


def pdf(*pages: str, password: str | None = None) -> bytes:
    """One page for each text; with a password, locked."""
    locked: Any = StandardEncryption(password, strength=128) if password else None
    return _draw(lambda canvas: [_write(canvas, text) for text in pages], locked)


def scanned_pdf() -> bytes:
    """A picture of a page, as a scanner makes it."""

    def draw(canvas: Canvas) -> None:
        canvas.drawInlineImage(Image.new("L", (60, 84), 200), 0, 0, *A4)
        canvas.showPage()

    return _draw(draw)


def broken_pdf() -> bytes:
    """The beginning of one, with nothing behind it that could be put together again."""
    return pdf("Whole once.")[:60]


def _write(canvas: Canvas, text: str) -> None:
    lines = canvas.beginText(50, 790)
    for line in simpleSplit(text, "Helvetica", 11, 490):
        lines.textLine(line)
    canvas.drawText(lines)
    canvas.showPage()


def _draw(draw: Any, locked: Any = None) -> bytes:
    file = BytesIO()
    canvas = Canvas(file, pagesize=A4, encrypt=locked)
    draw(canvas)
    canvas.save()
    return file.getvalue()
