"""The data of a chart, as it was stored with the document: one row for each category."""

from __future__ import annotations

from typing import Any

from stepwell.tools.documents.archive import Archive, attribute, tag_of
from stepwell.tools.documents.formats.tables import flatten, row_text

_MOST_POINTS = 500
_MOST_SERIES = 50


def chart_paragraphs(archive: Archive, place: str) -> list[str]:
    """The chart's title, then a paragraph for each category: `Quarter: Q1; East: 20.4; West: 30.6`."""
    root = archive.xml(place)
    title = next((flatten(_text(each)) for each in root.iter("{*}title")), "")
    header: dict[int, str] = {0: "Category"}
    rows: dict[int, dict[int, str]] = {}
    for number, series in enumerate(list(root.iter("{*}ser"))[:_MOST_SERIES], 1):
        header[number] = next((flatten(_text(each)) for each in series if tag_of(each) == "tx"), "") or f"Series {number}"
        for child in series:
            column = {"cat": 0, "xVal": 0, "val": number, "yVal": number}.get(tag_of(child))
            if column is not None:
                for point, value in _points(child):
                    rows.setdefault(point, {})[column] = value
    paragraphs = [row_text(header, dict(sorted(row.items()))) for _, row in sorted(rows.items())]
    return [f"Chart: {title}" if title else "Chart:", *paragraphs] if paragraphs else []


def _points(child: Any) -> list[tuple[int, str]]:
    found = []
    for point in child.iter("{*}pt"):
        place = attribute(point, "idx")
        value = next((each.text or "" for each in point if tag_of(each) == "v"), "")
        if place.isdecimal() and int(place) < _MOST_POINTS and value:
            found.append((int(place), flatten(value)))
    return found


def _text(element: Any) -> str:
    return " ".join(each.text or "" for each in element.iter("{*}t", "{*}v"))
