"""Hostile documents cost their reader at most its limits: each ends in a text or a sentence, and the next honest document is read."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from tests.integration.documents.hostile import Hostile, hostile_documents, pack, word
from tests.integration.web.test_hostile_documents import LONGEST_STALL, MOST_MEMORY_MB, pytestmark, started, watched
from tests.support.growth import unit_s

from stepwell.errors import WebError
from stepwell.tools.documents.page import PageText
from stepwell.tools.documents.pieces import MOST_PARTS
from stepwell.tools.documents.reader_pool import ReaderPool

__all__ = ["pytestmark"]

HOSTILE = hostile_documents()
MOST_TEXT = 4_000_000


@pytest.fixture(scope="module")
def readers() -> Iterator[ReaderPool]:
    pool = ReaderPool(size=1, timeout_s=5.0)
    yield pool
    pool.close()


async def outcome(readers: ReaderPool, document: Hostile, size: int) -> PageText | str:
    content = await asyncio.to_thread(document.make, size)
    assert len(content) < 64 << 20, "no larger than what is sent to a reader"
    try:
        return await readers.read_file(content, document.file)
    except WebError as error:
        return str(error)


def check(found: PageText | str) -> None:
    if isinstance(found, str):
        assert found.startswith(("The file", "The PDF")), found
        assert found.endswith("."), found
        return
    assert "root:" not in found.text
    assert len(found.text) <= MOST_TEXT
    assert len(found.parts) <= MOST_PARTS
    assert all(0 <= part.start <= len(found.text) for part in found.parts)


def test_there_are_many_of_them_and_each_has_its_name():
    assert len({each.name for each in HOSTILE}) == len(HOSTILE) >= 40


@pytest.mark.parametrize("document", HOSTILE, ids=lambda each: each.name)
async def test_a_hostile_document_ends_in_a_text_or_a_sentence(readers: ReaderPool, document: Hostile):
    check(await outcome(readers, document, 1))
    honest = await readers.read_file(pack(word()), "honest.docx", 60.0)
    assert honest.text == "Some words that stay."


@pytest.mark.prove
@pytest.mark.timeout(1800)
async def test_hostile_documents_stay_within_the_limits_of_their_readers(effort, record_property):
    chosen = HOSTILE if effort.long else HOSTILE[:12]
    pool = ReaderPool(size=2, timeout_s=12.0 if effort.long else 2.0)
    async with watched() as watch:
        for start in range(0, len(chosen), 2):
            for found in await asyncio.gather(
                *(outcome(pool, each, 4 if effort.long else 1) for each in chosen[start : start + 2])
            ):
                check(found)
        assert (await pool.read_file(pack(word()), "honest.docx", 120.0)).text == "Some words that stay."
        await asyncio.to_thread(pool.close)
    record_property("memory_mb", round(watch.most_memory_mb))
    assert watch.longest_stall_s <= LONGEST_STALL * unit_s()
    assert watch.most_memory_mb <= MOST_MEMORY_MB
    assert not watch.seen & started()
