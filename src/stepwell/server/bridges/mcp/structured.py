"""`structuredContent` of a tool's result. Clients give it to their models, so it holds what the graph returns and not all that it keeps."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import orjson

from stepwell.server.bridges.turns import Outcome

MAX_BYTES = 50_000
_KEPT_HERE = frozenset({"files", "todos"})
"""What agents keep while they work. Files may be many and large."""


def structured_content(outcome: Outcome, fields: Collection[str] | None) -> dict[str, Any]:
    """The values that the graph declares as its output (`fields`; None if that is not known). Of its messages only the answer: the caller
    has the others, or does not need them. Entries that are too long are left out and named, the largest first."""
    if not isinstance(outcome.values, dict):
        return _shortened({"value": outcome.values})
    shown = {name: value for name, value in outcome.values.items() if name not in _KEPT_HERE and not name.startswith("_")}
    if fields is not None:
        shown = {name: value for name, value in shown.items() if name in fields}
    if "messages" in shown:
        shown["messages"] = [{"role": "assistant", "content": outcome.text}] if outcome.text else []
    return _shortened(shown)


def _shortened(values: dict[str, Any]) -> dict[str, Any]:
    sizes = {name: len(orjson.dumps(value)) for name, value in values.items()}
    left_out = []
    for name in sorted(sizes, key=lambda name: sizes[name], reverse=True):
        if sum(sizes.values()) <= MAX_BYTES:
            break
        left_out.append(name)
        del sizes[name]
    if not left_out:
        return values
    said = f"{', '.join(left_out)}: longer than {MAX_BYTES} bytes together with the rest. Call with a thread_id; its state has everything."
    return {**{name: value for name, value in values.items() if name in sizes}, "left_out": said}
