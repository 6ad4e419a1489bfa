"""The suite for repositories: callers whose auth handlers returned a filter. The filter takes the place of the owner in every query."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from tests.contract.suites.repository.case import OTHER, PROGRAM, RepositoryCase, an_assistant
from tests.support.driven_runs import OWNER, DrivenRuns, a_run, a_thread, new_id

from stepwell.database.callers import Caller, read_filter
from stepwell.database.persistence import Persistence
from stepwell.database.queue.types import Admission
from stepwell.database.records.repository import Repository
from stepwell.database.records.types import AssistantFilter, EffectFilter, Page, ThreadFilter
from stepwell.errors import NotFoundError

ALL = Page(limit=1000)
METADATA: Mapping[str, Mapping[str, Any]] = {
    "red": {"team": "red", "members": ["anna", "amir"], "level": 1},
    "blue": {"team": "blue", "members": ["bert"], "level": 2},
    "word": {"team": ["red"], "members": "anna"},
    "odd": {"team": None, "members": [], 'it\'s "odd"': "x' OR '1'='1", "level": True},
    "none": {},
}
FILTERS: list[tuple[Mapping[str, Any], set[str]]] = [
    ({}, set(METADATA)),
    ({"team": "red"}, {"red"}),
    ({"team": {"$eq": "blue"}}, {"blue"}),
    ({"team": ["red"]}, {"word"}),
    ({"team": None}, {"odd"}),
    ({"level": 1}, {"red"}),
    ({"level": True}, {"odd"}),
    ({"members": {"$contains": "anna"}}, {"red"}),
    ({"members": {"$contains": ["amir", "anna"]}}, {"red"}),
    ({"members": {"$contains": ["anna", "bert"]}}, set()),
    ({"team": "red", "members": {"$contains": "bert"}}, set()),
    ({"$or": [{"team": "red"}, {"members": {"$contains": "bert"}}]}, {"red", "blue"}),
    ({"$and": [{"team": "red"}, {"$or": [{"level": 1}, {"level": 2}]}]}, {"red"}),
    ({'it\'s "odd"': "x' OR '1'='1"}, {"odd"}),
    ({"team": "x' OR '1'='1"}, set()),
    ({"absent": "x"}, set()),
]


def seeing(found: Mapping[str, Any], name: str = OWNER, **more: Any) -> Caller:
    return Caller(name, threads=read_filter(found), assistants=read_filter(found), **more)


class CallerCases(RepositoryCase):
    async def test_a_filter_decides_which_threads_and_assistants_are_found(self, records: Repository) -> None:
        threads, assistants = {}, {}
        for name, metadata in METADATA.items():
            thread = a_thread(OTHER, metadata=metadata)
            assistant = an_assistant(OTHER, metadata=metadata)
            await records.create_thread(thread, if_exists="raise")
            await records.create_assistant(assistant, if_exists="raise")
            threads[thread.thread_id], assistants[assistant.assistant_id] = name, name
        for found, expected in FILTERS:
            caller = seeing(found)
            listed = await records.search_threads(caller, ThreadFilter(), ALL)
            assert {threads[thread.thread_id] for thread in listed} == expected, found
            assert await records.count_threads(caller, ThreadFilter()) == len(expected), found
            seen = await records.search_assistants(caller, AssistantFilter(), ALL)
            assert {assistants[each.assistant_id] for each in seen} == expected, found
            for thread_id, name in threads.items():
                if name in expected:
                    assert (await records.get_thread(caller, thread_id)).thread_id == thread_id
                else:
                    with pytest.raises(NotFoundError):
                        await records.get_thread(caller, thread_id)

    async def test_a_caller_without_a_filter_sees_what_is_theirs(self, records: Repository) -> None:
        mine, theirs = (a_thread(owner) for owner in (OWNER, OTHER))
        for thread in (mine, theirs):
            await records.create_thread(thread, if_exists="raise")
        listed = await records.search_threads(Caller(OWNER), ThreadFilter(), ALL)
        assert [thread.thread_id for thread in listed] == [mine.thread_id]

    async def test_runs_are_seen_by_whoever_sees_their_thread(
        self, records: Repository, runs: DrivenRuns, persistence: Persistence
    ) -> None:
        claim = await runs.begin(new_id(), OTHER)
        thread_id, run_id = claim.run.thread_id, claim.run.run_id
        await records.merge_thread_metadata(PROGRAM, thread_id, {"team": "red"})
        red, blue = seeing({"team": "red"}), seeing({"team": "blue"}, OTHER)
        assert (await records.get_run(red, thread_id, run_id)).owner == OTHER
        assert [run.run_id for run in await records.list_runs(red, thread_id, None, ALL)] == [run_id]
        assert await records.open_runs(red, thread_id, None) == [run_id]
        assert await records.open_runs(blue, None, None) == [], "the filter decides, even about what they created"
        assert await records.runs_named(blue, [run_id]) == []
        assert await persistence.queue.cancel(blue, [run_id], "interrupt") == []
        for ask in (records.get_run, records.delete_run):
            with pytest.raises(NotFoundError):
                await ask(blue, thread_id, run_id)
        with pytest.raises(NotFoundError):
            async with persistence.queue.hold(blue, thread_id, "update"):
                raise AssertionError("it was held")
        assert await persistence.open_interrupts(blue, thread_id) == []
        assert await records.count_waiting(blue) == 0
        assert await records.effects(blue, EffectFilter(), ALL) == []
        stopped = await persistence.queue.cancel(red, [run_id], "interrupt")
        assert [run.run_id for run in stopped] == [run_id]
        await runs.end(claim)

    async def test_a_run_is_admitted_on_a_thread_that_its_caller_sees(
        self, records: Repository, persistence: Persistence
    ) -> None:
        thread = a_thread(OTHER, metadata={"team": "red"})
        await records.create_thread(thread, if_exists="raise")
        run = a_run(thread.thread_id)
        with pytest.raises(NotFoundError):
            await persistence.queue.admit(Admission(run, caller=seeing({"team": "blue"}), create_thread=True))
        admitted = await persistence.queue.admit(Admission(run, caller=seeing({"team": "red"})))
        assert (admitted.run.owner, admitted.run.thread_id) == (OWNER, thread.thread_id)

    async def test_a_copy_belongs_to_who_made_it(self, records: Repository) -> None:
        thread = a_thread(OTHER, metadata={"team": "red"})
        await records.create_thread(thread, if_exists="raise")
        with pytest.raises(NotFoundError):
            await records.copy_thread(seeing({"team": "blue"}), thread.thread_id, new_id())
        copied = await records.copy_thread(seeing({"team": "red"}, metadata={"by": OWNER}), thread.thread_id, new_id())
        assert (copied.owner, copied.metadata) == (OWNER, {"team": "red", "by": OWNER})
