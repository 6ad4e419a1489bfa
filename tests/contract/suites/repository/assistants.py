"""The suite for repositories: assistants and their versions."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.contract.suites.repository.case import OTHER, PROGRAM, RepositoryCase, an_assistant, refusal
from tests.support.driven_runs import OWNER, DrivenRuns, a_thread, new_id

from stepwell.database.records.repository import Repository
from stepwell.database.records.types import AssistantFilter, Page
from stepwell.database.types import SYSTEM
from stepwell.errors import AccessError, AlreadyExistsError, InvalidRequestError, NotFoundError, ThreadBusyError

ALL = Page(limit=1000)


class AssistantCases(RepositoryCase):
    async def test_an_assistant_comes_back_as_it_was_kept(self, records: Repository) -> None:
        kept = an_assistant(description="d", config={"a": [1, None]}, context={"ü": "ß"}, metadata={"x": {"y": True}})
        assert await records.create_assistant(kept, if_exists="raise") == kept
        assert await records.get_assistant(OWNER, kept.assistant_id) == kept

    async def test_a_taken_id_is_refused_or_left(self, records: Repository) -> None:
        first = await records.create_assistant(an_assistant(), if_exists="raise")
        again = replace(first, name="Eve")
        with pytest.raises(AlreadyExistsError):
            await records.create_assistant(again, if_exists="raise")
        assert await records.create_assistant(again, if_exists="do_nothing") == first
        with pytest.raises(AlreadyExistsError):
            await records.create_assistant(replace(again, owner=OTHER), if_exists="do_nothing")

    async def test_somebody_elses_assistant_looks_like_none(self, records: Repository) -> None:
        theirs, nobodys = an_assistant(OTHER), an_assistant(OTHER)
        await records.create_assistant(theirs, if_exists="raise")
        for one, two in (
            (records.get_assistant(OWNER, each.assistant_id) for each in (theirs, nobodys)),
            (records.save_assistant_version(OWNER, each) for each in (theirs, nobodys)),
            (records.assistant_versions(OWNER, each.assistant_id, {}, ALL) for each in (theirs, nobodys)),
            (records.set_assistant_version(OWNER, each.assistant_id, 1) for each in (theirs, nobodys)),
            (records.delete_assistant(OWNER, each.assistant_id) for each in (theirs, nobodys)),
        ):
            assert await refusal(one, theirs.assistant_id) == await refusal(two, nobodys.assistant_id)
        assert await records.search_assistants(OWNER, AssistantFilter(), ALL) == []
        assert await records.count_assistants(OWNER, AssistantFilter()) == 0
        assert await records.get_assistant(PROGRAM, theirs.assistant_id) == theirs

    async def test_the_servers_assistant_is_seen_by_all_and_changed_by_the_program_alone(self, records: Repository) -> None:
        shared = await records.create_assistant(an_assistant(SYSTEM), if_exists="raise")
        assert await records.get_assistant(OWNER, shared.assistant_id) == shared
        assert await records.search_assistants(OTHER, AssistantFilter(), ALL) == [shared]
        for change in (
            records.save_assistant_version(OWNER, replace(shared, name="mine")),
            records.set_assistant_version(OWNER, shared.assistant_id, 1),
            records.delete_assistant(OWNER, shared.assistant_id),
        ):
            with pytest.raises(AccessError, match="belongs to the server"):
                await change
        assert await records.get_assistant(OWNER, shared.assistant_id) == shared
        assert (await records.save_assistant_version(PROGRAM, replace(shared, name="new"))).owner == SYSTEM
        await records.delete_assistant(PROGRAM, shared.assistant_id)

    async def test_search_by_name_graph_and_metadata(self, records: Repository) -> None:
        ada = await records.create_assistant(an_assistant(name="Ada Lovelace", metadata={"team": "a"}), if_exists="raise")
        bob = await records.create_assistant(an_assistant(name="Bob 100%", graph_id="other"), if_exists="raise")
        for wanted, found in (
            (AssistantFilter(name="LOVE"), [ada]),
            (AssistantFilter(name="0%"), [bob]),
            (AssistantFilter(name="_"), []),
            (AssistantFilter(graph_id="other"), [bob]),
            (AssistantFilter(metadata={"team": "a"}), [ada]),
            (AssistantFilter(metadata={"team": "a"}, graph_id="other"), []),
        ):
            assert await records.search_assistants(OWNER, wanted, ALL) == found
            assert await records.count_assistants(OWNER, wanted) == len(found)
        by_name = Page(sort_by="name", descending=False)
        assert await records.search_assistants(OWNER, AssistantFilter(), by_name) == [ada, bob]
        assert await records.search_assistants(OWNER, AssistantFilter(), replace(by_name, limit=1, offset=1)) == [bob]
        with pytest.raises(InvalidRequestError, match="graph_id"):
            await records.search_assistants(OWNER, AssistantFilter(), Page(sort_by="owner; DROP TABLE runs"))


class VersionCases(RepositoryCase):
    async def test_versions_count_up_and_the_newest_is_current(self, records: Repository) -> None:
        first = await records.create_assistant(an_assistant(name="one"), if_exists="raise")
        second = await records.save_assistant_version(OWNER, replace(first, name="two", metadata={"k": 2}, version=1))
        assert (second.version, second.name, second.created_at) == (2, "two", first.created_at)
        assert await records.get_assistant(OWNER, first.assistant_id) == second
        versions = await records.assistant_versions(OWNER, first.assistant_id, {}, ALL)
        assert [(version.version, version.name, version.owner) for version in versions] == [
            (2, "two", OWNER),
            (1, "one", OWNER),
        ]
        assert [each.version for each in await records.assistant_versions(OWNER, first.assistant_id, {"k": 2}, ALL)] == [2]
        assert [each.version for each in await records.assistant_versions(OWNER, first.assistant_id, {}, Page(limit=1))] == [2]

    async def test_an_older_version_can_be_made_current_and_numbers_go_on(self, records: Repository) -> None:
        first = await records.create_assistant(an_assistant(name="one"), if_exists="raise")
        await records.save_assistant_version(OWNER, replace(first, name="two"))
        back = await records.set_assistant_version(OWNER, first.assistant_id, 1)
        assert (back.version, back.name) == (1, "one")
        assert await records.get_assistant(OWNER, first.assistant_id) == back
        assert (await records.save_assistant_version(OWNER, replace(back, name="three"))).version == 3
        for missing in (9, 10**30):
            with pytest.raises(NotFoundError, match="version"):
                await records.set_assistant_version(OWNER, first.assistant_id, missing)

    async def test_deleting_an_assistant_takes_its_versions_and_on_demand_its_threads(
        self, records: Repository, runs: DrivenRuns
    ) -> None:
        kept = await records.create_assistant(an_assistant(), if_exists="raise")
        gone = await records.create_assistant(an_assistant(), if_exists="raise")
        threads = [a_thread(metadata={"assistant_id": each.assistant_id}) for each in (kept, gone)]
        theirs = a_thread(OTHER, metadata={"assistant_id": gone.assistant_id})
        for thread in (*threads, theirs):
            await records.create_thread(thread, if_exists="raise")
        claim = await runs.begin(threads[1].thread_id)
        with pytest.raises(ThreadBusyError):
            await records.delete_assistant(OWNER, gone.assistant_id, delete_threads=True)
        assert (await records.get_assistant(OWNER, gone.assistant_id)) == gone
        await runs.end(claim)
        await records.delete_assistant(OWNER, gone.assistant_id, delete_threads=True)
        with pytest.raises(NotFoundError):
            await records.get_assistant(OWNER, gone.assistant_id)
        with pytest.raises(NotFoundError):
            await records.get_thread(OWNER, threads[1].thread_id)
        assert (await records.get_thread(OWNER, threads[0].thread_id)).thread_id == threads[0].thread_id
        assert (await records.get_thread(OTHER, theirs.thread_id)).thread_id == theirs.thread_id
        again = await records.create_assistant(gone, if_exists="raise")
        assert [each.version for each in await records.assistant_versions(OWNER, again.assistant_id, {}, ALL)] == [1]

    async def test_a_version_of_nothing_is_not_found(self, records: Repository) -> None:
        with pytest.raises(NotFoundError):
            await records.set_assistant_version(OWNER, new_id(), 1)
