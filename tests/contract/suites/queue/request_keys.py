"""Callers' own keys for what they start, as tests for every queue."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from tests.contract.suites.queue.case import QueueCase, asking
from tests.support.driven_runs import DONE, OWNER, a_run, a_thread, new_id

from stepwell.database.persistence import Persistence
from stepwell.database.queue.types import Admission
from stepwell.database.records.types import Page
from stepwell.database.types import BareAnswer, RequestKey
from stepwell.errors import NotFoundError, RequestKeyError

KEY = RequestKey(OWNER, "a key", "what was asked")


class RequestKeyCases(QueueCase):
    """A repetition starts nothing."""

    async def test_a_key_starts_a_run_once(self, persistence: Persistence, second: Persistence, thread_id: str) -> None:
        key = replace(KEY, key=new_id())
        assert await persistence.queue.recall(key) is None
        first, *others = await asyncio.gather(
            *(
                place.queue.admit(Admission(a_run(thread_id), create_thread=True), key)
                for place in (persistence, second, persistence)
            )
        )
        assert {each.run.run_id for each in others} == {first.run.run_id}
        assert [each.run.run_id for each in await second.queue.recall(key) or ()] == [first.run.run_id]
        assert len(await persistence.records.list_runs(OWNER, thread_id, None, Page())) == 1

    async def test_a_key_is_refused_with_another_request(self, persistence: Persistence, thread_id: str) -> None:
        key = replace(KEY, key=new_id())
        await persistence.queue.admit(Admission(a_run(thread_id), create_thread=True), key)
        other = replace(key, fingerprint="something else")
        with pytest.raises(RequestKeyError, match="another request"):
            await persistence.queue.admit(Admission(a_run(thread_id)), other)
        with pytest.raises(RequestKeyError):
            await persistence.queue.recall(other)
        assert len(await persistence.records.list_runs(OWNER, thread_id, None, Page())) == 1

    async def test_keys_of_two_callers_do_not_meet(self, persistence: Persistence, thread_id: str) -> None:
        key = replace(KEY, key=new_id())
        first = await persistence.queue.admit(Admission(a_run(thread_id), create_thread=True), key)
        theirs = replace(key, owner="somebody else", fingerprint="something else")
        assert await persistence.queue.recall(theirs) is None
        again = await persistence.queue.admit(Admission(a_run(new_id()), create_thread=True), theirs)
        assert again.run.run_id != first.run.run_id

    async def test_a_refused_run_leaves_its_key_free(self, persistence: Persistence, thread_id: str) -> None:
        key = replace(KEY, key=new_id())
        with pytest.raises(NotFoundError):
            await persistence.queue.admit(Admission(a_run(thread_id)), key)
        assert await persistence.queue.recall(key) is None

    async def test_a_noted_key_is_refused_with_another_request_until_it_is_forgotten(self, persistence: Persistence) -> None:
        key = replace(KEY, key=new_id())
        other = replace(key, fingerprint="something else")
        await persistence.queue.note(key)
        await persistence.queue.note(key)
        with pytest.raises(RequestKeyError):
            await persistence.queue.note(other)
        await persistence.queue.forget(other)
        with pytest.raises(RequestKeyError):
            await persistence.queue.note(other)
        await persistence.queue.forget(key)
        await persistence.queue.note(other)

    async def test_a_batch_is_admitted_once(self, persistence: Persistence, thread_id: str) -> None:
        key = replace(KEY, key=new_id())
        batches = [
            await persistence.queue.admit_many([Admission(a_run(thread_id), create_thread=True) for _ in range(3)], key)
            for _ in range(2)
        ]
        assert [each.run.run_id for each in batches[0]] == [each.run.run_id for each in batches[1]]

    async def test_an_answer_under_a_key_does_not_reach_the_next_question(
        self, persistence: Persistence, thread_id: str
    ) -> None:
        key = replace(KEY, key=new_id())
        await self.admit(persistence, thread_id)
        async with self.working(persistence) as worker:
            await worker.end(await worker.next(), asking("1" * 32))
            first = await persistence.queue.admit(Admission(a_run(thread_id), BareAnswer("yes")), key)
            await worker.end(await worker.next(), asking("2" * 32))
            again = await persistence.queue.admit(Admission(a_run(thread_id), BareAnswer("yes")), key)
            assert (again.run.run_id, again.rejoined) == (first.run.run_id, True)
        (waiting,) = await persistence.open_interrupts(OWNER, thread_id)
        assert waiting.interrupt_id == "2" * 32

    async def test_a_run_that_was_deleted_is_not_started_again(self, persistence: Persistence, thread_id: str) -> None:
        key = replace(KEY, key=new_id())
        first = await persistence.queue.admit(Admission(a_run(thread_id), create_thread=True), key)
        async with self.working(persistence) as worker:
            await worker.end(await worker.next(), DONE)
        await persistence.records.delete_run(OWNER, thread_id, first.run.run_id)
        with pytest.raises(NotFoundError, match="deleted since"):
            await persistence.queue.admit(Admission(a_run(thread_id)), key)

    async def test_a_key_makes_a_thread_once(self, persistence: Persistence) -> None:
        key = replace(KEY, key=new_id())
        first = await persistence.records.create_thread(a_thread(), if_exists="raise", key=key)
        again = await persistence.records.create_thread(a_thread(), if_exists="raise", key=key)
        assert again.thread_id == first.thread_id
        copying = replace(KEY, key=new_id())
        copies = [await persistence.records.copy_thread(OWNER, first.thread_id, new_id(), copying) for _ in range(2)]
        assert copies[0].thread_id == copies[1].thread_id != first.thread_id
