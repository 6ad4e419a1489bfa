"""A value of a given form from a model: extraction, validation, three tries with the error fed back. Mission R4."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from pydantic import BaseModel

from stepwell.errors import ModelAnswerError
from stepwell.research.evidence.asking import MAX_ATTEMPTS, ask_for
from stepwell.testing import ScriptedModel, expect
from stepwell.validation import extract_json


class Fruit(BaseModel):
    name: str
    seeds: int


class Calls:
    """Calls the model each time, and notes the keys."""

    def __init__(self) -> None:
        self.keys: list[str] = []

    async def call(self, key: str, role: str, messages: list[BaseMessage], model: BaseChatModel) -> str:
        self.keys.append(key)
        return str((await model.ainvoke(messages)).text)


async def ask(model: ScriptedModel, calls: Calls | None = None, check=None) -> Fruit:
    return await ask_for(
        Fruit, model=model, calls=calls or Calls(), key="k", role="gardener", system="S", user="U", check=check
    )


GOOD = '{"name": "apple", "seeds": 5}'


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        f"Here you are:\n```json\n{GOOD}\n```\nAnything else?",
        f"Let me think {{about}} it. {GOOD} {{",
        f"<think>{{</think>{GOOD}",
    ],
)
async def test_json_is_found_among_the_talk_around_it(text: str) -> None:
    assert await ask(ScriptedModel([text])) == Fruit(name="apple", seeds=5)


async def test_an_unusable_answer_is_asked_for_again_with_the_error() -> None:
    model = ScriptedModel(
        [
            "I would rather not.",
            expect(
                lambda asked: "there is no JSON object in it" in asked.human and "I would rather" in asked.human,
                then='{"name": "a"}',
            ),
            expect(lambda asked: "seeds: Field required" in asked.human, then=GOOD),
        ]
    )
    calls = Calls()
    assert (await ask(model, calls)).seeds == 5
    assert calls.keys == ["k:1", "k:2", "k:3"], "each try has its own key, so that it is recorded"
    model.assert_finished()


async def test_after_three_tries_it_is_given_up_with_the_last_complaint() -> None:
    model = ScriptedModel(["no", "no", '{"name": 1, "seeds": 2}'])
    with pytest.raises(ModelAnswerError, match=f"The model gave no usable answer in {MAX_ATTEMPTS} tries.*name"):
        await ask(model)
    assert (MAX_ATTEMPTS, len(model.asked)) == (3, 3)


async def test_a_callers_own_objection_is_fed_back_too() -> None:
    model = ScriptedModel([GOOD, expect(lambda asked: "too many seeds" in asked.human, then='{"name": "plum", "seeds": 1}')])
    assert (await ask(model, check=lambda fruit: "too many seeds" if fruit.seeds > 1 else None)).name == "plum"
    model.assert_finished()


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.text(), values, max_size=3), st.text().filter(lambda text: "{" not in text), st.text())
def test_the_first_object_is_found_whatever_stands_around_it(value: dict[str, object], before: str, after: str) -> None:
    assert extract_json(f"{before}{json.dumps(value)}{after}") == value


@given(st.text())
def test_any_text_gives_an_object_or_a_value_error(text: str) -> None:
    with suppress(ValueError):
        assert isinstance(extract_json(text), dict)
