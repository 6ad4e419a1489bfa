"""What the embedded model's chunks become: text, JSON, calls of tools, another attempt, or an error. No model is loaded."""

from __future__ import annotations

import json

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from pydantic import BaseModel, field_validator
from pydantic.v1 import BaseModel as OldBaseModel
from pydantic.v1 import validator as old_validator

from stepwell.errors import AnswerCutError, ConfigurationError, ModelAnswerError
from stepwell.models.local.chat_model import EmbeddedChatModel
from stepwell.models.local.forms import FreeText, JsonForm, UnfitAnswerError, tool_form
from stepwell.models.local.messages import chat_lines
from stepwell.models.local.reply import ATTEMPTS, Asking
from stepwell.models.local.schemas import bound_schema, checker, class_fault, class_reader, schema_of

ADD = {
    "name": "add",
    "description": "Add two numbers.",
    "parameters": {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "required": ["a", "b"],
    },
}
NOTE = {
    "name": "note",
    "description": "Keep a note.",
    "parameters": {"type": "object", "properties": {"text": {"type": "string"}}},
}


class Plan(BaseModel):
    goal: str


def asking(form, max_tokens: int = 100, **options) -> Asking:
    return Asking([{"role": "user", "content": "go"}], form, {"max_tokens": max_tokens, **options}, "tiny", new_id=lambda: "1")


def answer(ask: Asking, text: str, reason: str | None = "stop", size: int = 4, used: int = 3):
    """Begin an attempt and let the model say this, in small pieces."""
    body = ask.begin()
    pieces = [text[i : i + size] for i in range(0, len(text), size)]
    shown = [
        c.message.content for p in pieces for c in ask.feed({"choices": [{"delta": {"content": p}, "finish_reason": None}]})
    ]
    list(ask.feed({"choices": [{"delta": {}, "finish_reason": reason}]}))
    list(ask.feed({"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": used}}))
    return body, shown, ask.end()


def test_text_streams_as_it_comes_and_ends_with_usage():
    body, shown, last = answer(asking(FreeText()), "Hello there")
    assert "".join(shown) == "Hello there"
    assert len(shown) == 3
    assert "json_schema" not in body
    assert last.message.usage_metadata == {"input_tokens": 7, "output_tokens": 3, "total_tokens": 10}
    assert last.message.response_metadata == {"finish_reason": "stop", "model_provider": "local", "model_name": "tiny"}


def test_text_cut_at_the_limit_is_an_error_that_keeps_the_part():
    with pytest.raises(AnswerCutError, match="cut at 100 tokens") as caught:
        answer(asking(FreeText()), "Hello", reason="length", used=100)
    assert caught.value.partial == "Hello"


def test_text_cut_at_the_end_of_the_context_says_so():
    with pytest.raises(AnswerCutError, match=r"end of its context.*Shorten the conversation"):
        answer(asking(FreeText()), "Hello", reason="length", used=99)


def test_a_stream_without_an_end_is_an_error():
    with pytest.raises(ModelAnswerError, match="stopped in the middle"):
        answer(asking(FreeText()), "Hello", reason=None)


def test_an_answer_beside_tools_streams_as_plain_text():
    _, shown, last = answer(asking(tool_form([ADD], None)), '{"answer": "Two and \\"three\\" make five."}')
    assert "".join(shown) == 'Two and "three" make five.'
    assert last.message.tool_call_chunks == []


def test_a_call_becomes_a_tool_call_and_shows_nothing():
    _, shown, last = answer(asking(tool_form([ADD, NOTE], "auto")), '{"tool": "add", "arguments": {"a": 2, "b": 3}}')
    assert shown == []
    message = AIMessage(content="", tool_calls=last.message.tool_calls)
    assert [(call["name"], call["args"], call["id"]) for call in message.tool_calls] == [("add", {"a": 2, "b": 3}, "call_1")]


def test_wrong_arguments_are_asked_for_again_with_the_reason():
    ask = asking(tool_form([ADD], "any"), seed=5)
    body, _, last = answer(ask, '{"tool": "add", "arguments": {"a": "two", "b": 3}}')
    assert (last, body["seed"]) == (None, 5)
    body, _, last = answer(ask, '{"tool": "add", "arguments": {"a": 2, "b": 3}}')
    assert last.message.tool_calls[0]["args"] == {"a": 2, "b": 3}
    assert body["seed"] == 6
    assert "$.a: 'two' is not of type 'integer'" in body["messages"][-1]["content"]


def test_attempts_are_bounded_and_only_the_last_mistake_is_repeated():
    ask = asking(tool_form([ADD], "any"))
    wrong = '{"tool": "nothing", "arguments": {}}'
    bodies = [answer(ask, wrong)[0] for _ in range(ATTEMPTS - 1)]
    with pytest.raises(ModelAnswerError, match=f"in {ATTEMPTS} attempts: 'tool' must be one of: add"):
        answer(ask, wrong)
    assert [len(body["messages"]) for body in bodies] == [1, 3]


def test_json_cut_at_the_limit_is_asked_for_again_with_tighter_bounds():
    schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    ask = asking(JsonForm(schema, lambda value: None))
    first, _, last = answer(ask, '{"text": "on and on', reason="length")
    assert last is None
    second, _, last = answer(ask, '{"text": "short"}')
    assert json.loads(last.message.content) == {"text": "short"}
    limits = [body["json_schema"]["properties"]["text"]["maxLength"] for body in (first, second)]
    assert limits[1] < limits[0] <= 250
    assert "too long" in second["messages"][-1]["content"]


