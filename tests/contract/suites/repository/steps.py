"""The suite for repositories: what ran on a thread, and what waits for somebody."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from tests.contract.suites.repository.case import OTHER, PROGRAM, RepositoryCase
from tests.support.driven_runs import OWNER, DrivenRuns, a_run, new_id

from stepwell.database.persistence import Persistence
from stepwell.database.queue.types import Admission
from stepwell.database.records.repository import Repository
from stepwell.database.types import ModelUsage, NewEvent, PendingInterrupt, RunOutcome, Step
from stepwell.errors import LeaseLostError, NotFoundError

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


def a_step(name: str, **fields: object) -> Step:
    return Step("model", name, NOON, 1.5, **fields)  # type: ignore[arg-type]  # fields of a step


class StepCases(RepositoryCase):
    async def test_steps_are_numbered_in_their_order_over_runs_and_read_in_pages(
        self, records: Repository, runs: DrivenRuns
    ) -> None:
        first = await runs.begin(new_id())
        thread_id = first.run.thread_id
        whole = a_step("a", node="n", agent="x", namespace="tools:1", call_id="c", error="e", status="error", input_tokens=5)
        await records.add_steps(first.lease, [whole, a_step("b")])
        await runs.end(first, RunOutcome("success", "idle", steps=[a_step("c")]))
        second = await runs.begin(thread_id)
        await records.add_steps(second.lease, [a_step("d")])
        kept = await records.steps(OWNER, thread_id)
        assert [(each.number, each.run_id, each.step.name) for each in kept] == [
            *((1, first.run.run_id, "a"), (2, first.run.run_id, "b"), (3, first.run.run_id, "c")),
            (4, second.run.run_id, "d"),
        ]
        assert kept[0].step == whole
        assert await records.steps(OWNER, thread_id, after=1, limit=2) == kept[1:3]
        assert await records.steps(OWNER, thread_id, run_id=second.run.run_id) == kept[3:]

    async def test_steps_are_their_owners_and_go_with_the_thread(self, records: Repository, runs: DrivenRuns) -> None:
        claim = await runs.begin(new_id())
        await runs.end(claim, RunOutcome("success", "idle", steps=[a_step("a")]))
        thread_id = claim.run.thread_id
        with pytest.raises(NotFoundError):
            await records.steps(OTHER, thread_id)
        assert len(await records.steps(PROGRAM, thread_id)) == 1
        await records.delete_thread(OWNER, thread_id)
        with pytest.raises(NotFoundError):
            await records.steps(OWNER, thread_id)

    async def test_who_has_lost_the_thread_adds_no_steps(self, records: Repository, runs: DrivenRuns) -> None:
        claim = await runs.begin(new_id())
        await runs.end(claim)
        with pytest.raises(LeaseLostError):
            await records.add_steps(claim.lease, [a_step("late")])
        assert await records.steps(OWNER, claim.run.thread_id) == []

    async def test_a_run_that_is_rolled_back_takes_its_steps_along(self, records: Repository, runs: DrivenRuns) -> None:
        claim = await runs.begin(new_id())
        await records.add_steps(claim.lease, [a_step("a")])
        await runs.end(claim, RunOutcome("interrupted", "interrupted", steps=[a_step("b")], rolled_back=True))
        assert await records.steps(OWNER, claim.run.thread_id) == []

    async def test_the_run_under_way_counts_in_what_a_thread_used(self, records: Repository, runs: DrivenRuns) -> None:
        first = await runs.begin(new_id())
        thread_id = first.run.thread_id
        spent = [ModelUsage("m", 1, 10, 2, 0.5)]
        told = a_step("m", input_tokens=10, output_tokens=2, cost_usd=0.5)
        await runs.end(first, RunOutcome("success", "idle", usage=spent, steps=[told]))
        second = await runs.begin(thread_id)
        inner = a_step("small", agent="helper", namespace="tools:1", input_tokens=1, output_tokens=1, cost_usd=0.25)
        await records.add_steps(second.lease, [a_step("m", input_tokens=30, output_tokens=4, cost_usd=1.0), inner])
        used = await records.thread_usage(OWNER, thread_id)
        assert (used.calls, used.input_tokens, used.output_tokens, used.cost_usd) == (3, 41, 7, 1.75)
        assert (used.context_tokens, used.context_model) == (34, "m")
        await runs.end(second, RunOutcome("success", "idle", usage=[ModelUsage("m", 2, 31, 5, 1.25)]))
        again = await records.thread_usage(OWNER, thread_id)
        assert (again.calls, again.input_tokens, again.cost_usd) == (3, 41, 1.75)

    async def test_usage_can_be_asked_for_since_a_moment(self, records: Repository, runs: DrivenRuns) -> None:
        claim = await runs.begin(new_id())
        await runs.end(claim, RunOutcome("success", "idle", usage=[ModelUsage("m", 1, 10, 2)]))
        ended = (await records.get_run(OWNER, claim.run.thread_id, claim.run.run_id)).updated_at
        assert len(await records.usage(OWNER, "day", since=ended)) == 1
        assert await records.usage(OWNER, "day", since=ended + timedelta(seconds=1)) == []


class WaitingCases(RepositoryCase):
    async def test_what_waits_is_listed_with_who_asks_until_it_is_answered(
        self, records: Repository, runs: DrivenRuns, persistence: Persistence
    ) -> None:
        claims = [await runs.begin(new_id()), await runs.begin(new_id()), await runs.begin(new_id(), OTHER)]
        questions = [PendingInterrupt(str(n) * 32, {"n": n}, "tools:t", f"task-{n}", asker="helper") for n in range(3)]
        for claim, question in zip(claims, questions, strict=True):
            await runs.end(claim, RunOutcome("success", "interrupted", interrupts=[question]))
        mine = await records.waiting(OWNER)
        assert [(each.question, each.thread_id, each.run_id) for each in mine] == [
            (question, claim.run.thread_id, claim.run.run_id) for claim, question in zip(claims[:2], questions[:2], strict=True)
        ]
        assert [each.question for each in await records.waiting(OWNER, after=mine[0].cursor)] == questions[1:2]
        assert (await records.count_waiting(OWNER), await records.count_waiting(PROGRAM)) == (2, 3)
        with pytest.raises(NotFoundError):
            await records.waiting(OWNER, thread_id=claims[2].run.thread_id)
        await persistence.queue.admit(Admission(a_run(claims[0].run.thread_id), answers={questions[0].interrupt_id: 1}))
        assert [each.question for each in await records.waiting(OWNER)] == questions[1:2]
        assert await records.waiting(OWNER, thread_id=claims[0].run.thread_id) == []

    async def test_what_waits_goes_with_its_thread(
        self, records: Repository, runs: DrivenRuns, persistence: Persistence
    ) -> None:
        claim = await runs.begin(new_id())
        await persistence.events.append(claim.lease, [NewEvent("values", b"{}")])
        await runs.end(claim, RunOutcome("success", "interrupted", interrupts=[PendingInterrupt("a" * 32, "why?")]))
        await records.delete_thread(OWNER, claim.run.thread_id)
        assert await records.waiting(OWNER) == []
        assert await records.count_waiting(OWNER) == 0
