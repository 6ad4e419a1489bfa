"""W4, W9: listing and reading over HTTP: pages, trouble, other programs' objects, many tenants at once."""

from __future__ import annotations

import asyncio
import logging
import resource
from collections.abc import Callable
from typing import Any

import pytest
from langchain.tools import ToolRuntime
from tests.unit.tools.documents.making import docx

from stepwell.backends import tree
from stepwell.backends.objects import Bucket, ObjectBackend, Patience
from stepwell.testing.objects import FakeObjectStore
from stepwell.tools.files.tools import build_file_tools

OpenBucket = Callable[..., Bucket]


def fill(store: FakeObjectStore, names: list[str], data: bytes = b"x\n") -> None:
    for name in names:
        store.contents.put("files", name, data)


async def test_large_listings_come_in_pages(store: FakeObjectStore, open_fake: OpenBucket):
    fill(
        store, [f"t1/docs/{number:05}.md" for number in range(2_500)] + [f"t1/deep/{number:04}/a.md" for number in range(1_200)]
    )
    files = ObjectBackend(open_fake(), "/t1/")
    assert [row["path"] for row in await files.als_info("/")] == ["/deep/", "/docs/"]
    assert len(await files.als_info("/docs")) == 2_500
    assert len(await files.als_info("/deep")) == 1_200
    before = len(store.requests)
    assert len(await files.aglob_info("**/*.md")) == 3_700
    pages = [address for _, address in store.requests[before:]]
    assert len(pages) == 4
    assert len(await files.agrep_raw("x", "/deep")) == tree.MAX_MATCHES


async def test_whether_a_folder_has_files_is_asked_with_one_page(store: FakeObjectStore, open_fake: OpenBucket):
    fill(store, [f"t1/docs/{number:05}.md" for number in range(2_500)])
    assert "is a folder" in await ObjectBackend(open_fake(), "/t1/").aread("/docs")
    assert sum("list-type" in address for _, address in store.requests) == 1


@pytest.mark.parametrize("kind", ["unavailable", "busy", "cut", "lost"])
async def test_reading_is_tried_again(store: FakeObjectStore, open_fake: OpenBucket, kind: Any):
    fill(store, ["t1/a.md"])
    files = ObjectBackend(open_fake(), "/t1/")
    for ask in (
        lambda: files.aread("/a.md"),
        lambda: files.als_info("/"),
        lambda: files.agrep_raw("x"),
        lambda: files.aglob_info("*"),
    ):
        store.faults.add(kind)
        answer = await ask()
        assert getattr(answer, "error", None) is None
        assert "a.md" in str(answer) or answer == "     1\tx"


async def test_a_store_that_is_down_is_a_result(store: FakeObjectStore, open_fake: OpenBucket):
    store.faults.add("unavailable", times=1_000)
    files = ObjectBackend(open_fake(patience=Patience(retries=1, first_pause_s=0.001)), "/t1/")
    answers = [
        await files.aread("/a.md"),
        (await files.als_info("/")).error,
        await files.agrep_raw("x"),
        (await files.aglob_info("*")).error,
    ]
    assert all("could not be reached: the storage gave no usable answer" in answer for answer in answers)


async def test_a_slow_store_is_not_waited_for_without_end(store: FakeObjectStore, open_fake: OpenBucket):
    fill(store, ["t1/a.md"])
    store.faults.add("slow", seconds=3.0)
    files = ObjectBackend(open_fake(patience=Patience(total_s=0.2)), "/t1/")
    assert "did not answer in time" in await files.aread("/a.md")


@pytest.mark.parametrize(("name", "why"), [("gone-bucket", "does not exist"), ("closed", "refuses access")])
async def test_a_bucket_that_is_missing_or_forbidden_says_so(
    store: FakeObjectStore, open_fake: OpenBucket, caplog: pytest.LogCaptureFixture, name: str, why: str
):
    files = ObjectBackend(open_fake(name), "/tenant/")
    answers = [await files.aread("/a.md"), (await files.als_info("/")).error, await files.agrep_raw("x"),
               (await files.aglob_info("*")).error, (await files.awrite("/a.md", "x")).error,
               (await files.aedit("/a.md", "x", "y")).error]  # fmt: skip
    for answer in answers:
        assert why in answer
        assert not any(word in answer for word in (name, "127.0.0.1", "tenant"))
    assert not any(word in caplog.text for word in ("127.0.0.1", "tenant", name))
    assert caplog.records[0].levelno == logging.WARNING


async def test_listings_that_lag_behind_do_not_mislead_reading_and_changing(store: FakeObjectStore, open_fake: OpenBucket):
    files = ObjectBackend(open_fake(), "/t1/")
    await files.awrite("/old.md", "one\n")
    store.contents.freeze_listings()
    assert (await files.awrite("/new.md", "one\n")).error is None
    assert (await files.aedit("/new.md", "one", "two")).error is None
    assert "exists already" in (await files.awrite("/new.md", "three")).error
    assert await files.aread("/new.md") == "     1\ttwo"
    store.contents.delete("files", "t1/old.md")
    assert [row["path"] for row in await files.als_info("/")] == ["/old.md"]
    assert "no file" in await files.aread("/old.md")
    assert await files.agrep_raw("one") == []
    store.contents.thaw_listings()
    assert [row["path"] for row in await files.als_info("/")] == ["/new.md"]


