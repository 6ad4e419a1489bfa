"""Documents that the tests drop on the page, made when they are needed."""

from __future__ import annotations

import pymupdf


def pdf(*pages: str, password: str | None = None) -> bytes:
    """One page for each text; with a password, locked."""
    with pymupdf.open() as document:
        for text in pages:
            page = document.new_page()
            page.insert_textbox(pymupdf.Rect(50, 50, 545, 790), text, fontsize=11)
        if password is None:
            return document.tobytes()
        return document.tobytes(encryption=pymupdf.PDF_ENCRYPT_AES_256, user_pw=password, owner_pw=password)


def scanned_pdf() -> bytes:
    """A picture of a page, as a scanner makes it."""
    with pymupdf.open(stream=pdf("This text is only a picture."), filetype="pdf") as source:
        picture = source[0].get_pixmap(dpi=50)
    with pymupdf.open() as document:
        document.new_page().insert_image(pymupdf.Rect(0, 0, 595, 842), pixmap=picture)
        return document.tobytes()


def broken_pdf() -> bytes:
    """The beginning of one, with nothing behind it that could be put together again."""
    return pdf("Whole once.")[:60]