def test_an_answer_that_was_partly_shown_is_not_asked_for_again():
    with pytest.raises(AnswerCutError):
        answer(asking(tool_form([ADD], None)), '{"answer": "A long stor', reason="length")


@pytest.mark.parametrize(
    ("choice", "tools", "answers"),
    [
        (None, ["add", "note"], True),
        ("auto", ["add", "note"], True),
        ("any", ["add", "note"], False),
        ("required", ["add", "note"], False),
        (True, ["add", "note"], False),
        ("note", ["note"], False),
        ({"type": "function", "function": {"name": "add"}}, ["add"], False),
        ({"type": "tool", "name": "add"}, ["add"], False),
        ({"type": "any"}, ["add", "note"], False),
    ],
)
def test_tool_choice_decides_what_may_be_written(choice, tools: list[str], answers: bool):
    options = tool_form([ADD, NOTE], choice).schema(0, 100)["anyOf"]
    assert [each["properties"]["tool"]["const"] for each in options if "tool" in each["properties"]] == tools
    assert any("answer" in each["properties"] for each in options) == answers


def test_tool_choice_none_is_plain_text():
    assert isinstance(tool_form([ADD], "none"), FreeText)
    assert isinstance(tool_form([], None), FreeText)


def test_tool_choice_of_an_unknown_tool_is_refused():
    with pytest.raises(ConfigurationError, match="tool_choice is 'sub', which is not one of the tools: add, note"):
        tool_form([ADD, NOTE], "sub")


def test_tools_are_described_in_a_line_each():
    text = tool_form([ADD, NOTE], None).instructions
    assert "- add(a: integer, b: integer): Add two numbers." in text
    assert "- note(text?: string): Keep a note." in text


def test_the_longest_answer_of_a_bounded_schema_fits_the_tokens():
    plan = {
        "type": "object",
        "properties": {"steps": {"type": "array", "items": {"type": "object", "properties": {"title": {"type": "string"}}}}},
    }
    steps = bound_schema(plan, 0, 400)["properties"]["steps"]
    assert steps["maxItems"] * steps["items"]["properties"]["title"]["maxLength"] < 400 * 3
    assert "maxItems" not in plan["properties"]["steps"]


def test_bounds_of_the_callers_own_stay():
    schema = {"type": "array", "maxItems": 50, "items": {"type": "string", "maxLength": 9000}}
    assert bound_schema(schema, 2, 100) == schema
    assert bound_schema({"type": "string", "enum": ["a"]}, 0, 100) == {"type": "string", "enum": ["a"]}
    assert bound_schema({"type": "array", "minItems": 30}, 2, 100)["maxItems"] == 30


def test_a_schema_that_is_none_is_refused():
    with pytest.raises(ConfigurationError, match="not a valid JSON schema"):
        checker({"type": "nonsense"})
    with pytest.raises(ConfigurationError, match="No JSON schema can be made"):
        schema_of(int)


def test_a_class_is_asked_too_because_it_knows_more_than_its_schema():
    class Even(BaseModel):
        number: int

        @field_validator("number")
        @classmethod
        def even(cls, number: int) -> int:
            if number % 2:
                raise ValueError("must be even")
            return number

    assert checker(schema_of(Even))({"number": 3}) is None
    assert class_fault(class_reader(Even), {"number": 3}) == "number: must be even"


def test_a_class_of_pydantic_1_is_made_and_asked_too():
    class Even(OldBaseModel):
        number: int

        @old_validator("number")
        def even(cls, number: int) -> int:
            if number % 2:
                raise ValueError("must be even")
            return number

    assert schema_of(Even)["properties"]["number"]["type"] == "integer"
    assert class_reader(Even)({"number": 2}) == Even(number=2)
    assert class_fault(class_reader(Even), {"number": 3}) == "number: must be even"


def test_structured_output_tells_traces_its_schema():
    bound = EmbeddedChatModel().with_structured_output(Plan).first
    assert bound.kwargs["ls_structured_output_format"] == {"kwargs": {"method": "json_schema"}, "schema": Plan}


def test_what_is_no_json_is_unfit():
    with pytest.raises(UnfitAnswerError, match="not JSON"):
        JsonForm({}, lambda value: None).finish("no", "id")


def test_a_conversation_with_tools_becomes_turns_of_two_roles():
    call = {"name": "add", "args": {"a": 1, "b": 2}, "id": "c1"}
    lines = chat_lines(
        [
            SystemMessage("Be brief."),
            HumanMessage("One plus two?"),
            AIMessage("", tool_calls=[call]),
            ToolMessage("3", name="add", tool_call_id="c1"),
            HumanMessage([{"type": "text", "text": "And?"}]),
        ],
        "Use tools.",
    )
    assert [line["role"] for line in lines] == ["system", "user", "assistant", "user"]
    assert lines[0]["content"] == "Be brief.\n\nUse tools."
    assert json.loads(lines[2]["content"]) == {"tool": "add", "arguments": {"a": 1, "b": 2}}
    assert lines[3]["content"] == "Result of add:\n3\n\nAnd?"


def test_a_conversation_always_begins_with_the_user():
    assert chat_lines([AIMessage("Hi")])[0]["role"] == "user"
    assert chat_lines([SystemMessage("S")])[-1]["role"] == "user"


def test_an_image_is_refused_by_its_type():
    with pytest.raises(ConfigurationError, match=r"reads only text.*'image_url'"):
        chat_lines([HumanMessage([{"type": "image_url", "image_url": {"url": "data:"}}])])
