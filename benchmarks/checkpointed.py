"""Claim: with a checkpointer a deep agent is cheaper than a plain one, because its messages are stored as changes."""

from __future__ import annotations

from benchmarks.bench import Bench, Row
from benchmarks.step import compare


def rows(bench: Bench) -> list[Row]:
    return [
        compare(
            bench,
            colour,
            limit=0.4,
            claim=f"CPU per no-op step with InMemorySaver, {colour}",
            target="≤ 0.4x floor",
            label=f"checkpointed {colour}",
            checkpointed=True,
        )
        for colour in ("sync", "async")
    ]
