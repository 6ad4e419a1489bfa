"""The suite for repositories: effects, which outlive runs and threads, and are settled once."""

from __future__ import annotations

import pytest
from tests.contract.suites.repository.case import OTHER, PROGRAM, RepositoryCase, refusal
from tests.support.driven_runs import OWNER, DrivenRuns, new_id

from stepwell.database.persistence import Persistence
from stepwell.database.queue.types import ClaimedRun
from stepwell.database.records.repository import Repository
from stepwell.database.records.types import EffectFilter, EffectRecord, Page
from stepwell.database.types import RunOutcome
from stepwell.errors import InvalidRequestError, ThreadBusyError
from stepwell.tools.effect_journal import Begun, Done, NotedCall, OtherArguments, Settled, Unknown

ALL = Page(limit=1000)
PATIENCE_S = 120.0


class EffectCases(RepositoryCase):
    @staticmethod
    async def begin(persistence: Persistence, runs: DrivenRuns, *, result: bytes | None = None) -> tuple[ClaimedRun, str]:
        """An effect under way, or done."""
        claim = await runs.begin(new_id())
        journal = persistence.effects(claim.lease)
        key = f"{journal.origin}/message/call/0"
        assert journal.begin(key, NotedCall("pay", "fingerprint")).result(PATIENCE_S) == Begun()
        if result is not None:
            journal.finish(key, result).result(PATIENCE_S)
        return claim, key

    @staticmethod
    async def listed(records: Repository, owner: str | None = OWNER, **wanted: object) -> list[EffectRecord]:
        return await records.effects(owner, EffectFilter(**wanted), ALL)  # type: ignore[arg-type]  # names of the filter

    async def test_an_effect_is_unknown_when_its_run_has_ended_without_a_result(
        self, persistence: Persistence, records: Repository, runs: DrivenRuns
    ) -> None:
        claim, key = await self.begin(persistence, runs)
        assert key not in [effect.key for effect in await self.listed(records)]
        (shown,) = await self.listed(records, open=False, thread_id=claim.run.thread_id)
        assert shown.outcome == "under_way"
        await runs.end(claim)
        (shown,) = await self.listed(records, thread_id=claim.run.thread_id)
        assert (shown.key, shown.tool, shown.outcome, shown.owner) == (key, "pay", "unknown", OWNER)
        assert await self.listed(records, OTHER, open=False, thread_id=claim.run.thread_id) == []

    async def test_what_is_done_is_not_for_a_person_to_look_at(
        self, persistence: Persistence, records: Repository, runs: DrivenRuns
    ) -> None:
        claim, _ = await self.begin(persistence, runs, result=b"receipt")
        await runs.end(claim)
        assert await self.listed(records, thread_id=claim.run.thread_id) == []
        (shown,) = await self.listed(records, open=False, thread_id=claim.run.thread_id)
        assert (shown.outcome, shown.taken_back) == ("done", False)

    @pytest.mark.parametrize("happened", [True, False])
    async def test_an_unknown_outcome_is_settled_once(
        self, persistence: Persistence, records: Repository, runs: DrivenRuns, happened: bool
    ) -> None:
        claim, key = await self.begin(persistence, runs)
        with pytest.raises(ThreadBusyError):
            await records.settle_effect(OWNER, key, happened=happened, by="ada")
        await runs.end(claim)
        settled = await records.settle_effect(OWNER, key, happened=happened, note="the bank says", by="ada")
        assert (settled.outcome, settled.note, settled.settled_by) == (
            "done" if happened else "not_done",
            "the bank says",
            "ada",
        )
        assert await records.settle_effect(OWNER, key, happened=happened, by="eve") == settled
        with pytest.raises(InvalidRequestError):
            await records.settle_effect(OWNER, key, happened=not happened, by="ada")
        assert await self.listed(records, thread_id=claim.run.thread_id) == []
        again = await runs.begin(claim.run.thread_id)
        assert persistence.effects(again.lease).begin(key).result(PATIENCE_S) == Settled(happened, "the bank says")

    async def test_somebody_elses_effect_looks_like_one_that_is_not_there(
        self, persistence: Persistence, records: Repository, runs: DrivenRuns
    ) -> None:
        claim, key = await self.begin(persistence, runs)
        await runs.end(claim)
        nowhere = f"{new_id()}/message/call/0"
        theirs = await refusal(records.settle_effect(OTHER, key, happened=True, by="eve"), key)
        assert theirs == await refusal(records.settle_effect(OTHER, nowhere, happened=True, by="eve"), nowhere)
        assert (await records.settle_effect(PROGRAM, key, happened=True, by="operator")).outcome == "done"

    async def test_an_effect_outlives_the_run_that_was_rolled_back_and_the_thread_that_was_deleted(
        self, persistence: Persistence, records: Repository, runs: DrivenRuns
    ) -> None:
        claim, key = await self.begin(persistence, runs, result=b"receipt")
        await persistence.queue.finish(claim.lease, RunOutcome("interrupted", "idle", rolled_back=True))
        (shown,) = await self.listed(records, thread_id=claim.run.thread_id)
        assert (shown.key, shown.outcome, shown.taken_back) == (key, "done", True)
        await records.delete_thread(OWNER, claim.run.thread_id)
        (left,) = (effect for effect in await self.listed(records, PROGRAM) if effect.key == key)
        assert (left.key, left.tool, left.outcome) == (key, "pay", "done")
        assert (left.thread_id, left.run_id, left.owner) == (None, None, None)
        await records.settle_effect(PROGRAM, key, happened=True, by="operator")
        assert key not in [effect.key for effect in await self.listed(records, PROGRAM)]

    async def test_a_copy_finds_what_its_origin_did(
        self, persistence: Persistence, records: Repository, runs: DrivenRuns
    ) -> None:
        claim, key = await self.begin(persistence, runs)
        first, second = new_id(), new_id()
        await records.copy_thread(OWNER, claim.run.thread_id, first)
        await records.copy_thread(OWNER, first, second)
        copy = persistence.effects((await runs.begin(second)).lease)
        assert copy.origin == persistence.effects(claim.lease).origin
        assert copy.begin(key, NotedCall("pay", "fingerprint")).result(PATIENCE_S) == Unknown()
        assert copy.begin(key, NotedCall("pay", "another")).result(PATIENCE_S) == OtherArguments()
        persistence.effects(claim.lease).finish(key, b"receipt").result(PATIENCE_S)
        assert copy.look([key, "other"]).result(PATIENCE_S) == {key: Done(b"receipt")}
        await runs.end(claim)
        await records.delete_thread(OWNER, claim.run.thread_id)
        assert copy.begin(key, NotedCall("pay", "fingerprint")).result(PATIENCE_S) == Done(None)
