"""Rows of cells as text: `Header: value; Header: value`, so that a row can be read and quoted alone.

A row is its cells by column; columns without a value are missing. A wide sheet with three values costs three values.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

Row = Mapping[int, str]

LOOKED_AT = 12
"""How many rows of a table are looked at to find its header."""
_LONGEST_HEADER = 120
_FILLED = 0.6
"""The share of the columns in use that a header has to name."""
_NUMBER = re.compile(r"[-+(]?\s?[$€£¥]?\s?\d[\d.,']*\s?[%$€£¥kKmM]?\)?|-|n/?a", re.I)
_YEAR = re.compile(r"(?:19|20)\d\d")


class Layout(NamedTuple):
    """How the rows of a table are to be read. The rows above `header` are titles."""

    header: int | None
    is_pairs: bool = False
    """Names with their values (`Company | Acme`, `Year | 2025`)."""


def flatten(text: str) -> str:
    """A cell's text on one line."""
    return " ".join(text.split())


def row_of(values: Iterable[str]) -> Row:
    """A row from the values of all its columns."""
    return {column: value for column, value in enumerate(values) if value}


def row_text(header: Row, row: Row, *, is_pair: bool = False) -> str:
    """A row as one paragraph. A cell without a header stands alone."""
    if is_pair:
        return ": ".join(row.values())
    return "; ".join(f"{header[column]}: {value}" if column in header else value for column, value in row.items())


def look_at(rows: Sequence[Row]) -> Layout:
    """Finds the row that names the columns among the first rows of a table."""
    rows = rows[:LOOKED_AT]
    used = {column for row in rows for column in row}
    if _are_pairs(rows):
        return Layout(None, is_pairs=True)
    for place, row in enumerate(rows[:-1]):
        if len(row) > 1:  # one with a single value is a title or a remark
            return Layout(place if _names_columns(list(row.values()), len(used)) else None)
    return Layout(None)


def table_paragraphs(rows: Iterable[Row], *, has_header: bool = False) -> list[str]:
    """The paragraphs of a table: titles, then one for each row. `has_header` says that the first row is known to be the header."""
    rows = [row for row in rows if row]
    if len(rows) < 2 or max(map(len, rows)) < 2:  # layout, not data
        return [value for row in rows for value in row.values()]
    layout = Layout(0) if has_header else look_at(rows)
    header = {} if layout.header is None else rows[layout.header]
    return [
        row_text({} if layout.header is None or place < layout.header else header, row, is_pair=layout.is_pairs)
        for place, row in enumerate(rows)
        if place != layout.header
    ]


def is_number(value: str) -> bool:
    """Whether a cell shows a number, an amount or a percentage."""
    return len(value) < 40 and bool(_NUMBER.fullmatch(value))


def _names_columns(values: Sequence[str], width: int) -> bool:
    if len(values) < _FILLED * width or any(len(value) > _LONGEST_HEADER for value in values):
        return False
    numbers = [value for value in values if is_number(value)]
    # Years name columns if something else is beside them (`Region, 2023, 2024`); other numbers do not.
    return all(map(_YEAR.fullmatch, numbers)) and len(numbers) < len(values)


def _are_pairs(rows: Sequence[Row]) -> bool:
    pairs = [list(row.values()) for row in rows if len(row) != 1]
    if len(pairs) < 2 or any(len(pair) != 2 for pair in pairs):
        return False
    names = [name for name, _ in pairs]
    below = [is_number(value) for _, value in pairs[1:]]
    # Below a header, a column holds one kind of value.
    is_mixed = any(below) and not all(below)
    return is_mixed and len(set(names)) == len(names) and not any(map(is_number, names))
