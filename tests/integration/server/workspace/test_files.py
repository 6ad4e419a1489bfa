"""Files of a workspace over HTTP: versions, ranges, pages, parts, and what is refused. In a bucket and in a folder."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.contract.suites.maintenance import MovableClock
from tests.integration.server.workspace.conftest import Space, bucket_of, open_space, say
from tests.support.waiting import wait_until

from stepwell.backends.protocol import BackendProtocol
from stepwell.backends.whole_files import Base, FileFacts, WholeFiles
from stepwell.errors import NotFoundError, VersionConflictError
from stepwell.server.settings import ServerSettings
from stepwell.testing.objects import FakeObjectStore
from stepwell.workspace.files import uploads
from stepwell.workspace.places import InFolder, Place
from stepwell.workspace.service import Workspaces

FILES = "/api/workspace/files"
UPLOADS = "/api/workspace/uploads"
MB = 1024 * 1024


@pytest.fixture(params=["bucket", "folder"])
async def both(request: Any, tmp_path: Path, store: FakeObjectStore) -> AsyncIterator[Space]:
    """The same server on either place."""
    place = bucket_of(store) if request.param == "bucket" else InFolder(tmp_path / "workspace")
    users = {"tom": ["/t1/"], "ten": ["/t10/"], "rob": ([], ["/t1/"])}
    async with open_space(tmp_path, place, users) as space:
        yield space


async def test_a_file_goes_up_and_comes_down(both: Space):
    """Any bytes, with a version; and the agent sees the same file."""
    data = bytes(range(256)) * 10
    stored = await both.ask("tom", "PUT", f"{FILES}/folder/a%20b.bin", content=data)
    assert stored.status_code == 200
    assert stored.json()["path"] == "/folder/a b.bin"
    got = await both.ask("tom", "GET", f"{FILES}/folder/a%20b.bin")
    assert (got.content, got.headers["etag"]) == (data, stored.headers["etag"])
    assert got.headers["content-disposition"] == "attachment; filename*=UTF-8''a%20b.bin"
    assert (
        await both.ask("tom", "GET", f"{FILES}/folder/a%20b.bin", headers={"if-none-match": got.headers["etag"]})
    ).status_code == 304
    await both.ask("tom", "PUT", f"{FILES}/plan.md", content=b"tea at four")
    assert "tea at four" in await both.said("tom", say("read_file", file_path="/plan.md"))
    await both.said("tom", say("write_file", file_path="/by-agent.md", content="hello"))
    assert (await both.ask("tom", "GET", f"{FILES}/by-agent.md")).content == b"hello"
    assert (await both.ask("tom", "PUT", f"{FILES}/empty", content=b"")).status_code == 200
    assert (await both.ask("tom", "GET", f"{FILES}/empty")).content == b""
    part = await both.ask("tom", "GET", f"{FILES}/empty", headers={"range": "bytes=0-99"})
    assert (part.status_code, part.content) == (200, b"")


async def test_ranges(both: Space):
    await both.ask("tom", "PUT", f"{FILES}/a.txt", content=b"0123456789")
    for asked, status, content, told in (
        ("bytes=2-4", 206, b"234", "bytes 2-4/10"),
        ("bytes=7-", 206, b"789", "bytes 7-9/10"),
        ("bytes=-3", 206, b"789", "bytes 7-9/10"),
        ("bytes=5-99", 206, b"56789", "bytes 5-9/10"),
        ("bytes=0-1,3-4", 200, b"0123456789", None),
        ("lines=1", 200, b"0123456789", None),
    ):
        got = await both.ask("tom", "GET", f"{FILES}/a.txt", headers={"range": asked})
        assert (got.status_code, got.content, got.headers.get("content-range")) == (status, content, told), asked
    beyond = await both.ask("tom", "GET", f"{FILES}/a.txt", headers={"range": "bytes=10-"})
    assert (beyond.status_code, beyond.headers["content-range"]) == (416, "bytes */10")


async def test_a_change_happens_on_the_version_it_names_or_not_at_all(both: Space):
    first = (await both.ask("tom", "PUT", f"{FILES}/a.md", content=b"1", headers={"if-none-match": "*"})).headers["etag"]
    assert (await both.ask("tom", "PUT", f"{FILES}/a.md", content=b"x", headers={"if-none-match": "*"})).status_code == 412
    second = await both.ask("tom", "PUT", f"{FILES}/a.md", content=b"2", headers={"if-match": first})
    assert second.status_code == 200
    for method, options in (("PUT", {"content": b"3"}), ("DELETE", {})):
        stale = await both.ask("tom", method, f"{FILES}/a.md", headers={"if-match": first}, **options)
        assert stale.status_code == 412
        assert "Read it again" in stale.json()["detail"]
    assert (await both.ask("tom", "GET", f"{FILES}/a.md")).content == b"2"
    etag = second.headers["etag"]
    writers = [both.ask("tom", "PUT", f"{FILES}/a.md", content=b"w%d" % n, headers={"if-match": etag}) for n in range(8)]
    assert sorted(each.status_code for each in await asyncio.gather(*writers)) == [200] + [412] * 7
    newest = (await both.ask("tom", "GET", f"{FILES}/a.md")).headers["etag"]
    assert (await both.ask("tom", "DELETE", f"{FILES}/a.md", headers={"if-match": newest})).status_code == 204
    assert (await both.ask("tom", "DELETE", f"{FILES}/a.md")).status_code == 404
    assert (await both.ask("tom", "PUT", f"{FILES}/a.md", content=b"4", headers={"if-match": newest})).status_code == 412


@dataclass
class Restless:
    """A place where another program writes between a look at a file and the reading of it, `times` times."""

    place: Place
    times: int

    @property
    def default_root(self) -> str | None:
        return self.place.default_root

    def at(self, root: str) -> BackendProtocol:
        return self.place.at(root)

    def whole_files(self) -> WholeFiles:
        return RestlessFiles(self)


class RestlessFiles:
    def __init__(self, place: Restless) -> None:
        self._place = place
        self._files = place.place.whole_files()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._files, name)

    async def look(self, root: str, path: str) -> FileFacts | None:
        found = await self._files.look(root, path)
        if self._place.times:
            self._place.times -= 1
            written = await self._place.place.at(root).aedit(path, "end", "more, end")
            assert written.error is None
        return found


@pytest.mark.parametrize("kind", ["bucket", "folder"])
async def test_a_file_that_is_written_while_it_is_asked_for_comes_whole(kind: str, tmp_path: Path, store: FakeObjectStore):
    """Its length is that of the version that is sent, or else the reader is told before the first byte."""
    place = Restless(bucket_of(store) if kind == "bucket" else InFolder(tmp_path / "workspace"), times=0)
    async with open_space(tmp_path, place, {"tom": ["/t1/"]}) as space:
        await space.ask("tom", "PUT", f"{FILES}/a.txt", content=b"end")
        place.times = 2
        got = await space.ask("tom", "GET", f"{FILES}/a.txt")
        assert (got.status_code, got.content) == (200, b"more, more, end")
        assert got.headers["etag"] == (await space.ask("tom", "GET", f"{FILES}/a.txt")).headers["etag"]
        place.times = 2
        part = await space.ask("tom", "GET", f"{FILES}/a.txt", headers={"range": "bytes=-3"})
        assert (part.status_code, part.content, part.headers["content-range"]) == (206, b"end", "bytes 24-26/27")
        place.times = 100
        restless = await space.ask("tom", "GET", f"{FILES}/a.txt")
        assert (restless.status_code, restless.json()["detail"]) == (
            412,
            "The file was changed while it was read. Read it again.",
        )


async def test_what_is_written_in_place_is_never_sent_as_the_version_before(tmp_path: Path):
    files = InFolder(tmp_path).whole_files()
    (tmp_path / "t1").mkdir()
    (tmp_path / "t1" / "a.txt").write_bytes(b"a" * 3 * MB)
    os.utime(tmp_path / "t1" / "a.txt", (1, 1))  # written long ago: the system's clock for files is coarse
    found = await files.look("/t1/", "/a.txt")
    assert found is not None
    pieces = files.read("/t1/", found, 0, found.size)
    assert set(await anext(pieces)) == {ord("a")}
    with (tmp_path / "t1" / "a.txt").open("r+b") as file:
        file.write(b"b" * 3 * MB)
    with pytest.raises(VersionConflictError, match="Read it again"):
        await anext(pieces)


async def test_a_listing_comes_in_pages(both: Space):
    names = [f"/d{number % 3}/f{number:02}.md" for number in range(20)] + ["/top.md"]
    for name in names:
        await both.ask("tom", "PUT", f"{FILES}{name}", content=b"x")
    found, cursor = [], None
    while True:
        page = (await both.ask("tom", "GET", FILES, params={"limit": 4, **({"cursor": cursor} if cursor else {})})).json()
        found += [file["path"] for file in page["files"]]
        cursor = page["cursor"]
        if cursor is None:
            break
        assert len(page["files"]) == 4
    assert found == sorted(names)
    below = (await both.ask("tom", "GET", FILES, params={"prefix": "/d1/"})).json()["files"]
    assert [file["path"] for file in below] == sorted(name for name in names if name.startswith("/d1/"))


async def test_a_cursor_of_another_listing_reads_like_a_broken_one(both: Space):
    """W9"""
    for user in ("tom", "ten"):
        for number in range(3):
            await both.ask(user, "PUT", f"{FILES}/f{number}", content=b"x")
    theirs = (await both.ask("ten", "GET", FILES, params={"limit": 1})).json()["cursor"]
    mine = (await both.ask("tom", "GET", FILES, params={"limit": 1})).json()["cursor"]
    responses = [
        await both.ask("tom", "GET", FILES, params={"cursor": cursor}) for cursor in (theirs, "garbage", "é", mine[:-2])
    ]
    responses.append(await both.ask("tom", "GET", FILES, params={"cursor": mine, "prefix": "/d"}))
    assert {each.status_code for each in responses} == {422}
    assert len({each.text for each in responses}) == 1


async def test_a_reader_reads_and_changes_nothing(both: Space):
    await both.ask("tom", "PUT", f"{FILES}/a.md", content=b"1")
    assert (await both.ask("rob", "GET", f"{FILES}/a.md")).content == b"1"
    refused = [
        await both.ask("rob", "PUT", f"{FILES}/a.md", content=b"2"),
        await both.ask("rob", "DELETE", f"{FILES}/a.md"),
        await both.ask("rob", "POST", UPLOADS, json={"path": "/a.md"}),
    ]
    assert {each.status_code for each in refused} == {403}
    assert all("reading only" in each.json()["detail"] for each in refused)
    assert (await both.ask("tom", "GET", f"{FILES}/a.md")).content == b"1"


async def test_names_that_no_store_takes_are_refused_with_a_reason(both: Space):
    for name in ("a%0d%0ab", "%00", "a" * 1025, "..%2f..%2ft10%2fa", "x%2f..%2f..%2f..%2ft10%2fa", "a%2f%2e%2e"):
        for method in ("GET", "PUT", "DELETE"):
            refused = await both.ask("tom", method, f"{FILES}/{name}", **({"content": b"x"} if method == "PUT" else {}))
            assert refused.status_code in (404, 422), (method, name, refused.text)
            assert "Traceback" not in refused.text
    for name in ("a#b", "a?b", "ümlaut \U0001f600.md", "100%"):
        from urllib.parse import quote

        stored = await both.ask("tom", "PUT", f"{FILES}/{quote(name)}", content=name.encode())
        assert (stored.status_code, stored.json().get("path")) == (200, f"/{name}"), stored.text
        assert (await both.ask("tom", "GET", f"{FILES}/{quote(name)}")).content == name.encode()
    assert (await both.ask("ten", "GET", FILES)).json() == {"files": [], "cursor": None}


async def test_a_large_file_goes_up_in_parts(both: Space):
    """In any order, a part twice, completed twice; and nobody else finds it."""
    begun = (await both.ask("tom", "POST", UPLOADS, json={"path": "/big.bin", "if_none_match": "*"})).json()
    place = f"{UPLOADS}/{begun['upload_id']}"
    await both.ask("tom", "PUT", f"{place}/2", content=b"2" * 10)
    incomplete = await both.ask("tom", "POST", f"{place}/complete")
    assert (incomplete.status_code, "Part 1 is missing" in incomplete.text) == (422, True)
    await both.ask("tom", "PUT", f"{place}/1", content=b"wrong")
    await both.ask("tom", "PUT", f"{place}/1", content=b"1" * 10)
    for method, path in (("PUT", f"{place}/3"), ("POST", f"{place}/complete")):
        theirs = await both.ask("ten", method, path, **({"content": b"x"} if method == "PUT" else {}))
        missing = await both.ask(
            "ten", method, path.replace(begun["upload_id"], "0" * 32), **({"content": b"x"} if method == "PUT" else {})
        )
        assert theirs.status_code == missing.status_code == 404
        assert theirs.text.replace(begun["upload_id"], "0" * 32) == missing.text
    assert (await both.ask("tom", "GET", f"{FILES}/big.bin")).status_code == 404
    done = await both.ask("tom", "POST", f"{place}/complete")
    again = await both.ask("tom", "POST", f"{place}/complete")
    assert (done.status_code, done.json()["size"]) == (200, 20)
    assert again.json() == done.json()
    assert (await both.ask("tom", "GET", f"{FILES}/big.bin")).content == b"1" * 10 + b"2" * 10
    other = (await both.ask("tom", "POST", UPLOADS, json={"path": "/big.bin", "if_none_match": "*"})).json()["upload_id"]
    await both.ask("tom", "PUT", f"{UPLOADS}/{other}/1", content=b"x")
    assert (await both.ask("tom", "POST", f"{UPLOADS}/{other}/complete")).status_code == 412


async def test_an_upload_goes_on_at_every_server_that_shares_its_folder_and_at_no_other(tmp_path: Path):
    base, clock = Base(None, absent=False), MovableClock()
    here, there, elsewhere = (uploads.Uploads(tmp_path / name, clock, MB) for name in ("shared", "shared", "alone"))
    begun = await here.begin("tom", "/t1/", "t1", "/a", base)
    assert await there.find("tom", begun.upload_id) == begun
    with pytest.raises(NotFoundError):
        await elsewhere.find("tom", begun.upload_id)


async def test_unfinished_uploads_are_removed_after_a_day(tmp_path: Path):
    clock = MovableClock()
    settings = ServerSettings()
    async with open_space(tmp_path, InFolder(tmp_path / "workspace"), {}, settings=settings, clock=clock) as space:
        old = (await space.ask(None, "POST", UPLOADS, json={"path": "/a"})).json()["upload_id"]
        await space.ask(None, "PUT", f"{UPLOADS}/{old}/1", content=b"x")
        clock.move(uploads.LASTS + timedelta(seconds=1))
        assert (await space.ask(None, "PUT", f"{UPLOADS}/{old}/2", content=b"x")).status_code == 404
        await space.ask(None, "POST", UPLOADS, json={"path": "/a"})
        assert not (tmp_path / "uploads" / old).exists()


async def test_what_is_too_large_is_refused(tmp_path: Path, store: FakeObjectStore):
    """413 for a file, 507 for a tenant's share; nothing is left on the way."""
    settings = ServerSettings(always_ask=True, max_file_bytes=1000, tenant_max_bytes=1500)
    async with open_space(tmp_path, bucket_of(store), {"tom": ["/t1/"], "ten": ["/t10/"]}, settings=settings) as space:
        assert (await space.ask("tom", "PUT", f"{FILES}/a", content=b"x" * 1001)).status_code == 413

        async def unannounced() -> AsyncIterator[bytes]:
            for _ in range(11):
                yield b"x" * 100

        assert (await space.ask("tom", "PUT", f"{FILES}/a", content=unannounced())).status_code == 413
        assert (await space.ask("tom", "PUT", f"{FILES}/a", content=b"x" * 1000)).status_code == 200
        full = await space.ask("tom", "PUT", f"{FILES}/b", content=b"x" * 501)
        assert (full.status_code, "1,500 bytes" in full.text) == (507, True)
        begun = (await space.ask("tom", "POST", UPLOADS, json={"path": "/c"})).json()["upload_id"]
        assert (await space.ask("tom", "PUT", f"{UPLOADS}/{begun}/1", content=b"x" * 501)).status_code == 507
        assert (await space.ask("ten", "PUT", f"{FILES}/b", content=b"x" * 501)).status_code == 200
        assert [each for each in (tmp_path / "uploads").iterdir() if each.name.startswith("receiving")] == []