async def test_a_binary_file_is_described_and_not_dumped(store: FakeObjectStore, open_fake: OpenBucket):
    store.contents.put("files", "t1/logo.png", b"\x89PNG\r\n\x1a\n" + b"\xff" * 2_000)
    store.contents.put("files", "t1/blob", b"\xff" * 10)
    files = ObjectBackend(open_fake(), "/t1/", max_file_bytes=5_000)
    assert "is not a text file (image/png, 2,008 bytes)" in await files.aread("/logo.png")
    assert "(binary, 10 bytes)" in (await files.aedit("/blob", "a", "b")).error
    assert await files.agrep_raw("PNG") == []
    store.contents.put("files", "t1/film.mp4", b"\xff" * 5_001)
    assert "has 5,001 bytes; at most 5,000" in await files.aread("/film.mp4")
    assert (await files.adownload_files(["/blob"]))[0].content == b"\xff" * 10


async def test_folders_that_a_console_made_are_folders(store: FakeObjectStore, open_fake: OpenBucket):
    """Consoles store an empty object whose name ends with a slash."""
    fill(store, ["t1/docs/"], b"")
    fill(store, ["t1/docs/a.md"])
    files = ObjectBackend(open_fake(), "/t1/")
    assert [row["path"] for row in await files.als_info("/")] == ["/docs/"]
    assert [row["path"] for row in await files.als_info("/docs")] == ["/docs/a.md"]


async def test_a_name_that_is_no_path_is_explained(store: FakeObjectStore, open_fake: OpenBucket):
    fill(store, ["t1/a//b.md", "t2/a.md"])
    assert "a name there that is no path" in (await ObjectBackend(open_fake(), "/t1/").als_info("/a")).error
    assert len(await ObjectBackend(open_fake(), "/t2/").aglob_info("**")) == 1


async def test_searches_leave_out_only_folders_with_a_name_that_is_no_path(store: FakeObjectStore, open_fake: OpenBucket):
    fill(store, ["t1/a//b.md", "t1/x/../y.md", "t1/good.md", "t1/deep/er/too.md", "t1/a/lost.md", "t1/z.md"])
    files = ObjectBackend(open_fake(), "/t1/")
    found = await files.aglob_info("**/*.md")
    assert [row["path"] for row in found] == ["/deep/er/too.md", "/good.md", "/z.md"]
    assert found.note == "Left out: '/a/', '/x/', where another program has stored a name that is no path."
    matches = await files.agrep_raw("x")
    assert [match["path"] for match in matches] == ["/deep/er/too.md", "/good.md", "/z.md"]
    assert "'/a/', '/x/'" in matches.note
    assert [row["path"] for row in await files.als_info("/")] == ["/a/", "/deep/", "/good.md", "/x/", "/z.md"]


async def test_requests_at_once_are_bounded(store: FakeObjectStore, open_fake: OpenBucket):
    fill(store, [f"t1/{number:03}.md" for number in range(200)])
    store.faults.add("slow", times=200, methods=("GET",), seconds=0.02)
    files = ObjectBackend(open_fake(patience=Patience(at_once=8)), "/t1/")
    assert len(await files.agrep_raw("x")) == 200
    assert 4 <= store.most_at_once <= 8


@pytest.mark.prove
async def test_a_hundred_tenants_at_once_do_not_meet(
    store: FakeObjectStore, open_fake: OpenBucket, effort: Any, record_property: Any
):
    """W9: twenty operations each, all through one bucket, in bounded memory."""
    bucket = open_fake()

    async def work(number: int) -> None:
        files = ObjectBackend(bucket, f"/company/{number}/")
        mine = f"tenant {number};"
        for step in range(4):
            path = f"/docs/{step}.md"
            assert (await files.awrite(path, f"{mine} draft {step}\n")).error is None
            assert (await files.aedit(path, "draft", "step")).error is None
            assert await files.aread(path) == f"     1\t{mine} step {step}"
            assert [row["path"] for row in await files.als_info("/docs")] == [f"/docs/{n}.md" for n in range(step + 1)]
            assert {row["line_content"].split(";")[0] + ";" for row in await files.agrep_raw("tenant")} == {mine}

    rounds = effort.cases(1, 10)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for round_number in range(rounds):
        await asyncio.gather(*(work(round_number * 100 + number) for number in range(100)))
    grown_mb = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1_000
    assert len(store.contents.names("files")) == rounds * 400
    assert store.most_at_once <= bucket.patience.at_once
    assert grown_mb < 100  # the fake store, all its generations and all its threads live in this process too
    record_property("tenants", rounds * 100)
    record_property("grown_mb", round(grown_mb))


async def test_a_document_in_a_bucket_is_read_by_both_forms_of_read_file(store: FakeObjectStore, open_fake: OpenBucket):
    fill(store, ["t1/wells.docx"], docx(lambda document: document.add_paragraph("The well is deep.")))
    (tool,) = (each for each in build_file_tools(ObjectBackend(open_fake(), "/t1/")) if each.name == "read_file")
    runtime = ToolRuntime(state={}, context=None, config={}, stream_writer=print, tool_call_id="c1", store=None)
    expected = "(text of a Word document; edit_file cannot change it.)\n     1\tThe well is deep."
    arguments = {"runtime": runtime, "file_path": "/wells.docx"}
    assert (await tool.coroutine(**arguments)).content == expected
    assert (await asyncio.to_thread(lambda: tool.func(**arguments))).content == expected
