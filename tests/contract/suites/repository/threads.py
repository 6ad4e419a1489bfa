"""The suite for repositories: threads made, found, changed."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.contract.suites.repository.case import OTHER, PROGRAM, RepositoryCase, refusal
from tests.support.driven_runs import OWNER, DrivenRuns, a_thread, new_id

from stepwell.database.persistence import Persistence
from stepwell.database.records.repository import Repository
from stepwell.database.records.types import Page, ThreadFilter
from stepwell.database.types import PendingInterrupt, RunOutcome, Thread
from stepwell.errors import AlreadyExistsError, InvalidRequestError

ALL = Page(limit=1000)

AWKWARD: dict[str, Any] = {
    'a "quoted" key': 1,
    "a.b": {"c.d": {'"': "deep"}},
    "$": "root",
    "[0]": "index",
    "ü\n\\": "ß",
    "": "no name",
    "flag": True,
    "one": 1,
    "text one": "1",
    "nothing": None,
    "list": [1, {"x": None}],
    "empty": {},
    "half": 0.5,
    "large": 2**63 - 1,
}

CONTAINED: list[dict[str, Any]] = [
    {},
    *({key: value} for key, value in AWKWARD.items()),
    {"a.b": {}},
    {"a.b": {"c.d": {}}},
    {"one": 1.0},
    {"one": 1, "flag": True, "a.b": {"c.d": {'"': "deep"}}},
]
NOT_CONTAINED: list[dict[str, Any]] = [
    {"missing": None},
    {"one": "1"},
    {"text one": 1},
    {"one": True},
    {"flag": 1},
    {"flag": False},
    {"nothing": 0},
    {"nothing": ""},
    {"empty": None},
    {"a.b": {"c.d": "deep"}},
    {"a": {"b": {}}},
    {"a.b": {"c.d": {'"': "deep", "more": 1}}},
    {"list": [1]},
    {"list": [{"x": None}, 1]},
    {"one": {"x": 1}},
    {"one": {}},
    {"$": {"root": 1}},
    {"one": 1, "flag": False},
    {"large": 10**30},
    {"' OR 1=1 --": 1},
]


class ThreadCases(RepositoryCase):
    async def test_a_thread_comes_back_as_it_was_kept(self, records: Repository) -> None:
        moment = datetime(2024, 2, 29, 12, 0, 0, 250_000, tzinfo=UTC)
        question = PendingInterrupt("i", {"why": [1]}, "ns", "task", {"type": "object"})
        kept = a_thread(
            status="interrupted", metadata=AWKWARD, config={"tags": ["x"]}, values={"messages": ["ü"]}, interrupts=(question,),
            error={"error": "E"}, created_at=moment, updated_at=moment, state_updated_at=moment,
        )  # fmt: skip
        assert await records.create_thread(kept, if_exists="raise") == kept
        assert await records.get_thread(OWNER, kept.thread_id) == kept

    @pytest.mark.parametrize("value", [10**30, "\ud800"], ids=["a number beyond 64 bits", "half a character"])
    async def test_what_cannot_be_kept_is_refused_in_words(self, records: Repository, value: Any) -> None:
        with pytest.raises(InvalidRequestError, match="JSON"):
            await records.create_thread(a_thread(metadata={"x": [value]}), if_exists="raise")

    async def test_a_taken_id_is_refused_or_left(self, records: Repository) -> None:
        first = await records.create_thread(a_thread(), if_exists="raise")
        with pytest.raises(AlreadyExistsError):
            await records.create_thread(first, if_exists="raise")
        assert await records.create_thread(replace(first, metadata={"new": 1}), if_exists="do_nothing") == first
        with pytest.raises(AlreadyExistsError):
            await records.create_thread(replace(first, owner=OTHER), if_exists="do_nothing")

    async def test_somebody_elses_thread_looks_like_none(self, records: Repository) -> None:
        theirs = await records.create_thread(a_thread(OTHER), if_exists="raise")
        there, absent = theirs.thread_id, new_id()
        for one, two in (
            (records.get_thread(OWNER, each) for each in (there, absent)),
            (records.merge_thread_metadata(OWNER, each, {"mine": 1}) for each in (there, absent)),
            (records.copy_thread(OWNER, each, new_id()) for each in (there, absent)),
            (records.delete_thread(OWNER, each) for each in (there, absent)),
            (records.list_runs(OWNER, each, None, ALL) for each in (there, absent)),
            (records.get_run(OWNER, each, "r") for each in (there, absent)),
            (records.delete_run(OWNER, each, "r") for each in (there, absent)),
        ):
            assert await refusal(one, there) == await refusal(two, absent)
        assert await records.search_threads(OWNER, ThreadFilter(ids=[there]), ALL) == []
        assert await records.count_threads(OWNER, ThreadFilter()) == 0
        assert await records.get_thread(OTHER, there) == await records.get_thread(PROGRAM, there) == theirs

    async def test_metadata_is_merged_key_by_key(self, records: Repository) -> None:
        thread = await records.create_thread(a_thread(metadata={"a": 1, "b": {"c": 1}}), if_exists="raise")
        merged = await records.merge_thread_metadata(OWNER, thread.thread_id, {"b": {"d": 2}, "e": None})
        assert merged.metadata == {"a": 1, "b": {"d": 2}, "e": None}
        assert merged.updated_at >= thread.updated_at
        assert await records.get_thread(OWNER, thread.thread_id) == merged


class SearchCases(RepositoryCase):
    async def found(self, records: Repository, wanted: ThreadFilter, owner: str | None = OWNER) -> list[Thread]:
        found = await records.search_threads(owner, wanted, ALL)
        assert await records.count_threads(owner, wanted) == len(found)
        return found

    @pytest.mark.parametrize("wanted", CONTAINED, ids=repr)
    async def test_what_is_contained_is_found(self, records: Repository, wanted: dict[str, Any]) -> None:
        thread = await records.create_thread(a_thread(metadata=AWKWARD, values=AWKWARD), if_exists="raise")
        assert [each.thread_id for each in await self.found(records, ThreadFilter(metadata=wanted))] == [thread.thread_id]
        assert [each.thread_id for each in await self.found(records, ThreadFilter(values=wanted))] == [thread.thread_id]

    @pytest.mark.parametrize("wanted", NOT_CONTAINED, ids=lambda wanted: repr(wanted)[:60])
    async def test_what_is_not_contained_is_not_found(self, records: Repository, wanted: dict[str, Any]) -> None:
        await records.create_thread(a_thread(metadata=AWKWARD, values=AWKWARD), if_exists="raise")
        await records.create_thread(a_thread(), if_exists="raise")
        assert await self.found(records, ThreadFilter(metadata=wanted)) == []
        assert await self.found(records, ThreadFilter(values=wanted)) == []

    async def test_threads_with_a_value_are_paged_like_all_others(self, records: Repository) -> None:
        made = [await records.create_thread(a_thread(values={"stage": "done", "n": n}), if_exists="raise") for n in range(7)]
        await records.create_thread(a_thread(values={"stage": "draft", "n": 7}), if_exists="raise")
        wanted = ThreadFilter(values={"stage": "done"})
        pages = [
            await records.search_threads(OWNER, wanted, Page(limit=3, offset=first, sort_by="thread_id"))
            for first in (0, 3, 6, 9)
        ]
        assert [len(page) for page in pages] == [3, 3, 1, 0]
        ids = sorted(thread.thread_id for thread in made)
        assert sorted(thread.thread_id for page in pages for thread in page) == ids

    async def test_values_that_have_changed_are_found_as_they_are_now(self, persistence: Persistence, runs: DrivenRuns) -> None:
        claim = await runs.begin(new_id())
        await runs.end(claim, RunOutcome("success", "idle", values=b'{"stage": "draft"}'))
        again = await runs.begin(claim.run.thread_id)
        await runs.end(again, RunOutcome("success", "idle", values=b'{"stage": "done"}'))
        copy = await persistence.records.copy_thread(OWNER, claim.run.thread_id, new_id())
        assert await self.found(persistence.records, ThreadFilter(values={"stage": "draft"})) == []
        found = await self.found(persistence.records, ThreadFilter(values={"stage": "done"}))
        assert {thread.thread_id for thread in found} == {claim.run.thread_id, copy.thread_id}

    async def test_values_of_an_older_version_are_found_without_marks(self, persistence: Persistence) -> None:
        records = persistence.records
        for number in range(150):
            await records.create_thread(a_thread(values={"stage": "draft", "n": number}), if_exists="raise")
        last = await records.create_thread(a_thread(values={"stage": "done"}), if_exists="raise")
        await persistence.database.write(lambda connection: connection.execute("UPDATE thread_values SET marks = NULL"))
        for page in (Page(limit=1), Page(limit=1, descending=False)):
            (found,) = await records.search_threads(OWNER, ThreadFilter(values={"stage": "done"}), page)
            assert found.thread_id == last.thread_id

    async def test_a_filter_that_cannot_be_asked_is_refused_in_words(self, records: Repository) -> None:
        deep: dict[str, Any] = {"end": 1}
        for _ in range(200):
            deep = {"in": deep}
        for wanted in (deep, {str(n): n for n in range(5000)}, {"half": "\ud800"}, {"\ud800": 1}, {"n": 10**400}):
            with pytest.raises(InvalidRequestError, match="filter"):
                await records.search_threads(OWNER, ThreadFilter(metadata=wanted), ALL)

    async def test_search_by_status_and_ids(self, records: Repository) -> None:
        idle, asking = a_thread(), a_thread(status="interrupted")
        theirs = a_thread(OTHER)
        for thread in (idle, asking, theirs):
            await records.create_thread(thread, if_exists="raise")
        assert await self.found(records, ThreadFilter(status="interrupted")) == [asking]
        assert await self.found(records, ThreadFilter(ids=[idle.thread_id, theirs.thread_id, new_id(), "'"])) == [idle]
        assert len(await self.found(records, ThreadFilter(), PROGRAM)) == 3

    async def test_pages_are_sorted_and_cover_everything_once(self, records: Repository) -> None:
        start = datetime(2024, 1, 1, tzinfo=UTC)
        threads = [
            a_thread(thread_id=f"{n:02}", created_at=start, updated_at=start + timedelta(minutes=n % 5)) for n in range(20)
        ]
        for thread in threads:
            await records.create_thread(thread, if_exists="raise")
        for sort_by in ("created_at", "updated_at", "thread_id", "status", "state_updated_at"):
            for descending in (True, False):
                pages = [
                    await records.search_threads(OWNER, ThreadFilter(), Page(7, offset, sort_by, descending))
                    for offset in (0, 7, 14, 21)
                ]
                listed = [thread for page in pages for thread in page]
                assert sorted(each.thread_id for each in listed) == [each.thread_id for each in threads]
                if sort_by in ("updated_at", "thread_id"):
                    keys = [getattr(each, sort_by) for each in listed]
                    assert keys == sorted(keys, reverse=descending)
        assert await records.search_threads(OWNER, ThreadFilter(), Page(limit=0)) == []
        assert await records.search_threads(OWNER, ThreadFilter(), Page(offset=10**30)) == []

    async def test_sorting_by_anything_else_is_refused_and_says_what_there_is(self, records: Repository) -> None:
        for bad in ("owner", "thread_id; DROP TABLE threads", ""):
            with pytest.raises(InvalidRequestError, match="updated_at"):
                await records.search_threads(OWNER, ThreadFilter(), Page(sort_by=bad))
