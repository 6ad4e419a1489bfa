"""What a queue must do with runs that do not come to their end in one go: handed back, failed, stopped."""

from __future__ import annotations

import pytest
from tests.contract.suites.queue.case import QueueCase, asking
from tests.support.driven_runs import OWNER, PATIENCE_S

from stepwell.database.persistence import Persistence
from stepwell.database.types import ModelUsage, NewEvent, PendingInterrupt, RunOutcome
from stepwell.errors import InterruptAnsweredError

FIRST, SECOND = "a" * 32, "b" * 32


class UnfinishedCases(QueueCase):
    """Runs that are handed back, and answers of runs that did not succeed."""

    async def test_a_run_that_is_handed_back_goes_on(self, persistence: Persistence, thread_id: str) -> None:
        await self.admit(persistence, thread_id)
        async with self.working(persistence) as worker:
            first = await worker.next()
            await persistence.queue.hand_back(first.lease)
            second = await worker.next()
            assert (second.run.run_id, second.run.attempt) == (first.run.run_id, 2)

    @pytest.mark.parametrize("action", ["interrupt", "rollback"])
    async def test_a_run_that_is_to_be_stopped_ends_when_it_is_handed_back(
        self, persistence: Persistence, thread_id: str, action: str
    ) -> None:
        admitted = await self.admit(persistence, thread_id)
        async with self.working(persistence) as worker:
            claim = await worker.next()
            await persistence.queue.cancel(OWNER, [admitted.run.run_id], action)  # type: ignore[arg-type]  # a parameter is a text
            await persistence.queue.hand_back(claim.lease, [NewEvent("last", b"1")])
            ended = await persistence.queue.finished(admitted.run.run_id, timeout_s=PATIENCE_S)
            assert await worker.idle()
        assert ended == ("finished" if action == "interrupt" else "gone")
        events = await persistence.events.read(thread_id, run_id=admitted.run.run_id)
        assert [event.event for event in events] == (["last", "end"] if action == "interrupt" else ["end"])
        thread = await persistence.records.get_thread(OWNER, thread_id)
        assert thread.status == ("interrupted" if action == "interrupt" else "idle")

    async def test_the_usage_of_a_run_is_that_of_all_its_attempts(self, persistence: Persistence, thread_id: str) -> None:
        await self.admit(persistence, thread_id)
        async with self.working(persistence) as worker:
            first = await worker.next()
            await persistence.queue.hand_back(
                first.lease, usage=[ModelUsage("priced", 1, 10, 2, 0.5), ModelUsage("other", 1, 1, 1, 0.25)]
            )
            used = [ModelUsage("priced", 2, 5, 1, 0.25), ModelUsage("other", 1, 1, 1, None)]
            await worker.end(await worker.next(), RunOutcome("success", "idle", usage=used))
        sums = {row.usage.model: row.usage for row in await persistence.records.usage(OWNER, "run")}
        assert sums["priced"] == ModelUsage("priced", 3, 15, 3, 0.75)
        assert sums["other"] == ModelUsage("other", 2, 2, 2, None), "what is unknown in part is unknown"

    async def test_an_answer_does_not_join_a_run_that_was_handed_back(self, persistence: Persistence, thread_id: str) -> None:
        """That one goes on from its checkpoint, and gives no more answers."""
        await self.admit(persistence, thread_id)
        async with self.working(persistence) as worker:
            await worker.end(await worker.next(), asking(FIRST, SECOND))
            await self.admit(persistence, thread_id, {FIRST: 1})
            held = await worker.next()
        await persistence.queue.hand_back(held.lease)
        second = await self.admit(persistence, thread_id, {SECOND: 2})
        assert second.run.run_id != held.run.run_id
        async with self.working(persistence) as worker:
            again = await worker.next()
            assert again.run.request.resume == {FIRST: 1}
            await worker.end(again, asking(SECOND))
            assert (await worker.next()).run.request.resume == {SECOND: 2}

    @pytest.mark.parametrize("known", [True, False], ids=["questions known", "questions unknown"])
    async def test_an_answer_that_reached_nobody_can_be_given_again(
        self, persistence: Persistence, thread_id: str, *, known: bool
    ) -> None:
        """The run that took it failed before any task had it; the thread still asks both."""
        await self.admit(persistence, thread_id)
        async with self.working(persistence) as worker:
            await worker.end(await worker.next(), asking(FIRST, SECOND))
            taken = await self.admit(persistence, thread_id, {FIRST: "no"})
            still = [PendingInterrupt(name, "why?", task_id=f"task-{name}") for name in (FIRST, SECOND)]
            failed = RunOutcome("error", "error", interrupts=still if known else None, error={"error": "E", "message": "m"})
            await worker.end(await worker.next(), failed)
            thread = await persistence.records.get_thread(OWNER, thread_id)
            assert [question.interrupt_id for question in thread.interrupts] == [FIRST, SECOND]
            again = await self.admit(persistence, thread_id, {FIRST: "yes"})
            assert (again.rejoined, again.run.run_id == taken.run.run_id) == (False, False)

    async def test_a_failed_run_drops_the_questions_it_went_past(self, persistence: Persistence, thread_id: str) -> None:
        await self.admit(persistence, thread_id)
        async with self.working(persistence) as worker:
            await worker.end(await worker.next(), asking(FIRST))
            await self.admit(persistence, thread_id)
            await worker.end(
                await worker.next(), RunOutcome("error", "error", interrupts=(), error={"error": "E", "message": "m"})
            )
        assert (await persistence.records.get_thread(OWNER, thread_id)).interrupts == ()
        with pytest.raises(InterruptAnsweredError):
            await self.admit(persistence, thread_id, {FIRST: "late"})
