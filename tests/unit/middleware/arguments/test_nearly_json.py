"""Nearly JSON: what models write is read without guessing, and no word is lost or invented."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.growth import assert_linear

from stepwell.middleware.arguments.nearly_json import NotNearlyJsonError, read_nearly_json

READ = [
    ('{"a": 1}', {"a": 1}, []),
    ("{'a': 'x'}", {"a": "x"}, ["single quotes became double quotes"]),
    ('{"a": [1, 2,], }', {"a": [1, 2]}, ["a trailing comma was removed"]),
    ('{"a": True, "b": None}', {"a": True, "b": None}, ["Python's True, False or None became JSON's"]),
    ('```json\n{"a": 1}\n```', {"a": 1}, ["a code fence was removed"]),
    ('{"a": "x\ny\tz"}', {"a": "x\ny\tz"}, ["line breaks and tabs inside a string were escaped"]),
    ('{a: "x"}', {"a": "x"}, ["keys were put in quotes"]),
    (r'{"a": "\d+\.py"}', {"a": r"\d+\.py"}, ["a backslash was escaped"]),
    (r"{'a': 'it\'s'}", {"a": "it's"}, ["single quotes became double quotes"]),
    (r"""{'a': "\ud83d\ude00"}""", {"a": "😀"}, ["single quotes became double quotes"]),
    ("{'a': '\"'}", {"a": '"'}, ["single quotes became double quotes"]),
    ('{"a": {"b": [{}, []]},}', {"a": {"b": [{}, []]}}, ["a trailing comma was removed"]),
]

REJECTED = [
    "",
    "{",
    '{"a": "x',
    '{"a": "say "hi" now"}',
    "{'a': 'it's'}",
    '{"a": 1, "a": 2,}',
    '{"a": 1} and more',
    'Here it is: {"a": 1}',
    '{"a": NaN,}',
    '{"a": 1 "b": 2}',
    "{'a': undefined}",
    "{'a': 01}",
    '{"a": "\\u12',
    "{'a': '\\ud83d'}",
    "{'a': 1}}",
    "[" * 500,
    "{,}",
    "[,]",
    "{'a'}",
    "{'a':}",
]


@pytest.mark.parametrize(("text", "value", "repairs"), READ)
def test_what_models_write_is_read(text: str, value: Any, repairs: list[str]):
    assert read_nearly_json(text, is_finished=False) == (value, repairs)


@pytest.mark.parametrize("text", REJECTED)
@pytest.mark.parametrize("is_finished", [True, False])
def test_what_would_need_a_guess_is_rejected(text: str, is_finished: bool):
    with pytest.raises(NotNearlyJsonError):
        read_nearly_json(text, is_finished=is_finished)


@pytest.mark.parametrize("text", ['{"a": "x"', '{"a": ["x"', '{"a": {"b": true', "{'a': ['x', {}]"])
def test_closing_brackets_are_added_only_to_an_answer_that_was_finished(text: str):
    value, repairs = read_nearly_json(text, is_finished=True)
    assert json.dumps(value)
    assert "missing closing brackets were added" in repairs
    with pytest.raises(NotNearlyJsonError):
        read_nearly_json(text, is_finished=False)


@pytest.mark.parametrize("text", ['{"a": 12', '{"a": "x",', '{"a":', '{"a"', '{"a": "x"}, {'])
def test_an_end_that_may_be_a_cut_is_never_closed(text: str):
    with pytest.raises(NotNearlyJsonError):
        read_nearly_json(text, is_finished=True)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
OBJECT = st.dictionaries(st.text(max_size=8), JSON, max_size=4)


@given(OBJECT)
def test_json_is_read_as_it_is(value: dict[str, Any]):
    assert read_nearly_json(json.dumps(value), is_finished=False) == (value, [])


@given(OBJECT)
def test_a_python_dict_is_read_as_the_same_value(value: dict[str, Any]):
    """What `repr` writes: single quotes, True, None, and escapes. Escapes that only Python has (`\\x00`) may be rejected."""
    text = repr(value)
    if re.search(r"\\[^'\"\\nrtu]", text) or re.search(r"[\x00-\x1f\x7f]", text):
        return
    assert read_nearly_json(text, is_finished=False)[0] == value


@given(OBJECT, st.data())
@settings(max_examples=300)
def test_a_beginning_is_never_read_as_the_whole(value: dict[str, Any], data: st.DataObject):
    """Cut anywhere, in either form: nothing is read unless the model is known to have finished."""
    text = data.draw(st.sampled_from([json.dumps(value), repr(value), json.dumps(value, ensure_ascii=False)]))
    cut = text[: data.draw(st.integers(0, len(text) - 1))]
    with pytest.raises(NotNearlyJsonError):
        read_nearly_json(cut, is_finished=False)


@given(st.text(alphabet="{}[]\"':, \n\\abTrueNon0123", max_size=40), st.booleans())
@settings(max_examples=500)
def test_no_word_is_lost_or_invented(text: str, is_finished: bool):
    try:
        value, _ = read_nearly_json(text, is_finished=is_finished)
    except NotNearlyJsonError:
        return
    said = text.replace("```", "")
    for python, ours in (("True", "true"), ("None", "null")):
        said = said.replace(python, ours)
    assert _letters(json.dumps(value, ensure_ascii=False)) == _letters(said.replace("True", "true"))


def _letters(text: str) -> list[str]:
    """The words of a text without its punctuation and escapes."""
    plain = re.sub(r"\\u[0-9a-f]{4}|\\[nrtbf]", "", text.replace("True", "true").replace("None", "null"))
    return re.findall(r"[A-Za-z0-9]", plain)


def test_reading_takes_time_in_proportion_to_the_text():
    def read(text: str) -> object:
        return read_nearly_json(text, is_finished=False)

    assert_linear(read, lambda size: "{'a': '" + "x\n" * size + "',}", 5_000)
    assert_linear(read, lambda size: "['a'" + ", [1,]" * size + ",]", 2_000)


@pytest.mark.parametrize("text", ['{"to": "ann", "to": "bob"}', '[{"a": {"to": 1, "to": 2}}]'])
def test_two_values_for_one_key_are_rejected_in_json_too(text: str):
    with pytest.raises(NotNearlyJsonError, match="twice"):
        read_nearly_json(text, is_finished=True)
