"""An engine's rate, its breaker, its pauses and its cache; and several engines in a chain. Time is turned by hand."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from stepwell.demo.web import ScriptedWeb
from stepwell.errors import ConfigurationError
from stepwell.settings import Settings
from stepwell.tools.web.search.cache import SearchCache
from stepwell.tools.web.search.chain import SearchChain
from stepwell.tools.web.search.choice import search_chain
from stepwell.tools.web.search.guard import EngineLimits, EngineState, GuardedEngine
from stepwell.tools.web.search.limits import Breaker
from stepwell.tools.web.search.outcomes import Blocked, Empty, Failed, Found, SearchOutcome, SearchResult

FOUND = Found("e", (SearchResult("A title", "https://a.example/", "An excerpt"),))
FAILED, EMPTY = Failed("e", "broken"), Empty("e")


class PlayedEngine:
    """Answers as written; the last answer stays."""

    def __init__(self, *outcomes: SearchOutcome, name: str = "e") -> None:
        self.name = name
        self.outcomes = list(outcomes)
        self.asked: list[tuple[str, int]] = []

    async def search(self, query: str, limit: int = 10) -> SearchOutcome:
        self.asked.append((query, limit))
        return self.outcomes.pop(0) if len(self.outcomes) > 1 else self.outcomes[0]


def files(folder: Path) -> list[Path]:
    return list(folder.iterdir())


def guarded(engine: PlayedEngine, clock, cache: SearchCache | None = None, **limits) -> GuardedEngine:
    return GuardedEngine(engine, clock, EngineLimits(**limits), cache, clock.sleep)


async def test_an_engine_is_asked_no_more_often_than_its_rate(clock):
    engine = guarded(PlayedEngine(FOUND), clock, per_s=0.5, burst=2)
    for _ in range(4):
        assert await engine.search("q") == FOUND
    assert clock.slept == [2.0, 2.0]


async def test_guards_that_share_their_state_share_the_rate(clock):
    state = EngineState(EngineLimits(per_s=0.5, burst=2))
    for _ in range(4):
        engine = GuardedEngine(PlayedEngine(FOUND), clock, sleep=clock.sleep, state=state)
        assert await engine.search("q") == FOUND
    assert clock.slept == [2.0, 2.0]


async def test_callers_at_the_same_time_stand_in_line(clock):
    waits: list[float] = []

    async def wait(seconds: float) -> None:
        waits.append(seconds)

    engine = GuardedEngine(PlayedEngine(FOUND), clock, EngineLimits(per_s=1, burst=1), None, wait)
    await asyncio.gather(*(engine.search(f"q{n}") for n in range(4)))
    assert waits == [1.0, 2.0, 3.0]


async def test_a_turn_that_is_too_far_away_is_not_waited_for(clock):
    played = PlayedEngine(FOUND)
    engine = guarded(played, clock, per_s=0.01, burst=1, longest_wait_s=15)
    await engine.search("q")
    assert isinstance(await engine.search("q"), Failed)
    assert len(played.asked) == 1


async def test_retry_after_is_honoured(clock):
    played = PlayedEngine(Blocked("e", "later", 30), FOUND)
    engine = guarded(played, clock)
    await engine.search("q")
    again = await engine.search("q")
    assert isinstance(again, Blocked)
    assert again.retry_after_s == 30
    assert len(played.asked) == 1
    clock.pass_s(31)
    assert await engine.search("q") == FOUND


async def test_the_breaker_opens_after_failures_in_a_row_and_tries_once_after_a_while(clock):
    played = PlayedEngine(FAILED, FAILED, FAILED, FAILED, FOUND)
    engine = guarded(played, clock, burst=100, failures_to_open=3, open_s=60)
    for _ in range(5):
        assert isinstance(await engine.search("q"), Failed)
    assert len(played.asked) == 3
    clock.pass_s(61)
    assert await engine.search("q") == FAILED
    assert isinstance(await engine.search("q"), Failed)
    assert len(played.asked) == 4
    clock.pass_s(61)
    assert await engine.search("q") == FOUND
    assert await engine.search("q") == FOUND


async def test_a_success_between_failures_keeps_the_breaker_closed(clock):
    played = PlayedEngine(FAILED, FAILED, EMPTY, FAILED, FAILED, FOUND)
    engine = guarded(played, clock, burst=100, failures_to_open=3)
    for _ in range(6):
        await engine.search("q")
    assert len(played.asked) == 6


async def test_a_try_that_is_broken_off_does_not_keep_the_breaker_open_for_ever(clock):
    class Hanging(PlayedEngine):
        async def search(self, query: str, limit: int = 10) -> SearchOutcome:
            self.asked.append((query, limit))
            if len(self.asked) == 2:
                await asyncio.Event().wait()
            return FAILED if len(self.asked) == 1 else FOUND

    engine = guarded(Hanging(FOUND), clock, failures_to_open=1, open_s=10)
    await engine.search("q")
    clock.pass_s(11)
    task = asyncio.create_task(engine.search("q"))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await engine.search("q") == FOUND


async def test_an_engine_that_never_answers_is_failed(clock):
    class Silent(PlayedEngine):
        async def search(self, query: str, limit: int = 10) -> SearchOutcome:
            await asyncio.Event().wait()
            return FOUND

    assert isinstance(await guarded(Silent(FOUND), clock, timeout_s=0.01).search("q"), Failed)


async def test_what_was_found_is_kept_for_a_day_and_survives_a_restart(clock, tmp_path: Path):
    played = PlayedEngine(FOUND)
    cache = SearchCache(tmp_path / "web", clock)
    assert await guarded(played, clock, cache).search("a  question") == FOUND
    assert await guarded(played, clock, SearchCache(tmp_path / "web", clock)).search("a question") == FOUND
    assert len(played.asked) == 1
    clock.pass_s(24 * 3600)
    await guarded(played, clock, cache).search("a question")
    assert len(played.asked) == 2
    assert not any("question" in path.read_text() for path in files(tmp_path / "web"))


async def test_the_cache_tells_engine_query_and_count_apart(clock, tmp_path: Path):
    cache = SearchCache(tmp_path, clock)
    await cache.put(FOUND, "q", 10)
    assert await cache.get("e", "q", 10) == FOUND
    assert [await cache.get(*key) for key in (("e", "q", 5), ("e", "p", 10), ("f", "q", 10))] == [None, None, None]


@pytest.mark.parametrize("outcome", [EMPTY, FAILED, Blocked("e", "no")])
async def test_only_results_are_kept(clock, tmp_path: Path, outcome: SearchOutcome):
    await guarded(PlayedEngine(outcome), clock, SearchCache(tmp_path / "web", clock)).search("q")
    assert not (tmp_path / "web").exists()


@pytest.mark.parametrize(
    "damage",
    [b"", b"{", b"[]", b'{"engine": "e", "at": "x", "results": []}', b'{"engine":"e","at":1767323045,"results":[{"title":1}]}'],
)
async def test_a_damaged_file_is_thrown_away_and_the_engine_asked(clock, tmp_path: Path, damage: bytes):
    cache = SearchCache(tmp_path, clock)
    await cache.put(FOUND, "q", 10)
    (kept,) = files(tmp_path)
    kept.write_bytes(damage)
    assert await cache.get("e", "q", 10) is None
    assert files(tmp_path) == []


async def test_the_cache_stays_within_its_size(clock, tmp_path: Path):
    cache = SearchCache(tmp_path, clock, max_bytes=2_000)
    for number in range(50):
        await cache.put(FOUND, f"q{number}", 10)
    assert 0 < sum(path.stat().st_size for path in files(tmp_path)) <= 2_000
    assert [json.loads(path.read_bytes())["engine"] for path in files(tmp_path)]


async def test_a_disk_that_takes_nothing_does_not_fail_the_search(clock, tmp_path: Path):
    (tmp_path / "file").write_text("in the way")
    assert await guarded(PlayedEngine(FOUND), clock, SearchCache(tmp_path / "file" / "web", clock)).search("q") == FOUND


async def test_the_chain_says_which_engine_answered_and_what_the_others_said():
    first, second, third = PlayedEngine(Blocked("a", "bot"), name="a"), PlayedEngine(FOUND), PlayedEngine(FOUND, name="c")
    searched = await SearchChain([first, second, third]).search("q")
    assert (searched.engine, searched.outcome, searched.tried) == ("e", FOUND, (Blocked("a", "bot"), FOUND))
    assert third.asked == []


@pytest.mark.parametrize(
    ("outcomes", "counts"),
    [((FAILED, Blocked("b", "x")), Blocked), ((Blocked("b", "x"), EMPTY, FAILED), Empty), ((FAILED, FAILED), Failed)],
)
async def test_without_results_the_most_telling_word_counts(outcomes: tuple[SearchOutcome, ...], counts: type):
    searched = await SearchChain([PlayedEngine(outcome) for outcome in outcomes]).search("q")
    assert isinstance(searched.outcome, counts)
    assert searched.tried == outcomes


def chain_of(**variables: str) -> tuple[str, ...]:
    return search_chain(Settings.load(variables), ScriptedWeb({})).engines


def test_r8_duckduckgo_needs_no_key_and_google_is_used_with_both_of_its_own():
    """Mission R8."""
    assert chain_of() == ("duckduckgo", "wikipedia")
    assert chain_of(GOOGLE_CSE_API_KEY="k") == ("duckduckgo", "wikipedia")
    assert chain_of(GOOGLE_CSE_API_KEY="k", GOOGLE_CSE_CX="c")[0] == "google_cse"


def test_the_order_of_the_settings_is_kept():
    assert chain_of(STEPWELL_SEARCH_ENGINES="wikipedia, tavily,wikipedia", TAVILY_API_KEY="k") == ("wikipedia", "tavily")
    assert chain_of(STEPWELL_SEARXNG_URL="http://searx:8080", BRAVE_API_KEY="k")[:2] == ("searxng", "brave")


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"STEPWELL_SEARCH_ENGINES": "tavily"}, "needs TAVILY_API_KEY"),
        ({"STEPWELL_SEARCH_ENGINES": "altavista"}, "which is unknown"),
        ({"STEPWELL_SEARXNG_URL": "searx"}, "STEPWELL_SEARXNG_URL"),
    ],
)
def test_an_engine_that_cannot_be_used_is_an_error_at_start(variables: dict[str, str], words: str):
    with pytest.raises(ConfigurationError, match=words):
        chain_of(**variables)


def test_no_key_shows_in_the_settings():
    keys = dict.fromkeys(("GOOGLE_CSE_API_KEY", "TAVILY_API_KEY", "BRAVE_API_KEY"), "s3cret")
    assert "s3cret" not in repr(Settings.load(keys))


def test_a_half_open_breaker_lets_one_try_through_at_a_time():
    breaker = Breaker(failures_to_open=1, open_s=10)
    breaker.failed(now=0)
    assert [breaker.allows(now=11), breaker.allows(now=11), breaker.allows(now=12)] == [True, False, False]
    breaker.worked()
    assert breaker.allows(now=12)
