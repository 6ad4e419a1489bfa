"""Which words of a query may be sent once private material was read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell.research.audit.memory_vault import MemoryVault
from stepwell.research.audit.trail import NewEntry
from stepwell.research.evidence.policy.private_material import RULE, PrivateMaterial, choose_words

ASKED = ["How", "long", "is", "the", "Quellmouth", "bridge", "and", "who", "designed", "it"]


@pytest.mark.parametrize(
    ("query", "sent"),
    [
        ("Quellmouth bridge", "Quellmouth bridge"),
        ("QUELLMOUTH, bridges!", "Quellmouth bridge"),
        ("who designs it", "who designed it"),
        ("Quellmouth-bridge", ""),
        ("bridge Quellmouth", ""),
        ("bridge bridge", ""),
        ("Quellmouth bridge length", ""),
        ("Quellmouth bridge 42", ""),
        ("...", ""),
    ],
)
def test_a_query_is_sent_in_the_words_of_the_question(query: str, sent: str):
    assert " ".join(choose_words(query, ASKED)) == sent


@given(st.text(max_size=80))
def test_whatever_is_sent_is_a_part_of_the_question(query: str):
    rest = iter(ASKED)
    assert all(word in rest for word in choose_words(query, ASKED))


async def thread(*questions: str) -> tuple[MemoryVault, PrivateMaterial]:
    vault = MemoryVault()
    for number, question in enumerate(questions):
        await vault.append(NewEntry("question", f"deep:{number}", {"query": question}))
    return vault, PrivateMaterial(vault)


async def test_words_of_every_question_of_the_thread_may_be_used():
    _, material = await thread("How long is the Quellmouth bridge?", "And who paid for it?")
    await material.note_read("deep:0:a:read", "secret")
    assert await material.check("Quellmouth bridge who paid", "question") == ("Quellmouth bridge who paid", None)
    assert await material.check("papers: Quellmouth", "question") == ("papers: Quellmouth", None)
    query, broken = await material.check("Halden merger", "question")
    assert query == "Halden merger"
    assert broken is not None
    assert broken.rule == RULE
    assert "How, long, is, the, Quellmouth, bridge" in broken.reason
    assert "Halden" not in str(broken)


async def test_before_private_material_was_read_everything_may_be_searched_for():
    vault, material = await thread("How long is it?")
    await material.note_written("deep:0:a:written", "/findings/a.md")
    assert await material.is_own("/findings/a.md")
    assert await material.check("Halden merger", "question") == ("Halden merger", None)
    await material.note_read("deep:0:b:read", "see https://a.example/x")
    await material.note_written("deep:0:c:written", "/copy.md")
    again = PrivateMaterial(vault)
    assert await again.was_read()
    assert not await again.is_own("/copy.md"), "what is written afterwards may repeat what was read"
    assert await again.check("Halden merger", "any") == ("Halden merger", None)
    assert (await again.check("Halden merger", "ask"))[1] is not None
