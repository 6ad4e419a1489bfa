"""The chain: its bytes are fixed, and every change of it is found."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell.errors import EvidenceDamagedError, EvidenceError
from stepwell.research.audit.canonical import canonical
from stepwell.research.audit.trail import GENESIS, KINDS, Entry, NewEntry, check_chain, from_line, head, seal, to_line

AT = "2026-01-02T03:04:05+00:00"
TEXT = st.text(st.characters(exclude_categories=["Cs"]))
DATA = st.dictionaries(
    TEXT,
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | TEXT,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
        max_leaves=8,
    ),
    max_size=4,
)


def chain(*data: dict) -> list[Entry]:
    entries: list[Entry] = []
    for n, each in enumerate(data, 1):
        entries.append(seal(NewEntry("plan", f"k{n}", each), seq=n, at=AT, previous=head(entries)))
    return entries


def test_the_hash_can_be_made_by_anybody():
    entry = seal(NewEntry("plan", "k", {"b": 1, "a": "ü"}), seq=1, at=AT, previous=GENESIS)
    text = f'{{"at":"{AT}","data":{{"a":"ü","b":1}},"key":"k","kind":"plan","previous":"{GENESIS}","seq":1}}'
    assert entry.hash == hashlib.sha256(text.encode()).hexdigest()


@given(st.lists(DATA, max_size=5))
def test_a_trail_survives_its_lines(data: list[dict]):
    entries = chain(*data)
    assert [from_line(to_line(entry)) for entry in entries] == entries
    assert check_chain(entries) == []


@given(DATA)
def test_canonical_json_has_one_form(data: dict):
    assert canonical(dict(reversed(list(data.items())))) == canonical(data)


@pytest.mark.parametrize(("value", "place"), [({"a": [1, 0.1]}, r"data\.a\[1\]"), ({"a": {"b": {1}}}, r"data\.a\.b is a set")])
def test_what_cannot_be_written_is_named_by_its_place(value: dict, place: str):
    with pytest.raises(EvidenceError, match=place):
        canonical(value)


@pytest.mark.parametrize(
    "change",
    [
        {"seq": 9},
        {"kind": "audit"},
        {"key": "other"},
        {"at": AT.replace("01", "02")},
        {"data": {"n": 9}},
        {"previous": "1" * 64},
        {"hash": "2" * 64},
        {"kind": "gossip"},
        {"data": {"n": 0.5}},
    ],
)
@pytest.mark.parametrize("position", [0, 1, 2])
def test_every_changed_field_is_found(change: dict, position: int):
    entries = chain({"n": 1}, {"n": 2}, {"n": 3})
    entries[position] = replace(entries[position], **change)
    assert f"entry {position + 1}" in {problem.where for problem in check_chain(entries)}


def test_dropped_swapped_and_repeated_entries_are_found():
    a, b, c = chain({"n": 1}, {"n": 2}, {"n": 3})
    assert check_chain([a, c])
    assert check_chain([b, c])
    assert check_chain([b, a, c])
    assert any("key 'k1' of entry 1" in problem.fact for problem in check_chain([a, a]))


@pytest.mark.parametrize("line", [b"", b"nonsense\n", b"[]\n", b"{}\n", b'{"seq":true}\n', b"\xff\n"])
def test_a_line_that_is_no_entry_is_refused(line: bytes):
    with pytest.raises(EvidenceDamagedError):
        from_line(line)


def test_the_kinds_are_those_of_the_contract():
    assert set(KINDS) >= {"question", "plan", "audit", "approval", "request", "response", "source", "quote", "claim", "report"}
