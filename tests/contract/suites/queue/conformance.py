"""What every run queue must do, as tests. Subclass `QueueConformance` and give it a `persistence` fixture.

```python
class TestMyQueue(QueueConformance):
    @pytest.fixture
    async def persistence(self, clock, tmp_path):
        async with MyPersistence(..., clock=clock) as opened:
            yield opened
```

Where several servers can use one database, `second` gives another one on it, with the same clock.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from tests.contract.suites.queue.case import asking
from tests.contract.suites.queue.crashes import CrashCases
from tests.contract.suites.queue.pipeline import PipelineCases
from tests.contract.suites.queue.request_keys import RequestKeyCases
from tests.contract.suites.queue.unfinished import UnfinishedCases
from tests.contract.suites.queue.workers import WorkersCases
from tests.support.driven_runs import DONE, OWNER, PATIENCE_S, a_run, driving, new_id

from stepwell.database.persistence import Persistence
from stepwell.database.queue.types import Admission
from stepwell.database.types import BareAnswer, NewEvent, PendingInterrupt, Run, RunOutcome, RunRequest
from stepwell.errors import (
    AnswerShapeError,
    InterruptAnsweredError,
    LeaseLostError,
    LimitReachedError,
    NotFoundError,
    ResumeError,
    RunError,
    ThreadBusyError,
)


class QueueConformance(WorkersCases, CrashCases, PipelineCases, UnfinishedCases, RequestKeyCases):
    """The rules of `stepwell.database.queue.run_queue`, each as a test."""

    async def test_a_run_goes_from_pending_to_running_to_its_end(self, persistence: Persistence, thread_id: str) -> None:
        admitted = await self.admit(persistence, thread_id)
        assert (await persistence.records.get_run(OWNER, thread_id, admitted.run.run_id)).status == "pending"
        async with self.working(persistence) as worker:
            claim = await worker.next()
            assert (claim.run.status, claim.run.attempt) == ("running", 1)
            assert (await persistence.records.get_thread(OWNER, thread_id)).status == "busy"
            await worker.end(claim, replace(DONE, values=b'{"x":1}'))
        thread = await persistence.records.get_thread(OWNER, thread_id)
        assert (thread.status, thread.values) == ("idle", {"x": 1})

    async def test_runs_of_one_thread_go_one_after_the_other_in_order(self, persistence: Persistence, thread_id: str) -> None:
        admitted = [(await self.admit(persistence, thread_id)).run.run_id for _ in range(5)]
        driven = []
        async with self.working(persistence) as worker:
            for _ in admitted:
                claim = await worker.next()
                driven.append(claim.run.run_id)
                assert await worker.idle()
                await worker.end(claim)
        assert driven == admitted

    async def test_threads_do_not_wait_for_one_another(self, persistence: Persistence) -> None:
        async with self.working(persistence, concurrency=3) as worker:
            for _ in range(4):
                await self.admit(persistence, new_id())
            claims = [await worker.next() for _ in range(3)]
            assert await worker.idle(), "no more than the concurrency at once"
            await worker.end(claims[0])
            await worker.end(await worker.next())

    async def test_a_run_that_is_due_later_waits_and_is_in_nobodys_way(self, persistence: Persistence, thread_id: str) -> None:
        later = await self.admit(persistence, thread_id, due_at=datetime.now(UTC) + timedelta(seconds=0.3))
        now = await self.admit(persistence, thread_id, multitask_strategy="reject")
        async with self.working(persistence) as worker:
            first = await worker.next()
            assert first.run.run_id == now.run.run_id
            await worker.end(first)
            second = await worker.next()
            assert second.run.run_id == later.run.run_id
            await worker.end(second)

    async def test_every_claim_raises_the_fence_and_older_leases_write_nothing(
        self, persistence: Persistence, thread_id: str
    ) -> None:
        await self.admit(persistence, thread_id)
        await self.admit(persistence, thread_id)
        async with self.working(persistence) as worker:
            first = await worker.next()
            await worker.end(first)
            second = await worker.next()
            assert second.lease.fence > first.lease.fence
            with pytest.raises(LeaseLostError):
                await persistence.events.append(first.lease, [NewEvent("x", b"1")])
            with pytest.raises(LeaseLostError):
                await persistence.queue.finish(first.lease, DONE)
            await worker.end(second)

    async def test_reject_refuses_while_a_run_is_under_way(self, persistence: Persistence, thread_id: str) -> None:
        await self.admit(persistence, thread_id)
        with pytest.raises(ThreadBusyError):
            await self.admit(persistence, thread_id, multitask_strategy="reject")

    async def test_interrupt_tells_the_running_one_and_ends_the_pending_one(
        self, persistence: Persistence, thread_id: str
    ) -> None:
        running = await self.admit(persistence, thread_id)
        async with self.working(persistence) as worker:
            claim = await worker.next()
            pending = await self.admit(persistence, thread_id)
            newest = await self.admit(persistence, thread_id, multitask_strategy="interrupt")
            told = await asyncio.wait_for(anext(aiter(persistence.queue.cancellations())), PATIENCE_S)
            assert (told.run_id, told.action) == (running.run.run_id, "interrupt")
            assert (await persistence.records.get_run(OWNER, thread_id, pending.run.run_id)).status == "interrupted"
            await worker.end(claim, RunOutcome("interrupted", "interrupted"))
            assert (await worker.next()).run.run_id == newest.run.run_id

    async def test_rollback_forgets_the_run_and_leaves_the_thread_as_it_was(
        self, persistence: Persistence, thread_id: str
    ) -> None:
        await self.admit(persistence, thread_id)
        async with self.working(persistence) as worker:
            await worker.end(await worker.next(), replace(DONE, values=b'{"kept":true}'))
            doomed = await self.admit(persistence, thread_id)
            claim = await worker.next()
            await persistence.events.append(claim.lease, [NewEvent("x", b"1")])
            newest = await self.admit(persistence, thread_id, multitask_strategy="rollback")
            await worker.end(claim, RunOutcome("interrupted", "idle", rolled_back=True))
            with pytest.raises(NotFoundError):
                await persistence.records.get_run(OWNER, thread_id, doomed.run.run_id)
            assert [event.event for event in await persistence.events.read(thread_id, run_id=doomed.run.run_id)] == ["end"]
            assert (await persistence.records.get_thread(OWNER, thread_id)).values == {"kept": True}
            assert (await worker.next()).run.run_id == newest.run.run_id

    async def test_an_answer_is_taken_once(self, persistence: Persistence, thread_id: str) -> None:
        question = "a" * 32
        asked = await self.admit(persistence, thread_id)
        async with self.working(persistence) as worker:
            await worker.end(await worker.next(), asking(question))
            thread = await persistence.records.get_thread(OWNER, thread_id)
            assert (thread.status, [one.interrupt_id for one in thread.interrupts]) == ("interrupted", [question])
            answers = await asyncio.gather(*(self.admit(persistence, thread_id, {question: "yes"}) for _ in range(10)))
            assert len({admitted.run.run_id for admitted in answers}) == 1
            assert sum(not admitted.rejoined for admitted in answers) == 1
            assert answers[0].run.resumes == asked.run.run_id
            with pytest.raises(InterruptAnsweredError):
                await self.admit(persistence, thread_id, {question: "no"})
            claim = await worker.next()
            assert claim.run.request.resume == {question: "yes"}
            await worker.end(claim)
            again = await self.admit(persistence, thread_id, {question: "yes"})
            assert again.rejoined
            assert again.run.run_id == claim.run.run_id

    async def test_a_bare_answer_needs_exactly_one_question_and_an_idle_thread(
        self, persistence: Persistence, thread_id: str
    ) -> None:
        first, second = "a" * 32, "b" * 32
        await self.admit(persistence, thread_id)
        async with self.working(persistence) as worker:
            with pytest.raises(ResumeError):
                await self.admit(persistence, thread_id, BareAnswer("yes"))
            await worker.end(await worker.next(), asking(first, second))
            with pytest.raises(ResumeError) as refused:
                await self.admit(persistence, thread_id, BareAnswer("yes"))
            assert refused.value.interrupt_ids == (first, second)
            await self.admit(persistence, thread_id, {first: 1})
            await worker.end(await worker.next(), asking(second))
            taken = await self.admit(persistence, thread_id, BareAnswer(2))
            repeated = await self.admit(persistence, thread_id, BareAnswer(2))
            assert (repeated.rejoined, repeated.run.run_id) == (True, taken.run.run_id)
            assert (await worker.next()).run.request.resume == {second: 2}

    async def test_a_bare_answer_can_be_refused_altogether(self, persistence: Persistence, thread_id: str) -> None:
        question = "a" * 32
        await self.admit(persistence, thread_id)
        async with self.working(persistence) as worker:
            await worker.end(await worker.next(), asking(question))
            with pytest.raises(ResumeError) as refused:
                await self.admit(persistence, thread_id, BareAnswer("yes", refused=True))
            assert refused.value.interrupt_ids == (question,)
            await self.admit(persistence, thread_id, {question: "yes"})

    async def test_only_what_was_found_to_fit_is_taken(self, persistence: Persistence, thread_id: str) -> None:
        question = "a" * 32
        await self.admit(persistence, thread_id)
        async with self.working(persistence) as worker:
            await worker.end(await worker.next(), asking(question))
            fault = AnswerShapeError("not like this", (question,))
            refusals: list[tuple[dict[str, AnswerShapeError | None], type[RunError]]]
            refusals = [({}, ResumeError), ({question: fault}, AnswerShapeError)]
            for checked, refusal in refusals:
                with pytest.raises(refusal):
                    await self.admit(persistence, thread_id, {question: 1}, checked=checked)
            taken = await self.admit(persistence, thread_id, {question: 1}, checked={question: None})
            assert taken.run.request.resume == {question: 1}

    async def test_answers_that_come_while_a_sibling_runs_become_one_resume(
        self, persistence: Persistence, thread_id: str
    ) -> None:
        first, second = "a" * 32, "b" * 32
        await self.admit(persistence, thread_id)
        async with self.working(persistence) as worker:
            claim = await worker.next()
            questions = [PendingInterrupt(first, 1), PendingInterrupt(second, 2)]
            await persistence.queue.ask(claim.lease, questions)
            one = await self.admit(persistence, thread_id, {first: "x"})
            two = await self.admit(persistence, thread_id, {second: "y"})
            assert one.run.run_id == two.run.run_id
            await worker.end(claim, asking(first, second))
            thread = await persistence.records.get_thread(OWNER, thread_id)
            assert (thread.status, thread.interrupts) == ("busy", ())
            assert (await worker.next()).run.request.resume == {first: "x", second: "y"}

    async def test_a_question_the_thread_went_past_cannot_be_answered(self, persistence: Persistence, thread_id: str) -> None:
        question = "a" * 32
        await self.admit(persistence, thread_id)
        async with self.working(persistence) as worker:
            await worker.end(await worker.next(), asking(question))
            await self.admit(persistence, thread_id)
            await worker.end(await worker.next())
            with pytest.raises(InterruptAnsweredError):
                await self.admit(persistence, thread_id, {question: "late"})
            with pytest.raises(ResumeError):
                await self.admit(persistence, thread_id, {"c" * 32: "nobody asked"})

    async def test_an_answer_whose_run_was_cancelled_before_it_began_can_be_given_again(
        self, persistence: Persistence, thread_id: str
    ) -> None:
        question = "a" * 32
        await self.admit(persistence, thread_id)
        async with self.working(persistence) as worker:
            await worker.end(await worker.next(), asking(question))
        answered = await self.admit(persistence, thread_id, {question: "no"})
        await persistence.queue.cancel(OWNER, [answered.run.run_id], "interrupt")
        assert (await persistence.records.get_thread(OWNER, thread_id)).status == "interrupted"
        assert not (await self.admit(persistence, thread_id, {question: "yes"})).rejoined

    async def test_what_a_dead_worker_left_is_driven_again(self, persistence: Persistence, thread_id: str) -> None:
        admitted = await self.admit(persistence, thread_id)
        async with self.working(persistence) as worker:
            lost = await worker.next()
        recovered = await persistence.queue.recover("next")
        assert [run.run_id for run in recovered] == [admitted.run.run_id]
        with pytest.raises(LeaseLostError):
            await persistence.events.append(lost.lease, [NewEvent("x", b"1")])
        async with self.working(persistence) as worker:
            claim = await worker.next()
            assert claim.run.attempt == 2
            assert (await worker.end(claim)).status == "success"

    async def test_a_cancelled_run_is_not_recovered(self, persistence: Persistence, thread_id: str) -> None:
        admitted = await self.admit(persistence, thread_id)
        async with self.working(persistence) as worker:
            await worker.next()
            await persistence.queue.cancel(OWNER, [admitted.run.run_id], "interrupt")
        await persistence.queue.recover("next")
        assert (await persistence.records.get_run(OWNER, thread_id, admitted.run.run_id)).status == "interrupted"

    async def test_who_stops_many_runs_keeps_nobody_waiting(self, persistence: Persistence, thread_id: str) -> None:
        """In one transaction they would be in the way of all others, and all others in theirs."""
        runs = [a_run(thread_id) for _ in range(300)]
        await persistence.queue.admit_many([Admission(run, create_thread=True) for run in runs])
        cancelling = asyncio.create_task(persistence.queue.cancel(OWNER, [run.run_id for run in runs], "interrupt"))
        await asyncio.sleep(0)
        await self.admit(persistence, new_id())
        assert not cancelling.done()
        assert {run.status for run in await cancelling} == {"interrupted"}
        assert len(await cancelling) == len(runs)

    async def test_a_held_thread_has_no_runs_and_a_busy_one_cannot_be_held(
        self, persistence: Persistence, thread_id: str
    ) -> None:
        await self.admit(persistence, thread_id)
        async with self.working(persistence) as worker:
            claim = await worker.next()
            with pytest.raises(ThreadBusyError):
                async with persistence.queue.hold(OWNER, thread_id, "test"):
                    pass
            await worker.end(claim)
            async with persistence.queue.hold(OWNER, thread_id, "test") as lease:
                await self.admit(persistence, thread_id)
                assert await worker.idle()
                await persistence.events.append(lease, [NewEvent("x", b"1")])
            await worker.end(await worker.next())

    async def test_nobody_holds_or_cancels_what_belongs_to_somebody_else(
        self, persistence: Persistence, thread_id: str
    ) -> None:
        admitted = await self.admit(persistence, thread_id)
        assert await persistence.queue.cancel("stranger", [admitted.run.run_id], "interrupt") == []
        with pytest.raises(NotFoundError):
            async with persistence.queue.hold("stranger", thread_id, "test"):
                pass
        with pytest.raises(NotFoundError):
            await self.admit(persistence, thread_id, owner="stranger")
        with pytest.raises(NotFoundError):
            await self.admit(persistence, new_id(), create_thread=False)

    async def test_a_thread_that_is_made_for_a_run_has_its_metadata(self, persistence: Persistence) -> None:
        thread_id = new_id()
        for word in ("first", "second"):
            await self.admit(persistence, thread_id, metadata={"word": word})
        assert (await persistence.records.get_thread(OWNER, thread_id)).metadata == {"word": "first"}

    async def test_an_owner_has_no_more_runs_than_allowed(self, persistence: Persistence) -> None:
        for _ in range(2):
            await self.admit(persistence, new_id(), max_active=2)
        with pytest.raises(LimitReachedError):
            await self.admit(persistence, new_id(), max_active=2)

    async def test_a_tenant_has_no_more_runs_than_its_share(self, persistence: Persistence) -> None:
        """Whoever of the tenant starts them; others are not concerned."""
        for owner in ("anna", "bert"):
            run = a_run(new_id(), owner)
            await persistence.queue.admit(Admission(run, create_thread=True, tenant="/acme", max_of_tenant=2))
        with pytest.raises(LimitReachedError, match="its share"):
            await persistence.queue.admit(Admission(a_run(new_id()), create_thread=True, tenant="/acme", max_of_tenant=2))
        await persistence.queue.admit(Admission(a_run(new_id()), create_thread=True, tenant="/other", max_of_tenant=2))

    async def test_tenants_take_turns_when_more_waits_than_can_be_driven(self, persistence: Persistence) -> None:
        """One with a thousand runs does not make another wait for more than its turn; its own runs keep their order."""
        many = [Admission(a_run(new_id()), create_thread=True, tenant="/many") for _ in range(1000)]
        await persistence.queue.admit_many(many)
        few = {
            tenant: [Admission(a_run(new_id()), create_thread=True, tenant=tenant) for _ in range(3)]
            for tenant in ("/few", "/later", "/zero")
        }
        await persistence.queue.admit_many([each for admissions in few.values() for each in admissions])
        tenant_of = {each.run.run_id: each.tenant for each in [*many, *(one for some in few.values() for one in some)]}
        claimed: list[str] = []
        async with driving(persistence, concurrency=2) as runs:
            for _ in range(16):
                claim = await runs.next()
                claimed.append(claim.run.run_id)
                await runs.end(claim)
        turns = [tenant_of[run_id] for run_id in claimed]
        assert {turns.count(tenant) for tenant in few} == {3}
        assert all(len(set(turns[start : start + 4])) == 4 for start in range(0, 12, 4)), turns
        mine = [run_id for run_id in claimed if tenant_of[run_id] == "/many"]
        assert mine == [each.run.run_id for each in many[: len(mine)]]

    async def test_many_are_admitted_together_or_not_at_all(self, persistence: Persistence) -> None:
        now = datetime.now(UTC)
        runs = [Run(new_id(), new_id(), OWNER, RunRequest("assistant", "graph"), "pending", now, now) for _ in range(3)]
        good = [Admission(run, create_thread=True) for run in runs]
        with pytest.raises(NotFoundError):
            await persistence.queue.admit_many([good[0], replace(good[1], create_thread=False), good[2]])
        assert await persistence.records.open_runs(OWNER, None, None) == []
        assert [admitted.run.run_id for admitted in await persistence.queue.admit_many(good)] == [run.run_id for run in runs]

    async def test_who_waits_for_a_run_hears_of_its_end(self, persistence: Persistence, thread_id: str) -> None:
        admitted = await self.admit(persistence, thread_id)
        run_id = admitted.run.run_id
        assert await persistence.queue.finished(run_id, timeout_s=0.01) == "timeout"
        async with self.working(persistence) as worker:
            waiting = asyncio.create_task(persistence.queue.finished(run_id, timeout_s=PATIENCE_S))
            await worker.end(await worker.next())
            assert await waiting == "finished"
        assert await persistence.queue.finished(run_id) == "finished"
        assert await persistence.queue.finished(new_id()) == "gone"
