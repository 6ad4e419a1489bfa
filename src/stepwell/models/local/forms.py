"""The forms of an answer that the embedded model can be made to give: free text, JSON of a schema, or one tool call.

A form defines what to add to the prompt, which schema the runtime must enforce, and what a finished answer means. It knows nothing about
the runtime. An invalid answer raises `UnfitAnswerError`, with a reason that the model can be told.

Callers choose a form as usual in LangChain: by tools and `tool_choice` (`tool_form`), or by `with_structured_output`
(`structured_output`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.runnables import Runnable, RunnableLambda
from langchain_core.utils.json import parse_partial_json

from stepwell.errors import ConfigurationError
from stepwell.models.local.schemas import bound_schema, checker, class_fault, class_reader, schema_of

Json = dict[str, Any]


class UnfitAnswerError(Exception):
    """The answer does not have the required form; the text is for the model."""


class FreeText:
    """Anything that the model writes."""

    instructions = ""
    checked = False

    def schema(self, attempt: int, max_tokens: int) -> Json | None:
        return None

    def visible(self, text: str) -> str:
        """The part of an unfinished answer that can already be shown."""
        return text

    def finish(self, text: str, call_id: str) -> AIMessageChunk:
        """What follows the visible part."""
        return AIMessageChunk(content="")


@dataclass(frozen=True)
class JsonForm:
    """One JSON value that fits a schema; `check` raises `UnfitAnswerError` for an invalid value."""

    wanted: Json
    check: Callable[[Any], object]
    checked = True

    @property
    def instructions(self) -> str:
        return f"Answer with one JSON value that fits this JSON schema, and nothing else:\n{_compact(self.wanted)}"

    def schema(self, attempt: int, max_tokens: int) -> Json | None:
        return bound_schema(self.wanted, attempt, max_tokens)

    def visible(self, text: str) -> str:
        return ""

    def finish(self, text: str, call_id: str) -> AIMessageChunk:
        self.check(read_json(text))
        return AIMessageChunk(content=text.strip())


@dataclass(frozen=True)
class ToolForm:
    """Either `{"tool": ..., "arguments": ...}` for one of the tools, or `{"answer": "..."}` unless a tool must be called."""

    tools: Sequence[Json]
    """Functions in OpenAI's form: name, description, parameters."""
    must_call: bool
    check: Callable[[Any, Json], object]
    """Raises `UnfitAnswerError` for arguments that do not match a schema."""
    checked = True

    @property
    def instructions(self) -> str:
        tools = "\n".join(_signature(tool) for tool in self.tools)
        # No sample text: small models repeat it.
        answer = "" if self.must_call else ' To answer the user instead, write a JSON object with the key "answer".'
        return f'Tools:\n{tools}\n\nTo call a tool, write {{"tool": "name", "arguments": {{...}}}}.{answer} Write nothing else.'

    def schema(self, attempt: int, max_tokens: int) -> Json | None:
        calls = [_closed_object({"tool": {"const": tool["name"]}, "arguments": _parameters(tool)}) for tool in self.tools]
        answer = [] if self.must_call else [_closed_object({"answer": {"type": "string"}})]
        return bound_schema({"anyOf": [*calls, *answer]}, attempt, max_tokens)

    def visible(self, text: str) -> str:
        """The answer's own text so far."""
        try:
            value = parse_partial_json(text)
        except ValueError:
            return ""
        answer = value.get("answer") if isinstance(value, dict) else None
        return answer if isinstance(answer, str) else ""

    def finish(self, text: str, call_id: str) -> AIMessageChunk:
        value = read_json(text)
        if isinstance(value, dict) and isinstance(value.get("answer"), str) and not self.must_call:
            return AIMessageChunk(content="")
        tool = self._tool(value)
        arguments = value.get("arguments")
        self.check(arguments, _parameters(tool))
        call = tool_call_chunk(name=tool["name"], args=json.dumps(arguments), id=call_id, index=0)
        return AIMessageChunk(content="", tool_call_chunks=[call])

    def _tool(self, value: Any) -> Json:
        name = value.get("tool") if isinstance(value, dict) else None
        for tool in self.tools:
            if tool["name"] == name:
                return tool
        raise UnfitAnswerError(f"'tool' must be one of: {', '.join(tool['name'] for tool in self.tools)}")


Form = FreeText | JsonForm | ToolForm


def read_json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise UnfitAnswerError(f"it is not JSON ({error})") from error


def _parameters(tool: Json) -> Json:
    return tool.get("parameters") or {"type": "object", "properties": {}, "additionalProperties": False}


def _closed_object(properties: Mapping[str, Any]) -> Json:
    return {"type": "object", "properties": dict(properties), "required": list(properties), "additionalProperties": False}


def _signature(tool: Json) -> str:
    """A tool in one line. A full schema says the same in three times the tokens, which are expensive for a small model."""
    parameters = _parameters(tool)
    required = parameters.get("required", ())
    parts = [
        f"{name}{'' if name in required else '?'}: {_type(schema)}" for name, schema in parameters.get("properties", {}).items()
    ]
    return f"- {tool['name']}({', '.join(parts)}): {' '.join(tool.get('description', '').split())}"


def _type(schema: Json) -> str:
    if "enum" in schema:
        return "|".join(_compact(value) for value in schema["enum"])
    if options := schema.get("anyOf"):
        return "|".join(_type(option) for option in options)
    if schema.get("type") == "array":
        return f"[{_type(schema.get('items', {}))}]"
    if schema.get("type") == "object" and schema.get("properties"):
        return "{" + ", ".join(f"{name}: {_type(each)}" for name, each in schema["properties"].items()) + "}"
    return str(schema.get("type", "any"))


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def tool_form(functions: list[Json], choice: str | Json | bool | None) -> Form:
    """The form that lets the model use these tools according to `tool_choice`."""
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
        raise ConfigurationError(
            f"tool_choice is '{choice}', which is not one of the tools: {names}. Name one of them, or 'any'."
        )
    return ToolForm(chosen, must_call=True, check=_check)


def _check(arguments: Any, schema: Json) -> None:
    fault = checker(schema)(arguments)
    if fault:
        raise UnfitAnswerError(f"the arguments do not fit: {fault}")


def structured_output(
    bind: Callable[..., Runnable[Any, Any]], argument: str, wanted: dict[str, Any] | type, include_raw: bool
) -> Runnable[Any, Any]:
    """`with_structured_output`: a model bound to a schema, followed by a step that parses its text."""
    make = class_reader(wanted)
    schema = schema_of(wanted)
    fault_of = checker(schema)

    def check(value: Any) -> None:
        # The class may check more than its schema, with validators of its own.
        fault = fault_of(value) or (class_fault(make, value) if make else None)
        if fault:
            raise UnfitAnswerError(fault)

    def read(message: AIMessage) -> Any:
        value = json.loads(str(message.text))
        parsed = make(value) if make else value
        return {"raw": message, "parsed": parsed, "parsing_error": None} if include_raw else parsed

    told = {"kwargs": {"method": "json_schema"}, "schema": wanted}  # LangChain passes this to traces, not to the model
    bound = bind(**{argument: JsonForm(schema, check)}, ls_structured_output_format=told)
    return bound | RunnableLambda(read, name="read_answer")
