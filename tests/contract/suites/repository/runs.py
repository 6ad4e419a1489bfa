"""The suite for repositories: runs and usage, and threads that are copied or erased with all that hangs on them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from tests.contract.suites.repository.case import OTHER, PROGRAM, RepositoryCase, refusal
from tests.support.driven_runs import OWNER, PATIENCE_S, DrivenRuns, a_run, a_thread, new_id

from stepwell.database.callers import Caller, Equals
from stepwell.database.persistence import Persistence
from stepwell.database.queue.types import Admission
from stepwell.database.records.chains import ChainFilter
from stepwell.database.records.repository import Repository
from stepwell.database.records.types import Page, ThreadFilter, UsageGroup
from stepwell.database.types import ModelUsage, NewEvent, PendingInterrupt, RunEvent, RunOutcome
from stepwell.errors import AlreadyExistsError, NotFoundError, ThreadBusyError

ALL = Page(limit=1000)
QUESTION = PendingInterrupt("question", {"why": "?"}, "", "task-1")


def make_usage(model: str, calls: int = 1, cost: float | None = None) -> ModelUsage:
    return ModelUsage(model, calls, 10 * calls, 2 * calls, cost)


class RunCases(RepositoryCase):
    async def test_runs_are_listed_newest_first(self, records: Repository, runs: DrivenRuns) -> None:
        thread_id = new_id()
        made = []
        for _ in range(3):
            claim = await runs.begin(thread_id)
            made.append(claim.run.run_id)
            await runs.end(claim)
        last = await runs.begin(thread_id)
        listed = await records.list_runs(OWNER, thread_id, None, ALL)
        assert [run.run_id for run in listed] == [last.run.run_id, *reversed(made)]
        assert [run.run_id for run in await records.list_runs(OWNER, thread_id, "running", ALL)] == [last.run.run_id]
        assert [run.run_id for run in await records.list_runs(OWNER, thread_id, None, Page(1, 1))] == [made[-1]]
        assert await records.get_run(OWNER, thread_id, made[0]) == listed[-1]

    async def test_chains_are_paged_by_their_newest_run(
        self, records: Repository, runs: DrivenRuns, persistence: Persistence
    ) -> None:
        made = []
        for thread_id in (first_thread := new_id(), new_id(), first_thread, new_id()):
            claim = await runs.begin(thread_id)
            made.append(claim.run)
            await runs.end(claim)
        answers = ("UPDATE runs SET resumes = ? WHERE run_id = ?", (made[0].run_id, made[2].run_id))
        await persistence.database.write(lambda connection: connection.execute(*answers))
        await runs.end(await runs.begin(new_id(), OTHER))
        wanted = ChainFilter(made[0].request.assistant_id)
        found, total = await records.list_chains(OWNER, wanted, 2)
        names = [run.run_id for run in made]
        assert ([(first, run.run_id) for first, run in found], total) == ([(names[3], names[3]), (names[0], names[2])], 3)
        found, total = await records.list_chains(OWNER, wanted, 2, 2)
        assert ([first for first, _ in found], total) == ([names[1]], 3)
        for narrowed, firsts in (
            (replace(wanted, thread_id=first_thread), [names[0]]),
            (replace(wanted, statuses=["error"]), []),
            (replace(wanted, statuses=[]), []),
            (replace(wanted, since=made[3].updated_at.timestamp() + 3600), []),
            (replace(wanted, assistant_id=new_id()), []),
        ):
            found, total = await records.list_chains(OWNER, narrowed, None)
            assert ([first for first, _ in found], total) == (firsts, len(firsts))
        await records.merge_thread_metadata(OWNER, first_thread, {"team": "red"})
        red = Caller(OTHER, threads=Equals("team", "red"))
        assert [first for first, _ in (await records.list_chains(red, wanted, None))[0]] == [names[0]]

    async def test_somebody_elses_run_looks_like_none(self, records: Repository, runs: DrivenRuns) -> None:
        claim = await runs.begin(new_id(), OTHER)
        await runs.end(claim)
        thread_id, there, absent = claim.run.thread_id, claim.run.run_id, new_id()
        for ask in (records.get_run, records.delete_run):
            assert await refusal(ask(OWNER, thread_id, there), there) == await refusal(ask(OWNER, thread_id, absent), absent)
        with pytest.raises(NotFoundError):
            await records.get_run(OTHER, new_id(), there)
        assert (await records.get_run(PROGRAM, thread_id, there)).owner == OTHER

    async def test_a_finished_run_is_forgotten_with_its_events(
        self, records: Repository, runs: DrivenRuns, persistence: Persistence
    ) -> None:
        claim = await runs.begin(new_id())
        thread_id, run_id = claim.run.thread_id, claim.run.run_id
        with pytest.raises(ThreadBusyError):
            await records.delete_run(OWNER, thread_id, run_id)
        await runs.end(claim)
        second = await runs.begin(thread_id)
        await runs.end(second)
        await records.delete_run(OWNER, thread_id, run_id)
        assert [run.run_id for run in await records.list_runs(OWNER, thread_id, None, ALL)] == [second.run.run_id]
        assert {event.run_id for event in await persistence.events.read(thread_id)} == {second.run.run_id}


class UsageCases(RepositoryCase):
    @pytest.fixture
    async def spent(self, runs: DrivenRuns) -> list[str]:
        """Two runs of one owner's thread, one of another's. Gives the ids of the threads."""
        mine, theirs = new_id(), new_id()
        for owner, thread_id, usage in (
            (OWNER, mine, [make_usage("small", 1, 0.25), make_usage("large", 2)]),
            (OWNER, mine, [make_usage("small", 3, 0.5)]),
            (OTHER, theirs, [make_usage("small", 5, 1.0)]),
        ):
            await runs.end(await runs.begin(thread_id, owner), RunOutcome("success", "idle", usage=usage))
        return [mine, theirs]

    async def test_usage_is_summed_by_key_and_model(self, records: Repository, spent: list[str]) -> None:
        async def sums(owner: str | None, group: UsageGroup) -> list[tuple[str, int, ModelUsage]]:
            return [(row.key, row.runs, row.usage) for row in await records.usage(owner, group)]

        large, small = ModelUsage("large", 2, 20, 4, None), ModelUsage("small", 4, 40, 8, 0.75)
        assert await sums(OWNER, "thread") == [(spent[0], 1, large), (spent[0], 2, small)]
        assert await sums(OWNER, "owner") == [(OWNER, 1, large), (OWNER, 2, small)]
        assert await sums(OWNER, "model") == [("large", 1, large), ("small", 2, small)]
        assert [(runs, usage) for _, runs, usage in await sums(OWNER, "day")] == [(1, large), (2, small)]
        assert sorted(usage.calls for _, _, usage in await sums(OWNER, "run")) == [1, 2, 3]
        assert ("small", 3, ModelUsage("small", 9, 90, 18, 1.75)) in await sums(PROGRAM, "model")

    async def test_usage_of_one_thread_is_its_owners(self, records: Repository, spent: list[str]) -> None:
        assert len(await records.usage(OWNER, "model", thread_id=spent[0])) == 2
        assert await records.usage(OWNER, "model", thread_id=spent[1]) == []

    async def test_an_erased_thread_leaves_its_sums_without_its_name(self, records: Repository, spent: list[str]) -> None:
        before = await records.usage(OWNER, "model")
        names = {row.key for row in await records.usage(OWNER, "run")}
        await records.delete_thread(OWNER, spent[0])
        assert await records.usage(OWNER, "model") == before
        assert await records.usage(OWNER, "model", thread_id=spent[0]) == []
        assert {row.key for row in await records.usage(OWNER, "thread")} == {""}
        assert names.isdisjoint({row.key for row in await records.usage(OWNER, "run")})


class CopyCases(RepositoryCase):
    async def test_a_copy_has_values_metadata_and_open_questions_and_no_runs(
        self, records: Repository, runs: DrivenRuns, persistence: Persistence
    ) -> None:
        thread = await records.create_thread(a_thread(metadata={"k": 1}), if_exists="raise")
        claim = await runs.begin(thread.thread_id)
        await persistence.events.append(claim.lease, [NewEvent("values", b"{}")])
        await runs.end(claim, RunOutcome("success", "interrupted", values=b'{"a": 1}', interrupts=[QUESTION]))
        copy = await records.copy_thread(OWNER, thread.thread_id, new_id())
        assert (copy.owner, copy.status, copy.values, copy.interrupts) == (OWNER, "interrupted", {"a": 1}, (QUESTION,))
        assert copy.metadata == (await records.get_thread(OWNER, thread.thread_id)).metadata
        assert await records.get_thread(OWNER, copy.thread_id) == copy
        assert await records.list_runs(OWNER, copy.thread_id, None, ALL) == []
        assert await persistence.events.read(copy.thread_id) == []

    async def test_a_question_is_answered_on_the_copy_and_stays_open_on_the_thread(
        self, records: Repository, runs: DrivenRuns, persistence: Persistence
    ) -> None:
        claim = await runs.begin(new_id())
        await runs.end(claim, RunOutcome("success", "interrupted", interrupts=[QUESTION]))
        copy = await records.copy_thread(OWNER, claim.run.thread_id, new_id())
        admitted = await persistence.queue.admit(Admission(a_run(copy.thread_id), answers={"question": "because"}))
        assert admitted.run.request.resume == {"question": "because"}
        await runs.end(await runs.next())
        assert (await records.get_thread(OWNER, copy.thread_id)).interrupts == ()
        assert (await records.get_thread(OWNER, claim.run.thread_id)).interrupts == (QUESTION,)

    async def test_a_busy_thread_copies_as_one_at_rest(self, records: Repository, runs: DrivenRuns) -> None:
        claim = await runs.begin(new_id())
        assert (await records.get_thread(OWNER, claim.run.thread_id)).status == "busy"
        copy = await records.copy_thread(OWNER, claim.run.thread_id, new_id())
        assert copy.status == "idle"
        await runs.end(await runs.begin(copy.thread_id))

    async def test_a_taken_id_is_refused(self, records: Repository) -> None:
        mine, theirs = a_thread(), a_thread(OTHER)
        for thread in (mine, theirs):
            await records.create_thread(thread, if_exists="raise")
        for taken in (mine, theirs):
            with pytest.raises(AlreadyExistsError):
                await records.copy_thread(OWNER, mine.thread_id, taken.thread_id)


class ErasingCases(RepositoryCase):
    async def test_a_thread_with_a_run_under_way_is_not_erased(self, records: Repository, runs: DrivenRuns) -> None:
        claim = await runs.begin(new_id())
        with pytest.raises(ThreadBusyError):
            await records.delete_thread(OWNER, claim.run.thread_id)
        await runs.end(claim)
        await records.delete_thread(OWNER, claim.run.thread_id)

    async def test_a_thread_that_is_held_is_not_erased(self, records: Repository, persistence: Persistence) -> None:
        thread = await records.create_thread(a_thread(), if_exists="raise")
        async with persistence.queue.hold(OWNER, thread.thread_id, "a test"):
            with pytest.raises(ThreadBusyError):
                await records.delete_thread(OWNER, thread.thread_id)
        await records.delete_thread(OWNER, thread.thread_id)

    async def test_an_erased_thread_is_gone_with_its_runs_and_events_and_nobody_elses(
        self, records: Repository, runs: DrivenRuns, persistence: Persistence
    ) -> None:
        gone, kept = await runs.begin(new_id()), await runs.begin(new_id())
        for claim in (gone, kept):
            await persistence.events.append(claim.lease, [NewEvent("values", b"{}")])
            await runs.end(claim, RunOutcome("success", "interrupted", values=b"{}", interrupts=[QUESTION]))
        thread_id = gone.run.thread_id
        await records.delete_thread(OWNER, thread_id)
        for asking in (
            records.get_thread(OWNER, thread_id),
            records.list_runs(OWNER, thread_id, None, ALL),
            records.get_run(OWNER, thread_id, gone.run.run_id),
            records.delete_thread(OWNER, thread_id),
        ):
            with pytest.raises(NotFoundError):
                await asking
        assert await persistence.events.read(thread_id) == []
        assert [thread.thread_id for thread in await records.search_threads(OWNER, ThreadFilter(), ALL)] == [kept.run.thread_id]
        assert len(await persistence.events.read(kept.run.thread_id)) == 2

    async def test_an_id_can_be_used_again_and_nothing_of_old_is_on_it(
        self, records: Repository, runs: DrivenRuns, persistence: Persistence
    ) -> None:
        claim = await runs.begin(new_id())
        await runs.end(claim, RunOutcome("success", "interrupted", values=b'{"old": 1}', interrupts=[QUESTION]))
        await records.delete_thread(OWNER, claim.run.thread_id)
        new = await records.create_thread(a_thread(OTHER, thread_id=claim.run.thread_id), if_exists="raise")
        assert await records.get_thread(OTHER, new.thread_id) == new
        assert await records.list_runs(OTHER, new.thread_id, None, ALL) == []

    async def test_whoever_follows_a_thread_is_let_go_when_it_is_erased(
        self, records: Repository, persistence: Persistence
    ) -> None:
        thread = await records.create_thread(a_thread(), if_exists="raise")
        following = asyncio.create_task(_drain(persistence.events.follow_thread(thread.thread_id)))
        await asyncio.sleep(0.05)
        await records.delete_thread(OWNER, thread.thread_id)
        assert await asyncio.wait_for(following, PATIENCE_S) == []


async def _drain(following: AsyncIterator[list[RunEvent]]) -> list[RunEvent]:
    return [event async for batch in following for event in batch]
