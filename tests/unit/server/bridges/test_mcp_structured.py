"""What a tool's result carries of a graph's values."""

from __future__ import annotations

import orjson

from stepwell.server.bridges.mcp.structured import MAX_BYTES, structured_content
from stepwell.server.bridges.turns import Outcome


def answered(text: str = "", **values: object) -> Outcome:
    return Outcome("answered", text, None, values)


def test_an_agents_files_and_plans_stay_with_the_server() -> None:
    outcome = answered(
        "Done.",
        messages=[{"type": "human"}],
        files={"/a": "x" * 2_000_000},
        todos=[{}],
        _private=1,
        structured_response={"a": 1},
    )
    assert structured_content(outcome, None) == {
        "messages": [{"role": "assistant", "content": "Done."}],
        "structured_response": {"a": 1},
    }


def test_only_declared_output_is_shown() -> None:
    assert structured_content(answered(total=5, scratch="internal"), {"total"}) == {"total": 5}


def test_what_is_too_long_is_named() -> None:
    shown = structured_content(answered(report="x" * 60_000, more="y" * 10_000, total=5), None)
    assert shown.keys() == {"more", "total", "left_out"}
    assert shown["left_out"].startswith("report: longer than 50000 bytes")
    assert len(orjson.dumps(shown)) < MAX_BYTES


def test_a_value_that_is_no_object_is_wrapped() -> None:
    assert structured_content(Outcome("answered", "", None, "HEY"), None) == {"value": "HEY"}
