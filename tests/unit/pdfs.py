"""PDFs for tests, made when they are needed."""

from __future__ import annotations

import io


def make_pdf(*leaves: str) -> bytes:
    """A page for each text."""
    from reportlab.pdfgen.canvas import Canvas

    file = io.BytesIO()
    canvas = Canvas(file)
    for leaf in leaves:
        canvas.drawString(72, 720, leaf)
        canvas.showPage()
    canvas.save()
    return file.getvalue()
