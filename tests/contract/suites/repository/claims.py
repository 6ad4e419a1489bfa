"""The suite for repositories: which device is about to carry out what an interrupt asks."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.contract.suites.repository.case import OTHER, PROGRAM, RepositoryCase
from tests.support.driven_runs import OWNER, DrivenRuns, a_run, new_id

from stepwell.database.persistence import Persistence
from stepwell.database.queue.types import Admission
from stepwell.database.records.repository import Repository
from stepwell.database.types import BareAnswer, PendingInterrupt, RunOutcome
from stepwell.errors import InterruptClaimedError, InterruptGoneError, InvalidRequestError, NotFoundError

QUESTION = {"type": "client_tool_execution", "tool_calls": [{"id": "c", "name": "read_file", "args": {"file_id": "/a"}}]}
ANSWER = {"tool_results": [{"tool_call_id": "c", "content": {"text": "a"}}]}
ASKED = "a" * 32
EVER_S, MOMENT_S = 600, 0.001


async def ask(runs: DrivenRuns, question: Any = QUESTION) -> str:
    """A thread that waits for a device."""
    claim = await runs.begin(new_id())
    await runs.end(claim, RunOutcome("success", "interrupted", interrupts=[PendingInterrupt(ASKED, question)]))
    return claim.run.thread_id


class ClaimCases(RepositoryCase):
    async def test_of_several_devices_one_gets_the_claim(self, records: Repository, runs: DrivenRuns) -> None:
        thread_id = await ask(runs)
        claims = (records.claim(OWNER, thread_id, ASKED, device_id=f"tab {n}", ttl_s=EVER_S) for n in range(5))
        told = await asyncio.gather(*claims, return_exceptions=True)
        refused = [each for each in told if isinstance(each, InterruptClaimedError)]
        (held,) = [each for each in told if not isinstance(each, BaseException)]
        assert len(refused) == 4
        assert {(each.device_id, each.expires_at) for each in refused} == {(held.claim.device_id, held.claim.expires_at)}
        (waiting,) = await records.waiting(OWNER, thread_id=thread_id)
        assert waiting.claim == held.claim
        assert held.claim.expires_at > datetime.now(UTC)

    async def test_its_holder_renews_a_claim_and_gives_it_back(self, records: Repository, runs: DrivenRuns) -> None:
        thread_id = await ask(runs)
        held = await records.claim(OWNER, thread_id, ASKED, device_id="a", ttl_s=5)
        again = await records.claim(OWNER, thread_id, ASKED, device_id="a", ttl_s=EVER_S, claim_id=held.claim_id)
        assert again.claim_id == held.claim_id
        assert again.claim.expires_at > held.claim.expires_at
        with pytest.raises(InterruptClaimedError):
            await records.release_claim(OWNER, thread_id, ASKED, "not yours")
        await records.release_claim(OWNER, thread_id, ASKED, held.claim_id)
        await records.release_claim(OWNER, thread_id, ASKED, held.claim_id)
        assert (await records.waiting(OWNER, thread_id=thread_id))[0].claim is None
        await records.claim(OWNER, thread_id, ASKED, device_id="b", ttl_s=EVER_S)

    async def test_a_claim_that_has_expired_binds_nobody(
        self, records: Repository, runs: DrivenRuns, persistence: Persistence
    ) -> None:
        thread_id = await ask(runs)
        first = await records.claim(OWNER, thread_id, ASKED, device_id="a", ttl_s=MOMENT_S)
        await asyncio.sleep(2 * MOMENT_S)
        assert (await records.waiting(OWNER))[0].claim is None
        await records.claim(OWNER, thread_id, ASKED, device_id="a", ttl_s=MOMENT_S, claim_id=first.claim_id)
        await asyncio.sleep(2 * MOMENT_S)
        second = await records.claim(OWNER, thread_id, ASKED, device_id="b", ttl_s=MOMENT_S)
        await asyncio.sleep(2 * MOMENT_S)
        assert second.claim_id != first.claim_id
        with pytest.raises(InterruptClaimedError, match="is gone"):
            await records.claim(OWNER, thread_id, ASKED, device_id="a", ttl_s=EVER_S, claim_id=first.claim_id)
        taken = await persistence.queue.admit(Admission(a_run(thread_id), answers={ASKED: ANSWER}))
        assert taken.run.request.resume == {ASKED: ANSWER}

    async def test_while_a_claim_lives_only_its_holder_answers(
        self, records: Repository, runs: DrivenRuns, persistence: Persistence
    ) -> None:
        thread_id = await ask(runs)
        held = await records.claim(OWNER, thread_id, ASKED, device_id="a", ttl_s=EVER_S)
        for answers in ({ASKED: ANSWER}, {ASKED: {**ANSWER, "claim_id": "another"}}, BareAnswer(ANSWER)):
            with pytest.raises(InterruptClaimedError):
                await persistence.queue.admit(Admission(a_run(thread_id), answers=answers))
        assert len(await records.waiting(OWNER, thread_id=thread_id)) == 1, "nothing is lost"
        own = {ASKED: {**ANSWER, "claim_id": held.claim_id}}
        taken = await persistence.queue.admit(Admission(a_run(thread_id), answers=own))
        assert taken.run.request.resume == {ASKED: ANSWER}, "the claim is no part of the answer"
        again = await persistence.queue.admit(Admission(a_run(thread_id), answers={ASKED: {**ANSWER, "claim_id": "another"}}))
        assert (again.rejoined, again.run.run_id) == (True, taken.run.run_id)

    async def test_what_is_answered_cannot_be_claimed(
        self, records: Repository, runs: DrivenRuns, persistence: Persistence
    ) -> None:
        thread_id = await ask(runs)
        await persistence.queue.admit(Admission(a_run(thread_id), answers={ASKED: ANSWER}))
        with pytest.raises(InterruptGoneError):
            await records.claim(OWNER, thread_id, ASKED, device_id="a", ttl_s=EVER_S)
        await records.release_claim(OWNER, thread_id, ASKED, "whatever")

    async def test_only_what_a_device_carries_out_is_claimed(self, records: Repository, runs: DrivenRuns) -> None:
        others: list[Any] = [{"type": "clarification_request", "question": "Which?"}, {"action_requests": []}, "why?"]
        for question in others:
            thread_id = await ask(runs, question)
            with pytest.raises(InvalidRequestError, match="answered by a person"):
                await records.claim(OWNER, thread_id, ASKED, device_id="a", ttl_s=EVER_S)

    async def test_claims_are_their_owners(self, records: Repository, runs: DrivenRuns) -> None:
        thread_id = await ask(runs)
        with pytest.raises(NotFoundError):
            await records.claim(OTHER, thread_id, ASKED, device_id="a", ttl_s=EVER_S)
        with pytest.raises(NotFoundError):
            await records.claim(OWNER, thread_id, "b" * 32, device_id="a", ttl_s=EVER_S)
        held = await records.claim(PROGRAM, thread_id, ASKED, device_id="a", ttl_s=EVER_S)
        with pytest.raises(NotFoundError):
            await records.release_claim(OTHER, thread_id, ASKED, held.claim_id)

    async def test_a_copy_of_a_thread_is_not_claimed(self, records: Repository, runs: DrivenRuns) -> None:
        thread_id = await ask(runs)
        await records.claim(OWNER, thread_id, ASKED, device_id="a", ttl_s=EVER_S)
        copied = await records.copy_thread(OWNER, thread_id, new_id())
        assert [each.claim for each in await records.waiting(OWNER, thread_id=copied.thread_id)] == [None]
