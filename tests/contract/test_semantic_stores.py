"""Searches by meaning, on every database: scores, fields, owners, expiry, and what happens when the index changes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from langgraph.store.base import PutOp, SearchOp
from langgraph.store.base.embed import ensure_embeddings

from stepwell.database.database import SqlDatabase
from stepwell.database.postgres.database import PostgresDatabase
from stepwell.database.sqlite.database import Database
from stepwell.database.store.index import StoreIndex
from stepwell.database.store.items import SqlStore
from stepwell.database.store.reindexing import reindex
from stepwell.database.store.statements import sweep_expired
from stepwell.errors import ConfigurationError, ModelCallError

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def count_letters(texts: Sequence[str]) -> list[list[float]]:
    return [[float(text.lower().count(letter)) for letter in LETTERS] for text in texts]


async def count_letters_later(texts: Sequence[str]) -> list[list[float]]:
    return count_letters(texts)


def fail(texts: Sequence[str]) -> list[list[float]]:
    raise OSError("key=sk-secret")


def refuse_long(texts: Sequence[str]) -> list[list[float]]:
    if any("too long" in text for text in texts):
        raise ValueError("at most 8192 tokens")
    return count_letters(texts)


def index_of(
    function: Any = count_letters, *, name: str = "letters", dims: int = 26, fields: Sequence[str] = ("$",)
) -> StoreIndex:
    return StoreIndex(ensure_embeddings(function), dims, name, tuple(fields))


class MovedClock:
    def __init__(self) -> None:
        self.moment = datetime(2026, 1, 1, tzinfo=UTC)

    def now(self) -> datetime:
        return self.moment


class Calls:
    """A store's methods, sync or async."""

    def __init__(self, store: SqlStore, form: str) -> None:
        self._store, self._form = store, form

    def put(self, key: str, value: dict[str, Any], *more: Any, **options: Any) -> None:
        self._call("put", ("notes", "ada"), key, value, *more, **options)

    def keys(self, query: str | None, prefix: tuple[str, ...] = ("notes",), **options: Any) -> list[str]:
        return [item.key for item in self._call("search", prefix, query=query, **options)]

    def scores(self, query: str) -> dict[str, float]:
        return {item.key: item.score for item in self._call("search", ("notes",), query=query)}

    def batch(self, *ops: Any) -> Any:
        return self._call("batch", list(ops))

    def delete(self, key: str) -> None:
        self._call("delete", ("notes", "ada"), key)

    def _call(self, method: str, *args: Any, **options: Any) -> Any:
        if self._form == "sync":
            return getattr(self._store, method)(*args, **options)
        return asyncio.run(getattr(self._store, f"a{method}")(*args, **options))


