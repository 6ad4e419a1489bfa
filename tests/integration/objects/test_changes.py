"""W4: optimistic locking on edit. No change is lost, none is made twice, whatever becomes of the answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from stepwell.backends.objects import Bucket, ObjectBackend
from stepwell.backends.objects.changes import MAX_REBASES, REMEMBERED
from stepwell.testing.objects import FakeObjectStore

OpenBucket = Callable[..., Bucket]
WRITES = ("PUT",)


@pytest.fixture
async def files(open_fake: OpenBucket) -> ObjectBackend:
    files = ObjectBackend(open_fake(), "/t1/w1/")
    assert (await files.awrite("/a.md", "END")).error is None
    return files


def content(store: FakeObjectStore, name: str = "t1/w1/a.md") -> str:
    return store.contents.get("files", name).data.decode()


@pytest.mark.parametrize("kind", ["lost", "cut", "unavailable", "busy", "collision"])
async def test_an_edit_whose_answer_does_not_come_is_made_once(store: FakeObjectStore, files: ObjectBackend, kind: Any):
    store.faults.add(kind, methods=WRITES)
    result = await files.aedit("/a.md", "END", "one, END")
    assert result.error is None
    assert content(store) == "one, END"
    assert store.faults.met == [kind]
    assert len(store.contents.commits) == 2


@pytest.mark.parametrize("kind", ["lost", "cut", "unavailable", "collision"])
async def test_a_file_whose_answer_does_not_come_is_created_once(store: FakeObjectStore, files: ObjectBackend, kind: Any):
    """The store says that the file exists: because we have just made it."""
    store.faults.add(kind, methods=WRITES)
    assert (await files.awrite("/new.md", "one")).error is None
    assert "exists already" in (await files.awrite("/new.md", "one")).error
    assert content(store, "t1/w1/new.md") == "one"


async def test_a_lost_answer_is_recognised_after_others_have_written(
    store: FakeObjectStore, files: ObjectBackend, open_fake: OpenBucket
):
    """The others' work is kept, and ours is not made again on top of it."""
    other = ObjectBackend(open_fake(), "/t1/w1/")
    store.faults.add("lost", methods=WRITES, meanwhile=lambda: other.edit("/a.md", "END", "theirs, END"))
    assert (await files.aedit("/a.md", "END", "mine, END")).error is None
    assert content(store) == "mine, theirs, END"


async def test_a_write_that_came_to_nothing_is_made_again_on_what_others_wrote(
    store: FakeObjectStore, files: ObjectBackend, open_fake: OpenBucket
):
    other = ObjectBackend(open_fake(), "/t1/w1/")
    store.faults.add("slow", methods=WRITES, meanwhile=lambda: other.edit("/a.md", "END", "theirs, END"))
    assert (await files.aedit("/a.md", "END", "mine, END")).error is None
    assert content(store) == "theirs, mine, END"


async def test_an_outcome_that_nobody_can_know_is_a_conflict_that_says_so(store: FakeObjectStore, files: ObjectBackend):
    """Another program has written over our unanswered write: its object does not remember us."""
    store.faults.add("lost", methods=WRITES, meanwhile=lambda: store.contents.put("files", "t1/w1/a.md", b"theirs, END"))
    result = await files.aedit("/a.md", "END", "mine, END")
    assert result.error.startswith("Error: conflict")
    assert "may or may not have been changed" in result.error
    assert content(store) == "theirs, END"


async def test_a_file_that_was_deleted_meanwhile_is_not_brought_back_by_an_edit(store: FakeObjectStore, files: ObjectBackend):
    store.faults.add("slow", methods=WRITES, meanwhile=lambda: store.contents.delete("files", "t1/w1/a.md"))
    assert "no file" in (await files.aedit("/a.md", "END", "mine, END")).error
    assert store.contents.names("files") == []


async def test_a_store_that_stays_silent_is_a_result(store: FakeObjectStore, files: ObjectBackend):
    store.faults.add("unavailable", times=100, methods=WRITES)
    result = await files.aedit("/a.md", "END", "one, END")
    assert "may or may not have been changed" in result.error
    assert content(store) == "END"


async def test_an_edit_is_rebased_on_what_others_wrote(store: FakeObjectStore, files: ObjectBackend, open_fake: OpenBucket):
    others = [ObjectBackend(open_fake(), "/t1/w1/") for _ in range(3)]
    results = await asyncio.gather(*(each.aedit("/a.md", "END", f"{n}, END") for n, each in enumerate([files, *others])))
    kept = {str(n) for n, result in enumerate(results) if result.error is None}
    assert set(content(store).split(", ")) == kept | {"END"}
    assert kept


async def test_after_five_rebases_an_edit_is_a_conflict(store: FakeObjectStore, files: ObjectBackend):
    """Somebody changes the object under every attempt."""

    def interfere() -> None:
        store.contents.put("files", "t1/w1/a.md", b"END" + b"." * len(store.contents.commits))

    store.faults.add("slow", times=100, methods=WRITES, meanwhile=interfere)
    result = await files.aedit("/a.md", "END", "mine, END")
    assert result.error.startswith("Error: conflict")
    assert len(store.faults.met) == MAX_REBASES + 1
    assert "mine" not in content(store)


