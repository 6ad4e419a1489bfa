"""What a server does for knowledge that a browser keeps: the embedder's files, and pages on request."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from tests.browser.documents import pdf, scanned_pdf
from tests.integration.server.conftest import Server, serve

from stepwell.demo.web import OfflineWorld
from stepwell.errors import LimitReachedError
from stepwell.models.embedding.minilm import MINILM_ID
from stepwell.models.embedding.minilm_files import TOKENIZER, MiniLMFiles
from stepwell.server.knowledge import MAX_DOCUMENT_BYTES, PAGES_AT_ONCE, KnowledgeAid
from stepwell.server.settings import ServerSettings
from stepwell.tools.documents.page import PageText
from stepwell.tools.documents.parts import Part
from stepwell.tools.web.fetch import PageFetcher

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture(scope="module")
def world() -> OfflineWorld:
    with OfflineWorld(idle_timeout_s=60.0) as made:
        yield made


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory, world: OfflineWorld) -> AsyncIterator[Server]:
    aid = KnowledgeAid(MiniLMFiles(), lambda: PageFetcher(world.web))
    async with serve(tmp_path_factory.mktemp("knowledge"), knowledge=aid) as running:
        yield running


async def test_the_embedders_files_are_had_by_their_hash_and_kept_for_good(server: Server):
    described = (await server.http.get("/api/embedder")).json()["embedder"]
    assert (described["id"], described["dimensions"], described["max_tokens"]) == (MINILM_ID, 384, 256)
    answer = await server.http.get(described["tokenizer"]["path"])
    assert hashlib.sha256(answer.content).hexdigest() == TOKENIZER.sha256 == described["tokenizer"]["sha256"]
    assert answer.headers["cache-control"] == "private, max-age=31536000, immutable"
    assert (await server.http.get(described["weights"]["path"])).headers["content-length"] == str(
        described["weights"]["size_bytes"]
    )


async def test_no_other_file_can_be_had(server: Server):
    assert (await server.http.get(f"/api/embedder/files/{'0' * 64}")).status_code == 404
    assert (await server.http.get("/api/embedder/files/..%2F..%2Fserver.db")).status_code in (404, 422)


async def test_a_server_without_the_files_says_so(tmp_path: Path):
    class Nothing(MiniLMFiles):
        def obtainable(self) -> bool:
            return False

    async with serve(tmp_path, knowledge=KnowledgeAid(Nothing(), lambda: pytest.fail("nobody asked for a page"))) as without:
        described = (await without.http.get("/api/embedder")).json()
        assert described["embedder"] is None
        assert "by words" in described["sentence"]
        assert (await without.http.get(f"/api/embedder/files/{TOKENIZER.sha256}")).status_code == 404


async def test_a_page_is_read_on_request_and_given_as_text(server: Server, world: OfflineWorld):
    page = world.pages[0]
    read = (await server.http.post("/api/pages/read", json={"url": page.url})).json()
    assert read["url"] == page.url
    assert page.facts[0].sentence in read["text"]
    assert "<" not in read["text"][:20]
    assert read["title"]


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:1/", "http://169.254.169.254/latest", "file:///etc/passwd", "http://localhost/"]
)
async def test_addresses_that_are_not_public_are_refused(server: Server, url: str):
    answer = await server.http.post("/api/pages/read", json={"url": url})
    assert (answer.status_code, answer.json()["type"]) == (422, "urn:stepwell:problem:page-refused")


async def test_a_page_that_is_not_there_is_said_to_be_so(server: Server, world: OfflineWorld):
    answer = await server.http.post("/api/pages/read", json={"url": f"{world.pages[0].url}-gone"})
    assert (answer.status_code, answer.json()["type"]) == (422, "urn:stepwell:problem:page-unavailable")
    assert "there is no such page" in answer.json()["detail"]


async def test_one_user_has_a_few_pages_read_at_once(world: OfflineWorld):
    let_go = asyncio.Event()

    class Slow(PageFetcher):
        async def fetch_page(self, url: str):
            await let_go.wait()

    aid = KnowledgeAid(MiniLMFiles(), lambda: Slow(world.web))
    waiting = [asyncio.create_task(aid.read_page("ann", "https://a.example/")) for _ in range(PAGES_AT_ONCE)]
    await asyncio.sleep(0)
    with pytest.raises(LimitReachedError, match="being read for you already"):
        await aid.read_page("ann", "https://a.example/")
    other = asyncio.create_task(aid.read_page("ben", "https://a.example/"))
    let_go.set()
    await asyncio.gather(*waiting, other)


async def post_document(server: Server, content: Any, name: str = "file.bin", **headers: str) -> httpx.Response:
    head = {"content-type": "application/octet-stream", "x-stepwell-file-name": name, **headers}
    return await server.http.post("/api/documents/read", content=content, headers=head)


async def test_a_document_is_read_and_its_parts_are_named(server: Server, caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.DEBUG):
        answer = await post_document(server, pdf("The first page is about wells.", "The second is about steps."), "wells.pdf")
    read = answer.json()
    assert (answer.status_code, read["media_type"], read["note"]) == (200, "application/pdf", "")
    assert [part["name"] for part in read["parts"]] == ["page 1", "page 2"]
    assert read["text"][read["parts"][1]["start"] :].startswith("The second is about steps.")
    assert set(read["parts"][0]) == {"start", "name", "cells"}
    assert not [record for record in caplog.records if "wells" in record.getMessage()]


async def test_a_documents_name_says_what_the_bytes_do_not(server: Server):
    answer = await post_document(server, b"# Wells\n\nThey are deep.", "caf%C3%A9.md")
    assert (answer.status_code, answer.json()["text"]) == (200, "# Wells\n\nThey are deep.")


@pytest.mark.parametrize(
    ("name", "content"),
    [("scan.pdf", scanned_pdf()), ("picture.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"), ("empty.txt", b"  ")],
)
async def test_a_document_that_cannot_be_read_is_refused_with_a_sentence(server: Server, name: str, content: bytes):
    answer = await post_document(server, content, name)
    assert (answer.status_code, answer.json()["type"]) == (422, "urn:stepwell:problem:document-unreadable")
    assert answer.json()["detail"].endswith((".", ")"))


async def test_an_image_is_read_by_a_model_only_under_an_images_name(tmp_path: Path):
    seen: list[bytes] = []

    async def see(content: bytes) -> PageText:
        seen.append(content)
        return PageText("image/png", "", "Pump 3: stopped", "Transcribed.", (Part(0, "image"),))

    aid = KnowledgeAid(MiniLMFiles(), lambda: pytest.fail("nobody asked for a page"), see)
    async with serve(tmp_path, knowledge=aid) as running:
        read = (await post_document(running, b"\x89PNG\r\n", "file.png")).json()
        assert (read["text"], read["note"], read["parts"]) == (
            "Pump 3: stopped",
            "Transcribed.",
            [{"start": 0, "name": "image", "cells": ""}],
        )
        assert (await post_document(running, b"\x89PNG\r\n\x1a\n\0", "file.docx")).status_code == 422
    assert seen == [b"\x89PNG\r\n"]


async def test_a_document_that_is_no_file_or_too_large_is_refused(server: Server):
    as_json = await server.http.post("/api/documents/read", json={"name": "a"}, headers={"x-stepwell-file-name": "a.txt"})
    assert (as_json.status_code, "application/octet-stream" in as_json.json()["detail"]) == (422, True)
    unnamed = await server.http.post("/api/documents/read", content=b"x", headers={"content-type": "application/octet-stream"})
    assert unnamed.status_code == 422
    large = await post_document(server, bytes(MAX_DOCUMENT_BYTES + 1), "large.txt")
    assert (large.status_code, large.json()["type"]) == (413, "urn:stepwell:problem:too-large")


async def test_documents_that_arrive_at_once_are_held_within_a_budget(tmp_path: Path):
    """Two that one user sends at once would be more than is held for one user; a third user finds room beside them."""
    finish, arrived = asyncio.Event(), asyncio.Event()

    async def slow():
        for _ in range(40):
            yield bytes(1_000_000)
        arrived.set()
        await finish.wait()

    async with serve(tmp_path) as open_to_all:
        keys = [(await open_to_all.http.post("/api/keys", json={"user": user})).json()["key"] for user in ("ann", "ben")]
    aid = KnowledgeAid(MiniLMFiles(), lambda: pytest.fail("nobody asked for a page"))
    async with serve(tmp_path, ServerSettings(always_ask=True), knowledge=aid) as running:
        ann, ben = ({"x-api-key": key} for key in keys)
        stranger = await post_document(running, b"text", "a.txt")
        first = asyncio.create_task(post_document(running, slow(), "zeros.txt", **ann))
        await asyncio.wait_for(arrived.wait(), 60)
        with contextlib.suppress(httpx.WriteError):  # the answer comes before everything was sent, and may be lost
            second = await post_document(running, bytes(MAX_DOCUMENT_BYTES), "zeros.txt", **ann)
            assert (second.status_code, second.headers["retry-after"]) == (429, "1")
        assert aid.held_bytes <= MAX_DOCUMENT_BYTES
        third = await post_document(running, b"There is room for this.", "a.txt", **ben)
        finish.set()
        assert ((await first).status_code, third.status_code, stranger.status_code) == (422, 200, 401)
        assert aid.held_bytes == 0
