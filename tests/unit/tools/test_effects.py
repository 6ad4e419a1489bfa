"""Tools declare their effect."""

from __future__ import annotations

import pytest
from langchain_core.tools import tool

from stepwell.errors import ConfigurationError
from stepwell.tools.effects import EFFECT, effect_of, with_effect
from stepwell.tools.mcp_calls import effect_of_hints


def look(name: str) -> str:
    """Look something up."""
    return name


def test_a_tool_that_says_nothing_is_idempotent():
    assert effect_of(look) == "idempotent"
    assert effect_of(tool(look)) == "idempotent"
    assert effect_of({"name": "a provider's own tool"}) == "idempotent"


def test_a_function_keeps_its_effect_when_it_becomes_a_tool():
    @with_effect("once")
    def send(text: str) -> str:
        """Send a text."""
        return text

    assert effect_of(send) == effect_of(tool(send)) == "once"


def test_a_tool_is_copied_and_stays_as_it_was():
    plain = tool(look)
    reading = with_effect("read")(plain)
    assert (effect_of(reading), effect_of(plain)) == ("read", "idempotent")
    assert reading.metadata == {EFFECT: "read"}
    assert reading.invoke({"name": "a"}) == "a"


def test_an_unknown_effect_is_refused():
    with pytest.raises(ConfigurationError, match="Unknown effect 'twice'"):
        with_effect("twice")


@pytest.mark.parametrize(
    ("hints", "effect"),
    [
        ({}, "idempotent"),
        ({"readOnlyHint": True}, "read"),
        ({"destructiveHint": True}, "once"),
        ({"destructiveHint": True, "readOnlyHint": True}, "once"),
        ({"readOnlyHint": True, "idempotentHint": False}, "read"),
        ({"destructiveHint": False, "idempotentHint": False}, "once"),
        ({"destructiveHint": False, "idempotentHint": None}, "idempotent"),
    ],
)
def test_effects_of_mcp_hints(hints: dict[str, object], effect: str):
    assert effect_of_hints(hints) == effect