SHARING = ServerSettings(always_ask=True, tenant_max_bytes=1500)
MEMBERS = {"tom": ["/t1/"], "tim": ["/t1/"]}


async def unannounced(size: int) -> AsyncIterator[bytes]:
    for _ in range(size // 100):
        yield b"x" * 100


@pytest.fixture(params=["bucket", "folder"])
async def shared(request: Any, tmp_path: Path, store: FakeObjectStore) -> AsyncIterator[Space]:
    """Two members of one tenant, which may keep 1,500 bytes."""
    place = bucket_of(store) if request.param == "bucket" else InFolder(tmp_path / "workspace")
    async with open_space(tmp_path, place, MEMBERS, settings=SHARING) as space:
        yield space


async def held_by(space: Space, tenant: str) -> int:
    workspace = space.server.services.find(Workspaces).workspace
    assert workspace is not None
    return await workspace.files.measure(f"/{tenant}/")


async def test_parts_of_an_upload_count_for_the_tenants_share(shared: Space):
    begun = (await shared.ask("tom", "POST", UPLOADS, json={"path": "/a"})).json()["upload_id"]
    statuses = [
        (await shared.ask("tom", "PUT", f"{UPLOADS}/{begun}/{part}", content=b"x" * 600)).status_code for part in (1, 2, 2, 3)
    ]
    assert statuses == [200, 200, 200, 507], "the same part again takes no more room"
    assert (await shared.ask("tim", "PUT", f"{FILES}/b", content=b"x" * 400)).status_code == 507
    assert (await shared.ask("tom", "POST", f"{UPLOADS}/{begun}/complete")).json()["size"] == 1200
    assert (await shared.ask("tim", "PUT", f"{FILES}/b", content=b"x" * 300)).status_code == 200
    assert await held_by(shared, "t1") == 1500


async def test_a_part_that_does_not_say_its_length_cannot_pass_the_share(shared: Space):
    begun = (await shared.ask("tom", "POST", UPLOADS, json={"path": "/a"})).json()["upload_id"]
    assert (await shared.ask("tom", "PUT", f"{UPLOADS}/{begun}/1", content=unannounced(1600))).status_code == 507
    assert (await shared.ask("tom", "PUT", f"{UPLOADS}/{begun}/1", content=unannounced(1500))).status_code == 200
    assert (await shared.ask("tom", "PUT", f"{FILES}/b", content=unannounced(100))).status_code == 507


async def test_many_files_at_once_cannot_pass_the_share_together(shared: Space):
    puts = [shared.ask("tom", "PUT", f"{FILES}/{number}", content=b"x" * 200) for number in range(12)]
    statuses = [answer.status_code for answer in await asyncio.gather(*puts)]
    assert set(statuses) == {200, 507}
    assert await held_by(shared, "t1") == 200 * statuses.count(200) <= 1500


async def test_room_for_what_was_not_stored_is_given_back(shared: Space):
    assert (await shared.ask("tom", "PUT", f"{FILES}/a", content=b"x" * 500)).status_code == 200
    for _ in range(5):
        taken = await shared.ask("tom", "PUT", f"{FILES}/a", content=b"x" * 900, headers={"if-none-match": "*"})
        assert taken.status_code == 412
    assert (await shared.ask("tom", "PUT", f"{FILES}/b", content=b"x" * 1000)).status_code == 200


async def test_a_deleted_file_makes_room_at_once(shared: Space):
    assert (await shared.ask("tom", "PUT", f"{FILES}/a", content=b"x" * 1400)).status_code == 200
    assert (await shared.ask("tom", "PUT", f"{FILES}/b", content=b"x" * 200)).status_code == 507
    assert (await shared.ask("tom", "DELETE", f"{FILES}/a")).status_code == 204
    assert (await shared.ask("tom", "PUT", f"{FILES}/b", content=b"x" * 200)).status_code == 200


async def test_a_file_is_replaced_if_the_result_fits(shared: Space):
    for size, status in ((1000, 200), (1100, 200), (1501, 507), (400, 200)):
        assert (await shared.ask("tom", "PUT", f"{FILES}/a", content=b"x" * size)).status_code == status
    assert (await shared.ask("tom", "PUT", f"{FILES}/a", content=unannounced(1500))).status_code == 200
    assert (await shared.ask("tim", "PUT", f"{FILES}/b", content=b"x")).status_code == 507
    assert await held_by(shared, "t1") == 1500


async def test_many_bodies_for_one_file_cannot_pass_the_share_together(shared: Space, tmp_path: Path):
    assert (await shared.ask("tom", "PUT", f"{FILES}/a", content=b"x" * 1400)).status_code == 200
    go_on = asyncio.Event()

    async def slowly() -> AsyncIterator[bytes]:
        yield b"y" * 1300
        await go_on.wait()
        yield b"y" * 100

    first = asyncio.create_task(shared.ask("tom", "PUT", f"{FILES}/a", content=slowly()))
    await asyncio.to_thread(wait_until, lambda: any((tmp_path / "uploads").glob("receiving-*")), "the first body is on its way")
    second = await shared.ask("tim", "PUT", f"{FILES}/a", content=b"z" * 1400)
    deleted = await shared.ask("tim", "DELETE", f"{FILES}/a")
    other = await shared.ask("tim", "PUT", f"{FILES}/b", content=b"z" * 1400)
    go_on.set()
    statuses = [each.status_code for each in (second, deleted, other, await first)]
    assert statuses == [507, 204, 200, 507], "what the first one was to replace is gone, and its room is used"
    assert await held_by(shared, "t1") == 1400


async def test_a_full_share_tells_no_member_what_the_others_hold(shared: Space):
    await shared.ask("tim", "PUT", f"{FILES}/a", content=b"x" * 1234)
    full = await shared.ask("tom", "PUT", f"{FILES}/b", content=b"x" * 900)
    assert full.status_code == 507
    assert "1,500" in full.text
    assert not any(figure in full.text for figure in ("1,234", "1234", "266"))


async def test_one_tenant_s_minute_is_not_another_s(tmp_path: Path, store: FakeObjectStore):
    settings = ServerSettings(always_ask=True, tenant_max_operations=3)
    async with open_space(tmp_path, bucket_of(store), {"tom": ["/t1/"], "ten": ["/t10/"]}, settings=settings) as space:
        statuses = [(await space.ask("tom", "GET", FILES)).status_code for _ in range(4)]
        assert statuses == [200, 200, 200, 429]
        assert (await space.ask("ten", "GET", FILES)).status_code == 200


async def test_a_hundred_megabytes_do_not_stand_in_memory(tmp_path: Path, record_property: Any):
    """Up and down, on a folder of this machine: a file of 100 MB raises what this process holds by a small part of that."""
    async with open_space(tmp_path, InFolder(tmp_path / "workspace"), {}, settings=ServerSettings()) as space:

        async def pieces() -> AsyncIterator[bytes]:
            for _ in range(100):
                yield b"\xab" * MB

        before = _anonymous_kb()
        stored = await space.ask(None, "PUT", f"{FILES}/big.bin", content=pieces())
        assert stored.json()["size"] == 100 * MB
        size, highest = 0, _anonymous_kb()
        async with space.server.http.stream("GET", f"{FILES}/big.bin") as response:
            async for piece in response.aiter_raw():
                size += len(piece)
                highest = max(highest, _anonymous_kb()) if size % (10 * MB) < len(piece) else highest
        assert size == 100 * MB
    record_property("megabytes held", (highest - before) // 1024)
    assert highest - before < 30 * 1024


def _anonymous_kb() -> int:
    """What of this process is memory and not files."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("RssAnon"))
    return int(line.split()[1])


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
async def test_uploads_can_be_read_by_their_owner_alone(tmp_path: Path):
    async with open_space(tmp_path, InFolder(tmp_path / "workspace"), {"tom": ["/t1/"]}) as space:
        begun = (await space.ask("tom", "POST", UPLOADS, json={"path": "/a.bin"})).json()
        await space.ask("tom", "PUT", f"{UPLOADS}/{begun['upload_id']}/1", content=b"x" * 100)
        kept = [*(tmp_path / "uploads").rglob("*"), tmp_path / "uploads"]
        assert any(each.name == "00001" for each in kept)
        assert {oct(each.stat().st_mode & 0o777) for each in kept} == {"0o700", "0o600"}
