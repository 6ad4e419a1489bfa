"""The suite for event logs: whoever follows sees everything once, in order, and is let go when nothing can follow."""

from __future__ import annotations

import asyncio

from tests.contract.suites.event_log.case import EventLogCase, append_documents, gather, numbers, said, said_of, trim, words
from tests.support.driven_runs import PATIENCE_S, DrivenRuns, a_run, new_id

from stepwell.database.events.log import EventLog
from stepwell.database.events.reading import BEGINNING
from stepwell.database.persistence import Persistence
from stepwell.database.queue.types import Admission, ClaimedRun
from stepwell.database.types import NewEvent, RunEvent, RunOutcome


class FollowingCases(EventLogCase):
    async def test_a_reconnect_at_any_place_has_no_gap_and_no_duplicate(
        self, log: EventLog, runs: DrivenRuns, claim: ClaimedRun
    ) -> None:
        for start in range(0, 199, 7):
            await log.append(claim.lease, words(*range(start, min(start + 7, 199))))
        await runs.end(claim)
        thread_id, run_id = claim.run.thread_id, claim.run.run_id
        whole = await gather(log.follow_run(thread_id, run_id))
        assert numbers(whole) == list(range(1, 201))
        assert whole[-1].event == "end"
        for place in range(201):
            assert await gather(log.follow_run(thread_id, run_id, after=place)) == whole[place:]

    async def test_a_reconnect_while_the_run_goes_on_has_no_gap_and_no_duplicate(
        self, log: EventLog, runs: DrivenRuns, claim: ClaimedRun
    ) -> None:
        thread_id, run_id = claim.run.thread_id, claim.run.run_id
        followers = []
        for number in range(199):
            followers.append(asyncio.create_task(gather(log.follow_run(thread_id, run_id, after=number // 2))))
            await log.append(claim.lease, words(number))
        await runs.end(claim)
        for number, followed in enumerate(await asyncio.gather(*followers)):
            assert numbers(followed) == list(range(number // 2 + 1, 201))

    async def test_a_client_that_drops_after_every_batch_sees_everything_once(
        self, log: EventLog, runs: DrivenRuns, claim: ClaimedRun
    ) -> None:
        async def restless() -> list[RunEvent]:
            seen: list[RunEvent] = []
            while not seen or seen[-1].event != "end":
                place = seen[-1].seq if seen else BEGINNING
                following = log.follow_run(claim.run.thread_id, claim.run.run_id, after=place)
                seen += await asyncio.wait_for(anext(following), PATIENCE_S)
                await following.aclose()  # type: ignore[attr-defined]  # a generator
            return seen

        clients = [asyncio.create_task(restless()) for _ in range(5)]
        for number in range(199):
            await log.append(claim.lease, words(number))
        await runs.end(claim)
        for seen in await asyncio.gather(*clients):
            assert numbers(seen) == list(range(1, 201))

    async def test_followers_that_join_while_appends_happen_see_everything_once(
        self, log: EventLog, runs: DrivenRuns, claim: ClaimedRun
    ) -> None:
        thread_id, run_id = claim.run.thread_id, claim.run.run_id

        async def talk() -> None:
            for number in range(0, 300, 3):
                await log.append(claim.lease, words(number, number + 1, number + 2))
            await runs.end(claim)

        talking = asyncio.create_task(talk())
        followers = []
        while not talking.done():
            followers.append(asyncio.create_task(gather(log.follow_run(thread_id, run_id))))
            await asyncio.sleep(0)
            if len(followers) >= 100:
                await talking
        for followed in await asyncio.gather(*followers):
            assert numbers(followed) == list(range(1, 302))

    async def test_a_slow_follower_loses_nothing_and_holds_nobody_up(
        self, log: EventLog, runs: DrivenRuns, claim: ClaimedRun
    ) -> None:
        thread_id, run_id = claim.run.thread_id, claim.run.run_id
        await log.append(claim.lease, words(0))
        slow = log.follow_run(thread_id, run_id)
        seen = await anext(slow)
        quick = asyncio.create_task(gather(log.follow_run(thread_id, run_id)))
        large = NewEvent("values", b'"' + b"x" * 10_000 + b'"')
        for _ in range(100):
            await log.append(claim.lease, [large] * 20)
        await runs.end(claim)
        assert len(await quick) == 2002
        seen += await gather(slow)
        assert numbers(seen) == list(range(1, 2003))

    async def test_whoever_follows_gets_whole_what_is_stored_as_changes(
        self, log: EventLog, runs: DrivenRuns, claim: ClaimedRun
    ) -> None:
        """Whether there already when it was written, or joining at any place."""
        thread_id, run_id = claim.run.thread_id, claim.run.run_id
        early = asyncio.create_task(gather(log.follow_run(thread_id, run_id)))
        await asyncio.sleep(0)
        texts = await append_documents(log, claim, range(1, 30))
        late = asyncio.create_task(gather(log.follow_run(thread_id, run_id, after=21)))
        texts += await append_documents(log, claim, range(30, 50))
        await runs.end(claim)
        assert [event.data for event in (await early)[:-1]] == texts
        assert [event.data for event in (await late)[:-1]] == texts[21:]

    async def test_following_a_run_leaves_the_others_out_and_ends_with_it(
        self, log: EventLog, runs: DrivenRuns, claim: ClaimedRun
    ) -> None:
        thread_id = claim.run.thread_id
        first = asyncio.create_task(gather(log.follow_run(thread_id, claim.run.run_id)))
        await log.append(claim.lease, words(1, 2))
        await runs.end(claim)
        assert [event.event for event in await first] == ["values", "values", "end"]
        second = await runs.begin(thread_id)
        following = asyncio.create_task(gather(log.follow_run(thread_id, second.run.run_id)))
        await log.append(second.lease, words(3))
        await runs.end(second)
        assert said(await following) == said_of(words(3))
        assert said(await gather(log.follow_run(thread_id, claim.run.run_id))) == said_of(words(1, 2))

    async def test_a_run_that_is_driven_again_is_followed_on(self, log: EventLog, runs: DrivenRuns, claim: ClaimedRun) -> None:
        following = asyncio.create_task(gather(log.follow_run(claim.run.thread_id, claim.run.run_id)))
        await log.append(claim.lease, words(1))
        newer = await runs.lose(claim)
        await log.append(newer.lease, words(2))
        await runs.end(newer)
        assert said(await following) == said_of(words(1, 2))

    async def test_a_place_that_never_was_gives_what_comes_next(
        self, log: EventLog, runs: DrivenRuns, claim: ClaimedRun
    ) -> None:
        await log.append(claim.lease, words(1))
        for place in (10**6, 10**30):
            following = log.follow_run(claim.run.thread_id, claim.run.run_id, after=place)
            coming = asyncio.ensure_future(anext(following))
            said: list[RunEvent] = []
            async with asyncio.timeout(PATIENCE_S):
                while not coming.done():  # what was said before it looked came before it asked
                    said += await log.append(claim.lease, words(2))
                    await asyncio.wait({coming}, timeout=0.1)
            assert coming.result()
            assert set(coming.result()) <= set(said)
            await following.aclose()  # type: ignore[attr-defined]  # a generator


class EndingCases(EventLogCase):
    async def test_a_run_that_is_not_there_gives_nothing_and_ends(self, log: EventLog, claim: ClaimedRun) -> None:
        await log.append(claim.lease, words(1))
        assert await gather(log.follow_run(claim.run.thread_id, new_id())) == []
        assert await gather(log.follow_run(new_id(), claim.run.run_id)) == []

    async def test_an_old_run_whose_events_are_trimmed_gives_nothing_and_ends(
        self, log: EventLog, runs: DrivenRuns, persistence: Persistence, claim: ClaimedRun
    ) -> None:
        await log.append(claim.lease, words(1, 2))
        await runs.end(claim)
        await runs.begin(claim.run.thread_id)
        assert await trim(persistence) > 0
        assert await gather(log.follow_run(claim.run.thread_id, claim.run.run_id)) == []

    async def test_a_follower_of_a_run_that_is_rolled_back_is_let_go(
        self, log: EventLog, runs: DrivenRuns, claim: ClaimedRun
    ) -> None:
        following = asyncio.create_task(gather(log.follow_run(claim.run.thread_id, claim.run.run_id)))
        await log.append(claim.lease, words(1))
        await runs.end(claim, RunOutcome("interrupted", "idle", rolled_back=True))
        assert said(await following) in ([], said_of(words(1)))

    async def test_a_follower_of_a_run_that_never_began_is_let_go(
        self, log: EventLog, runs: DrivenRuns, claim: ClaimedRun, persistence: Persistence
    ) -> None:
        waiting = a_run(claim.run.thread_id)
        await persistence.queue.admit(Admission(waiting))
        following = asyncio.create_task(gather(log.follow_run(waiting.thread_id, waiting.run_id)))
        await asyncio.sleep(0.05)
        await persistence.queue.cancel(waiting.owner, [waiting.run_id], "interrupt")
        assert [event.event for event in await following] == ["end"]


class ThreadEventCases(EventLogCase):
    async def test_following_a_thread_gives_all_its_runs_in_order(
        self, log: EventLog, runs: DrivenRuns, claim: ClaimedRun
    ) -> None:
        thread_id = claim.run.thread_id
        await log.append(claim.lease, words(1))
        following = asyncio.create_task(gather(log.follow_thread(thread_id, after=BEGINNING), until=6))
        await log.append(claim.lease, words(2))
        await runs.end(claim)
        second = await runs.begin(thread_id)
        await log.append(second.lease, words(3, 4))
        await runs.end(second)
        followed = await following
        assert numbers(followed) == [1, 2, 3, 4, 5, 6]
        assert [event.event for event in followed] == ["values", "values", "end", "values", "values", "end"]

    async def test_following_a_thread_from_now_on_leaves_out_what_was(
        self, log: EventLog, runs: DrivenRuns, claim: ClaimedRun
    ) -> None:
        await log.append(claim.lease, words(1, 2))
        following = asyncio.create_task(gather(log.follow_thread(claim.run.thread_id), until=2))
        newest = 2
        while not following.done():
            newest += 1
            await log.append(claim.lease, words(newest))
        followed = await following
        first = followed[0].seq
        assert first > 2, "what was said before"
        assert numbers(followed) == [*range(first, first + len(followed))]

    async def test_threads_do_not_hear_of_each_other(self, log: EventLog, runs: DrivenRuns, claim: ClaimedRun) -> None:
        other = await runs.begin(new_id())
        following = asyncio.create_task(gather(log.follow_run(claim.run.thread_id, claim.run.run_id)))
        for number in range(20):
            await log.append(other.lease, words(100 + number))
            await log.append(claim.lease, words(number))
        await runs.end(claim)
        assert said(await following) == said_of(words(*range(20)))
