"""What only the embedded store promises. The rest: tests/contract."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from langgraph.store.base import InvalidNamespaceError, PutOp

from stepwell.database.sqlite.database import Database
from stepwell.database.store.items import SqlStore
from stepwell.database.store.statements import sweep_expired
from stepwell.errors import InvalidRequestError


class MovedClock:
    def __init__(self) -> None:
        self.moment = datetime(2026, 1, 1, tzinfo=UTC)

    def now(self) -> datetime:
        return self.moment

    def later(self, minutes: float) -> None:
        self.moment += timedelta(minutes=minutes)


@pytest.fixture
def clock() -> MovedClock:
    return MovedClock()


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = Database(tmp_path / "stepwell.db")
    yield database
    database.close()


@pytest.fixture
def store(database: Database, clock: MovedClock) -> SqlStore:
    return SqlStore(database, "ada", clock)


def kept(database: Database) -> list[str]:
    return database.read_now(lambda connection: [key for (key,) in connection.execute("SELECT key FROM store_items")])


async def test_sweeping_deletes_what_is_over_and_nothing_else(database: Database, store: SqlStore, clock: MovedClock):
    await store.aput(("a",), "over", {}, ttl=1)
    await SqlStore(database, "eve", clock).aput(("a",), "also over", {}, ttl=1)
    await store.aput(("a",), "later", {}, ttl=3)
    await store.aput(("a",), "never", {})
    clock.later(2)
    assert await sweep_expired(database, clock) == 2
    assert sorted(kept(database)) == ["later", "never"]


def test_an_item_put_again_after_its_end_is_born_anew(store: SqlStore, clock: MovedClock):
    store.put(("a",), "k", {}, ttl=1)
    clock.later(2)
    store.put(("a",), "k", {})
    assert store.get(("a",), "k").created_at == clock.now()


def test_the_stores_own_settings_give_items_their_time(database: Database, clock: MovedClock):
    store = SqlStore(database, "ada", clock, ttl={"default_ttl": 10, "refresh_on_read": False})
    store.put(("a",), "k", {})
    clock.later(6)
    assert store.get(("a",), "k") is not None
    clock.later(6)
    assert store.get(("a",), "k") is None


def test_a_label_cannot_reach_into_other_namespaces(store: SqlStore):
    store.put(("a", "b"), "k", {})
    for read in (
        lambda: store.get(("a\x1fb",), "k"),
        lambda: store.search(("a\x1fb",)),
        lambda: store.put(("a\x1fb",), "k", {}),
    ):
        with pytest.raises(InvalidNamespaceError):
            read()


def test_labels_are_checked_in_a_batch_too(store: SqlStore):
    with pytest.raises(InvalidNamespaceError):
        store.batch([PutOp(("a.b",), "k", {})])


def test_of_a_batch_with_a_wrong_value_nothing_is_stored(database: Database, store: SqlStore):
    with pytest.raises(InvalidRequestError, match="'wrong'"):
        store.batch([PutOp(("a",), "right", {}), PutOp(("a",), "wrong", {"value": object()})])
    assert kept(database) == []


def test_what_changed_last_is_found_first(store: SqlStore, clock: MovedClock):
    for key in ("first", "second", "third"):
        clock.later(1)
        store.put(("a",), key, {"text": "same words"})
    clock.later(1)
    store.put(("a",), "first", {"text": "same words"})
    assert [item.key for item in store.search(("a",))] == ["first", "third", "second"]
    assert [item.key for item in store.search(("a",), query="words")] == ["first", "third", "second"]


def test_more_mentions_come_first_among_equals(store: SqlStore):
    store.put(("a",), "often", {"text": "tea tea tea"})
    store.put(("a",), "once", {"text": "tea"})
    assert [(item.key, item.score) for item in store.search(("a",), query="TEA")] == [("often", 1.0), ("once", 1.0)]


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ({"n": {"$gt": "a"}}, ["text"]),
        ({"n": {"$gt": 1}}, ["number"]),
        ({"n": {"$lte": None}}, []),
        ({"missing": {"$gt": 1}}, []),
        ({"missing": {"$ne": 1}}, ["list", "number", "text"]),
    ],
)
def test_numbers_compare_with_numbers_and_texts_with_texts(store: SqlStore, condition: dict, found: list[str]):
    store.put(("a",), "number", {"n": 2})
    store.put(("a",), "text", {"n": "b"})
    store.put(("a",), "list", {"n": [3]})
    assert sorted(item.key for item in store.search(("a",), filter=condition)) == found


def test_an_unknown_comparison_is_refused(store: SqlStore):
    store.put(("a",), "k", {"n": 1})
    with pytest.raises(InvalidRequestError, match=r"\$near"):
        store.search(("a",), filter={"n": {"$near": 1}})
