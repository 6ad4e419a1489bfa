"""A page of the world as the bytes that a server would send: HTML with the usual menu and footer, PDF, or plain text."""

from __future__ import annotations

import textwrap
from html import escape

from stepwell.demo.web.facts import WorldPage


def render(page: WorldPage) -> tuple[str, bytes]:
    """Content type and body."""
    if page.form == "pdf":
        return "application/pdf", pdf([*page.paragraphs], page.title)
    if page.form == "text":
        return "text/plain; charset=utf-8", f"{page.title}\n\n{page.text}\n".encode()
    return "text/html; charset=utf-8", html(page.title, [*page.paragraphs])


def html(title: str, paragraphs: list[str], extra: str = "") -> bytes:
    """An article between a menu and a footer. `extra` is inserted into the article unchanged."""
    body = "\n".join(f"<p>{escape(text)}</p>" for text in paragraphs)
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        "<style>body{margin:2em}</style><script>var menu = 'not text';</script></head><body>"
        '<nav><a href="/">Home</a> <a href="/about">About</a> <a href="/contact">Contact</a></nav>'
        f"<main><article><h1>{escape(title)}</h1>\n{body}\n{extra}</article></main>"
        "<footer><p>Cookies, imprint and terms.</p></footer></body></html>"
    ).encode()


def pdf(paragraphs: list[str], title: str, pages: int = 1) -> bytes:
    """A plain PDF, one column of Helvetica; every page has the same text."""
    lines = [line for text in paragraphs for line in (*textwrap.wrap(text, 90), "")]
    shown = " ".join(f"({_pdf_text(line)}) '" for line in lines)
    stream = f"BT /F1 11 Tf 14 TL 50 800 Td {shown} ET".encode("latin-1", "replace")
    kids = " ".join(f"{5 + n} 0 R" for n in range(pages))
    page = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F1 3 0 R >> >> /Contents 4 0 R >>"
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {pages} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        *([page] * pages),
        f"<< /Title ({_pdf_text(title)}) >>".encode("latin-1", "replace"),
    ]
    out, places = bytearray(b"%PDF-1.4\n"), []
    for number, content in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    out += b"trailer\n<< /Size %d /Root 1 0 R /Info %d 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (
        len(objects) + 1,
        len(objects),
        table,
    )
    return bytes(out)


def _pdf_text(text: str) -> str:
    return text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
