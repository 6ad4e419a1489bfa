"""From tools and `tool_choice` to the form of an answer."""

from __future__ import annotations

from typing import Any

from stepwell.errors import ConfigurationError
from stepwell.models.local.forms import Form, FreeText, ToolForm, Unfit
from stepwell.models.local.schemas import checker

Json = dict[str, Any]


def tool_form(functions: list[Json], choice: str | Json | bool | None) -> Form:
    """The form that lets the model use these tools as the choice says."""
    if isinstance(choice, dict):  # OpenAI's {"type": "function", "function": {"name": ...}}, Anthropic's {"name": ...}
        choice = (choice.get("function") or choice).get("name") or choice.get("type")
    if not functions or choice == "none":
        return FreeText()
    if choice in (None, False, "auto"):
        return ToolForm(functions, must_call=False, check=_check)
    if choice in (True, "any", "required"):
        return ToolForm(functions, must_call=True, check=_check)
    chosen = [function for function in functions if function["name"] == choice]
    if not chosen:
        names = ", ".join(function["name"] for function in functions)
        raise ConfigurationError(f"tool_choice is '{choice}', which is none of the tools: {names}. Name one of them, or 'any'.")
    return ToolForm(chosen, must_call=True, check=_check)


def _check(arguments: Any, schema: Json) -> None:
    fault = checker(schema)(arguments)
    if fault:
        raise Unfit(f"the arguments do not fit: {fault}")