async def test_an_expected_version_is_held_against_what_is_there_now(
    store: FakeObjectStore, files: ObjectBackend, open_fake: OpenBucket
):
    """W6: an approval was given for a base; a base that changed meanwhile is a conflict."""
    base = (await files.aedit("/a.md", "END", "seen, END")).version
    await ObjectBackend(open_fake(), "/t1/w1/").aedit("/a.md", "END", "later, END")
    assert "conflict" in (await files.aedit("/a.md", "END", "mine, END", expected_version=base)).error
    assert "conflict" in (await files.awrite("/a.md", "mine", overwrite=True, expected_version=base)).error
    assert content(store) == "seen, later, END"


async def test_what_stands_beside_an_object_is_kept(store: FakeObjectStore, files: ObjectBackend):
    store.contents.put("files", "t1/w1/b.md", b"one", content_type="text/x-own", metadata={"owner": "ada"})
    assert (await files.aedit("/b.md", "one", "two")).error is None
    kept = store.contents.get("files", "t1/w1/b.md")
    assert (kept.content_type, kept.metadata["owner"]) == ("text/x-own", "ada")


async def test_a_lineage_stays_short(store: FakeObjectStore, files: ObjectBackend):
    for number in range(REMEMBERED + 5):
        assert (await files.awrite("/a.md", f"{number}", overwrite=True)).error is None
    assert len(store.contents.get("files", "t1/w1/a.md").metadata["stepwellwrites"]) < 600


async def edit_at_once(store: FakeObjectStore, open_fake: OpenBucket, editors: int, clients: int) -> dict[int, str | None]:
    """Each editor adds its mark once; gives what each was told."""
    buckets = [open_fake() for _ in range(clients)]
    first = ObjectBackend(buckets[0], "/t1/w1/")
    assert (await first.awrite("/a.md", "END")).error is None

    async def edit(number: int) -> str | None:
        files = ObjectBackend(buckets[number % clients], "/t1/w1/")
        return (await files.aedit("/a.md", "END", f"<{number}> END")).error

    told = await asyncio.gather(*(edit(number) for number in range(editors)))
    return dict(enumerate(told))


def check_marks(store: FakeObjectStore, told: dict[int, str | None]) -> dict[str, int]:
    """Kept means there once; a conflict means not there; unknown means at most once. Counts of each."""
    marks = content(store).split()
    counts = {"kept": 0, "conflict": 0, "unknown": 0}
    for number, error in told.items():
        times = marks.count(f"<{number}>")
        if error is None:
            assert times == 1, f"edit {number} was acknowledged and is there {times} times"
            counts["kept"] += 1
        elif "may or may not" in error:
            assert times <= 1
            counts["unknown"] += 1
        else:
            assert "conflict" in error or "could not be reached" in error, error
            assert times == 0, f"edit {number} was refused and is there {times} times"
            counts["conflict"] += 1
    return counts


@pytest.mark.prove
async def test_forty_editors_of_one_object_keep_their_edits_or_are_told(
    store: FakeObjectStore, open_fake: OpenBucket, effort: Any, record_property: Any
):
    """W4: forty editors in eight clients, which share nothing but the store."""
    total = {"kept": 0, "conflict": 0, "unknown": 0}
    for _ in range(effort.cases(1, 25)):
        told = await edit_at_once(store, open_fake, 40, 8)
        for outcome, times in check_marks(store, told).items():
            total[outcome] += times
        store.contents.delete("files", "t1/w1/a.md")
    assert total["unknown"] == 0
    assert total["kept"] >= 20
    record_property("edits", total)


@pytest.mark.prove
@pytest.mark.timeout(600)
async def test_forty_editors_lose_nothing_when_answers_are_lost(
    store: FakeObjectStore, open_fake: OpenBucket, effort: Any, record_property: Any
):
    """W4: the same with lost answers, cut connections, 503 and 429, on reads and writes."""
    total = {"kept": 0, "conflict": 0, "unknown": 0}
    for seed in range(effort.cases(2, 25)):
        store.faults.roll({"lost": 0.12, "cut": 0.05, "unavailable": 0.08, "busy": 0.05}, seed=seed)
        told = await edit_at_once(store, open_fake, 40, 8)
        store.faults.stop()
        for outcome, times in check_marks(store, told).items():
            total[outcome] += times
        store.contents.delete("files", "t1/w1/a.md")
    assert store.faults.met.count("lost") > 5
    assert total["kept"] >= 20
    record_property("edits", total)
    record_property("faults", len(store.faults.met))


async def test_forty_editors_of_one_client_are_all_kept(store: FakeObjectStore, open_fake: OpenBucket):
    """Those who share a client take turns, and never meet as conflicts."""
    told = await edit_at_once(store, open_fake, 40, 1)
    assert check_marks(store, told)["kept"] == 40
