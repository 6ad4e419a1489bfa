"""What a server does for knowledge that a browser keeps: the embedder's files, and pages on request."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from tests.integration.server.conftest import Server, serve

from stepwell.demo.web import OfflineWorld
from stepwell.errors import LimitReachedError
from stepwell.models.embedding.minilm import MINILM_ID
from stepwell.models.embedding.minilm_files import TOKENIZER, MiniLMFiles
from stepwell.server.knowledge import PAGES_AT_ONCE, KnowledgeAid
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
