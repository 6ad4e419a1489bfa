"""PPTX: slides in their order, each with its title, text, tables, chart data, diagrams and speaker notes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from stepwell.tools.documents.archive import Archive, attribute, relation_id, tag_of
from stepwell.tools.documents.formats.charts import chart_paragraphs
from stepwell.tools.documents.formats.tables import Row, flatten, table_paragraphs
from stepwell.tools.documents.formats.word import read_title
from stepwell.tools.documents.pieces import Document, Piece

_TITLES = ("title", "ctrTitle")
_UNREAD = ("sldNum", "dt", "ftr", "hdr", "sldImg")
"""Placeholders that repeat on every slide."""


def read_slides(archive: Archive) -> Document:
    document = Document((), title=read_title(archive))
    if archive.has_macros:
        document.notes.append("It has macros, which were not read.")
    document.pieces = _pieces(archive, document.notes)
    return document


def _pieces(archive: Archive, notes: list[str]) -> Iterator[Piece]:
    main = archive.main_part("ppt/presentation.xml")
    relations = archive.relations(main)
    hidden: list[int] = []
    for number, entry in enumerate(archive.xml(main).iter("{*}sldId"), 1):
        kind, place = relations.get(relation_id(entry), ("", ""))
        if kind == "slide" and place in archive:
            root = archive.xml(place)
            if attribute(root, "show") in ("0", "false"):
                hidden.append(number)
            yield from _slide(archive, place, root, number)
    if hidden:
        said = ", ".join(map(str, hidden[:20]))
        notes.append(
            f"Slide {said} is hidden; it was read too."
            if len(hidden) == 1
            else f"Slides {said} are hidden; they were read too."
        )


def _slide(archive: Archive, place: str, root: Any, number: int) -> Iterator[Piece]:
    relations = archive.relations(place)
    reader = _Shapes(archive, relations)
    tree = next(root.iter("{*}spTree"), ())
    paragraphs = list(reader.paragraphs(tree))
    yield Piece(f"# {reader.title or f'Slide {number}'}", f"slide {number}")
    yield from map(Piece, paragraphs)
    for kind, target in relations.values():
        if kind == "notesSlide" and target in archive:
            said = " ".join(_Shapes(archive, {}, only_body=True).paragraphs(next(archive.xml(target).iter("{*}spTree"), ())))
            if said:
                yield Piece(f"Notes: {flatten(said)}")


class _Shapes:
    """Reads the shapes of a slide. The title is kept apart from the other paragraphs."""

    def __init__(self, archive: Archive, relations: dict[str, tuple[str, str]], *, only_body: bool = False) -> None:
        self._archive = archive
        self._relations = relations
        self._only_body = only_body
        self.title = ""

    def paragraphs(self, parent: Any) -> Iterator[str]:
        for shape in parent:
            match tag_of(shape):
                case "sp":
                    yield from self._shape(shape)
                case "grpSp":
                    yield from self.paragraphs(shape)
                case "graphicFrame":
                    yield from self._frame(shape)
                case "AlternateContent":
                    yield from self.paragraphs(next((each for each in shape if tag_of(each) in ("Choice", "Fallback")), ()))

    def _shape(self, shape: Any) -> Iterator[str]:
        holder = next(shape.iter("{*}ph"), None)
        kind = attribute(holder, "type", "body") if holder is not None else ""
        if kind in _UNREAD or (self._only_body and kind != "body"):
            return
        body = next((each for each in shape if tag_of(each) == "txBody"), None)
        lines = [line for each in (body if body is not None else ()) if tag_of(each) == "p" for line in _lines(each)]
        if kind in _TITLES and not self.title:
            self.title = flatten(" ".join(lines))
            return
        mark = "- " if kind == "body" and len(lines) > 1 and not self._only_body else ""
        if lines:
            yield "\n".join(f"{mark}{line}" for line in lines)

    def _frame(self, frame: Any) -> Iterator[str]:
        for element in frame.iter("{*}tbl", "{*}chart", "{*}relIds"):
            match tag_of(element):
                case "tbl":
                    yield from _table(element)
                case "chart":
                    place = self._relations.get(relation_id(element), ("", ""))[1]
                    yield from chart_paragraphs(self._archive, place) if place in self._archive else ()
                case _:
                    yield from self._diagram(relation_id(element, "dm"))

    def _diagram(self, relation: str) -> Iterator[str]:
        place = self._relations.get(relation, ("", ""))[1]
        if place in self._archive:
            points = self._archive.xml(place).iter("{*}pt")
            lines = [line for point in points for each in point.iter("{*}p") for line in _lines(each)]
            if lines:
                yield "\n".join(f"- {line}" for line in lines)


def _table(table: Any) -> list[str]:
    rows: list[Row] = []
    above: dict[int, str] = {}
    for row in table:
        if tag_of(row) != "tr":
            continue
        cells: dict[int, str] = {}
        for column, cell in enumerate(each for each in row if tag_of(each) == "tc"):
            if attribute(cell, "vMerge") in ("1", "true"):
                cells[column] = above.get(column, "")
            elif attribute(cell, "hMerge") not in ("1", "true"):
                cells[column] = flatten(" ".join(line for each in cell.iter("{*}p") for line in _lines(each)))
        above = cells
        rows.append({column: text for column, text in cells.items() if text})
    properties = next((each for each in table if tag_of(each) == "tblPr"), None)
    return table_paragraphs(rows, has_header=properties is not None and attribute(properties, "firstRow") in ("1", "true"))


def _lines(paragraph: Any) -> Iterator[str]:
    """The lines of a paragraph; empty ones are left out."""
    pieces: list[str] = []
    for each in paragraph.iter("{*}t", "{*}br"):
        pieces.append(each.text or "" if tag_of(each) == "t" else "\n")
    for line in "".join(pieces).split("\n"):
        if line.strip():
            yield flatten(line)
