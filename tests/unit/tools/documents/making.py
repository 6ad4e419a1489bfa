"""Documents for tests, made by the libraries that people make them with."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Sequence
from typing import Any

from stepwell.tools.documents.page import PageText, read_page


def read(content: bytes, name: str) -> PageText:
    return read_page(content, None, 60.0, name)


def docx(build: Callable[[Any], None]) -> bytes:
    from docx import Document

    document = Document()
    build(document)
    return _saved(document)


def pptx(build: Callable[[Any], None]) -> bytes:
    from pptx import Presentation

    presentation = Presentation()
    build(presentation)
    return _saved(presentation)


def xlsx(build: Callable[[Any], None]) -> bytes:
    from openpyxl import Workbook

    book = Workbook()
    build(book)
    return _saved(book)


def sheet(rows: Sequence[Sequence[Any]], title: str = "Sales") -> bytes:
    """A spreadsheet of one sheet."""

    def build(book: Any) -> None:
        book.active.title = title
        for row in rows:
            book.active.append(list(row))

    return xlsx(build)


def packed(members: dict[str, str | bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def changed(content: bytes, changes: dict[str, Callable[[bytes], bytes] | bytes]) -> bytes:
    """An archive with some of its members replaced or added."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members: dict[str, str | bytes] = {name: archive.read(name) for name in archive.namelist()}
    for name, change in changes.items():
        members[name] = change if isinstance(change, bytes) else change(bytes(members[name]))  # type: ignore[arg-type]
    return packed(members)


def _saved(document: Any) -> bytes:
    file = io.BytesIO()
    document.save(file)
    return file.getvalue()
