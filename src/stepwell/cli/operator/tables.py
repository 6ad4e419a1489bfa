"""Rows of text under one another: what the operator's commands print for people. Programs ask for `--json`."""

from __future__ import annotations

from collections.abc import Collection, Sequence


def align(rows: Sequence[Sequence[str]], *, numbers: Collection[int] = ()) -> list[str]:
    """Lines with all cells of a column equally wide; the columns in `numbers` end at the right, so that digits are under digits."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if at in numbers else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def short_time(text: str | None) -> str:
    """A time of the API to the second, without its zone, which is UTC everywhere."""
    return (text or "?")[:19].replace("T", " ")
