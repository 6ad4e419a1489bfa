"""Which keys and fields an entry has: all of those, and no other."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from tests.unit.research.audit.conftest import Filling

from stepwell.research.audit.forms import check_forms
from stepwell.research.audit.trail import Entry


async def _faults(filled: Filling, kind: str, key: str | None = None, changes: Mapping[str, object] | None = None) -> list[str]:
    """What is wrong with a trail whose first entry of a kind has another key, or other fields; `...` takes one out."""
    entries = await (await filled(1)).entries()
    place = next(number for number, entry in enumerate(entries) if entry.kind == kind)
    old = entries[place]
    data = {name: value for name, value in {**old.data, **(changes or {})}.items() if value is not ...}
    entries[place] = Entry(old.seq, old.kind, key or old.key, old.at, data, old.previous, old.hash)
    return [problem.fact for problem in check_forms(entries)]


async def test_a_trail_of_research_has_the_form(filled: Filling) -> None:
    assert list(check_forms(await (await filled()).entries())) == []


@pytest.mark.parametrize(
    ("kind", "change", "fault"),
    [
        ("question", {"mode": ...}, "mode: Field required"),
        ("question", {"mode": "guessed"}, "mode: Input should be 'written' or 'extractive'"),
        ("question", {"mood": "good"}, "mood: Extra inputs are not permitted"),
        ("plan", {"after": ""}, "after: String should have at least 1 character"),
        ("approval", {"edited_plan": ...}, "edited_plan: Field required"),
        ("approval", {"decision": "edit"}, "only an edit has a plan"),
        ("report", {"claims": None}, "claims: Input should be a valid list"),
        ("claim", {"checks": "3"}, "checks: Input should be a valid integer"),
        ("claim", {"claim_id": "c7"}, "its key is 'claim:c1', and its id another"),
        ("source", {"kind": "device"}, "what came from a device has no address on the web, and was not fetched"),
        ("source", {"url": None}, "a page has an address that begins with http://, https:// or mcp://"),
    ],
)
async def test_a_field_that_is_missing_unknown_or_of_another_kind_is_named(
    filled: Filling, kind: str, change: dict[str, object], fault: str
) -> None:
    assert any(fault in each for each in await _faults(filled, kind, changes=change))


@pytest.mark.parametrize(
    ("kind", "key"),
    [
        ("question", "question"),
        ("question", "q0:question"),
        ("question", "q1:question:x"),
        ("plan", "q1:plan"),
        ("approval", "q1:approved:1"),
        ("report", "q1:reported"),
        ("report", "deep:report:1"),
        ("response", "q1:1:page:reply"),
        ("origin", "origins"),
    ],
)
async def test_a_key_that_no_entry_of_its_kind_has_is_named(filled: Filling, kind: str, key: str) -> None:
    if kind == "origin":
        faults = [each.fact for each in check_forms([Entry(1, "origin", key, "", {}, "", "")])]
    else:
        faults = await _faults(filled, kind, key)
    assert any(f"no entry of this kind has the key '{key}'" in each for each in faults)


async def test_an_entry_belongs_to_a_question_before_it(filled: Filling) -> None:
    assert any("belongs to no question of the trail before it" in each for each in await _faults(filled, "plan", "q2:plan:1"))


@pytest.mark.parametrize("key", ["q1:plan:1", "q1:plan:1:2", "q1:plan:12:edited", "q1:plan:1:edited:3"])
async def test_a_second_plan_at_one_place_has_a_number(filled: Filling, key: str) -> None:
    assert await _faults(filled, "plan", key) == []