class TestEmbeddedSemanticStore:
    data: SqlDatabase

    @pytest.fixture(autouse=True)
    def database(self, tmp_path: Path) -> Iterator[None]:
        self.data = Database(tmp_path / "stepwell.db")
        self.clock = MovedClock()
        yield
        self.data.close()

    @pytest.fixture(params=["sync", "async"])
    def form(self, request: pytest.FixtureRequest) -> str:
        return str(request.param)

    def make(self, form: str, index: StoreIndex | None = None, owner: str = "ada", **options: Any) -> Calls:
        return Calls(SqlStore(self.data, owner, self.clock, index=index or index_of(), **options), form)

    def test_the_closest_item_comes_first_with_the_highest_score(self, form: str) -> None:
        store = self.make(form)
        store.put("zoo", {"text": "zzz"})
        store.put("sea", {"text": "sss eee"})
        store.put("both", {"text": "zz ss"})
        assert store.keys("zzzz") == ["zoo", "both", "sea"]
        scores = store.scores("zzz")
        assert 1 >= scores["zoo"] > scores["both"] > scores["sea"] >= 0

    def test_pages_filters_and_prefixes_hold(self, form: str) -> None:
        store = self.make(form)
        for number in range(5):
            store.put(f"k{number}", {"text": "z" * (number + 1) + "q", "even": number % 2 == 0})
        assert store.keys("z", limit=2) == ["k4", "k3"]
        assert store.keys("z", limit=2, offset=2) == ["k2", "k1"]
        assert store.keys("z", filter={"even": True}) == ["k4", "k2", "k0"]
        assert store.keys("z", prefix=("other",)) == []

    def test_fields_of_the_index_and_of_a_put_decide_what_is_compared(self, form: str) -> None:
        store = self.make(form, index_of(fields=["title", "tags[*]"]))
        store.put("usual", {"title": "aaa", "body": "zzz", "tags": ["q", "w"]})
        store.put("own", {"title": "aaa", "body": "zzz"}, ["body"])
        store.put("none", {"title": "zzz", "body": "zzz"}, False)
        store.put("empty", {"other": "zzz"})
        assert store.keys("zzz") == ["own", "usual"]
        assert store.scores("w")["usual"] == pytest.approx(1.0)
        assert set(store.keys(None)) == {"usual", "own", "none", "empty"}

    def test_a_second_put_is_compared_by_its_new_value_and_a_deleted_item_not_at_all(self, form: str) -> None:
        store = self.make(form)
        store.put("k", {"text": "zzz"})
        store.put("other", {"text": "text"})
        store.put("k", {"text": "text qqq"})
        assert store.keys("qqq")[0] == "k"
        store.delete("k")
        assert store.keys("qqq") == ["other"]

    def test_a_batch_embeds_its_puts_together_and_searches_what_was_there(self, form: str) -> None:
        calls: list[int] = []

        def counted(texts: Sequence[str]) -> list[list[float]]:
            calls.append(len(texts))
            return count_letters(texts)

        store = self.make(form, index_of(counted, fields=["text"]))
        puts = [PutOp(("notes",), str(number), {"text": "same" if number else "z"}) for number in range(5)]
        results = store.batch(*puts, SearchOp(("notes",), query="z"))
        assert results[-1] == []
        assert calls == [2, 1]
        assert store.keys("z")[0] == "0"

    def test_owners_do_not_find_each_others_items(self, form: str) -> None:
        self.make(form, owner="eve").put("secret", {"text": "zzz"})
        assert self.make(form).keys("zzz", prefix=()) == []

    def test_a_function_that_is_only_async_serves_both_forms(self, form: str) -> None:
        store = self.make(form, index_of(count_letters_later))
        store.put("k", {"text": "zzz"})
        assert store.keys("z") == ["k"]

    def test_a_failing_embedding_stores_nothing_and_does_not_repeat_its_error(self, form: str) -> None:
        store = self.make(form, index_of(fail))
        with pytest.raises(ModelCallError, match="'letters' failed with OSError") as caught:
            store.put("k", {"text": "zzz"})
        assert "sk-secret" not in str(caught.value)
        assert self.make(form).keys(None) == []

    def test_vectors_of_another_length_are_refused(self, form: str) -> None:
        with pytest.raises(ConfigurationError, match=r"26 numbers, and 'store.index.dims' is 8"):
            self.make(form, index_of(dims=8)).put("k", {"text": "z"})

    def test_expired_items_are_not_found_and_reading_restarts_their_time(self, form: str) -> None:
        store = self.make(form, ttl={"default_ttl": 10, "refresh_on_read": True})
        store.put("read", {"text": "zzz"})
        self.clock.moment += timedelta(minutes=6)
        store.put("unread", {"text": "qqq"})
        assert store.keys("zzz", limit=1) == ["read"]
        self.clock.moment += timedelta(minutes=6)
        assert set(store.keys("zzz", refresh_ttl=False)) == {"read", "unread"}
        self.clock.moment += timedelta(minutes=6)
        assert store.keys("zzz", refresh_ttl=False) == []
        assert asyncio.run(sweep_expired(self.data, self.clock)) == 2

    def test_items_of_another_index_are_found_once_they_are_embedded_again(self, form: str) -> None:
        Calls(SqlStore(self.data, "ada", self.clock), form).put("before", {"text": "zzz", "title": "q"})
        self.make(form).put("first", {"text": "zzz", "title": "q"})
        self.make(form).put("own", {"text": "zzz", "title": "q"}, ["text"])
        self.make(form).put("never", {"text": "zzz"}, False)
        second = index_of(fields=["title"])
        assert self.make(form, second).keys("q") == []
        assert asyncio.run(reindex(self.data, self.clock, second)) == (3, 0)
        assert asyncio.run(reindex(self.data, self.clock, second)) == (0, 0)
        assert set(self.make(form, second).keys("q")[:2]) == {"before", "first"}
        assert self.make(form, second).scores("zzz")["own"] == pytest.approx(1.0)

    def test_an_item_that_cannot_be_embedded_keeps_no_others_out(self, form: str) -> None:
        store = self.make(form)
        for number in range(40):
            store.put(f"{number:02}", {"text": "too long" if number == 5 else "aaa"}, None)
        picky = index_of(name="picky", function=refuse_long)
        assert asyncio.run(reindex(self.data, self.clock, picky)) == (39, 1)
        assert len(self.make(form, picky).scores("aaa")) == 10
        assert asyncio.run(reindex(self.data, self.clock, picky)) == (0, 1)

    def test_embedding_again_with_an_embedding_that_is_away_is_an_error(self, form: str) -> None:
        self.make(form).put("k", {"text": "aaa"})
        with pytest.raises(ModelCallError):
            asyncio.run(reindex(self.data, self.clock, index_of(name="away", function=fail)))

    def test_embedding_again_leaves_an_item_that_was_put_meanwhile(self, form: str) -> None:
        self.make(form).put("k", {"text": "aaa"})
        second = index_of(name="second", function=self._putting(form))
        asyncio.run(reindex(self.data, self.clock, second))
        assert self.make(form, second).scores("zzz")["k"] > 0.9

    def _putting(self, form: str) -> Any:
        """An embedding during which the user changes the item."""
        changed: list[bool] = []

        async def embed(texts: Sequence[str]) -> list[list[float]]:
            if not changed:
                changed.append(True)
                store = SqlStore(self.data, "ada", self.clock, index=index_of(name="second"))
                await store.aput(("notes", "ada"), "k", {"text": "zzz zzz zzz zzz zzz"})
            return count_letters(texts)

        return embed


class TestPostgresSemanticStore(TestEmbeddedSemanticStore):
    @pytest.fixture(autouse=True)
    def database(self, postgres_url: str) -> Iterator[None]:
        self.data = PostgresDatabase(postgres_url)
        self.clock = MovedClock()
        yield
        self.data.close()
