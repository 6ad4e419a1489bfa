"""Text tables that the operator's commands print for people. Programs use `--json`."""

from __future__ import annotations

from collections.abc import Collection, Sequence


def align(rows: Sequence[Sequence[str]], *, numbers: Collection[int] = ()) -> list[str]:
    """The rows as lines with aligned columns; those in `numbers` are right-aligned."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if at in numbers else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def short_time(text: str | None) -> str:
    """A timestamp of the API cut to the second, without its zone, which is always UTC."""
    return (text or "?")[:19].replace("T", " ")
