"""What every store must do, as tests. Subclass `StoreConformance` and give it your store.

```python
from stepwell.testing import StoreConformance


class TestMyStore(StoreConformance):
    def make_store(self, owner="ada"):
        return self.store
```

pytest finds the tests in the subclass. Each runs through the sync methods and through the async ones. A store that belongs to an owner
and lets items expire, as those behind `stepwell.runs` do, runs `OwnedStoreConformance`. A test that cannot apply is switched off by
name in the subclass (`test_a_changed_item_keeps_its_day_of_birth = None`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from langgraph.store.base import (
    BaseStore,
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
)

__all__ = ["OwnedStoreConformance", "StoreCalls", "StoreCase", "StoreConformance"]

Keys = list[tuple[tuple[str, ...], str]]


class StoreCase:
    """Override `make_store`, and `later` for stores in which items expire."""

    def make_store(self, owner: str = "ada") -> BaseStore:
        """The store of an owner. All stores of one test share their storage; a store that knows no owners may ignore the name."""
        raise NotImplementedError

    def later(self, minutes: float) -> None:
        """Let time pass."""
        raise NotImplementedError

    @pytest.fixture
    def runner(self) -> Iterator[asyncio.Runner]:
        with asyncio.Runner() as runner:
            yield runner

    @pytest.fixture(params=["sync", "async"])
    def store(self, runner: asyncio.Runner, request: pytest.FixtureRequest) -> StoreCalls:
        return StoreCalls(self.make_store(), runner, request.param)


class StoreCalls:
    """The methods of a store, sync or async."""

    def __init__(self, store: BaseStore, runner: asyncio.Runner, form: str) -> None:
        self.store = store
        self._runner = runner
        self._form = form

    def other(self, store: BaseStore) -> StoreCalls:
        """The same for another store."""
        return StoreCalls(store, self._runner, self._form)

    def call(self, method: str, *args: Any, **options: Any) -> Any:
        if self._form == "sync":
            return getattr(self.store, method)(*args, **options)
        return self._runner.run(getattr(self.store, f"a{method}")(*args, **options))

    def put(self, namespace: tuple[str, ...], key: str, value: dict[str, Any], **options: Any) -> None:
        self.call("put", namespace, key, value, **options)

    def get(self, namespace: tuple[str, ...], key: str, **options: Any) -> Any:
        return self.call("get", namespace, key, **options)

    def value(self, namespace: tuple[str, ...], key: str) -> Any:
        item = self.get(namespace, key)
        return None if item is None else item.value

    def search(self, prefix: tuple[str, ...], **options: Any) -> list[SearchItem]:
        items: list[SearchItem] = self.call("search", prefix, **options)
        return items

    def keys(self, prefix: tuple[str, ...], **options: Any) -> list[str]:
        """The keys that a search finds, in order of the alphabet."""
        return sorted(item.key for item in self.search(prefix, **options))

    def namespaces(self, **options: Any) -> list[tuple[str, ...]]:
        found: list[tuple[str, ...]] = self.call("list_namespaces", **options)
        return found

    def batch(self, *ops: Op) -> list[Result]:
        results: list[Result] = self.call("batch", list(ops))
        return results


VALUE: dict[str, Any] = {
    "text": "Grüße 世界 \U0001f600",
    "n": 1,
    "share": 0.5,
    "yes": True,
    "none": None,
    "deep": {"list": [1, {"a": []}]},
}
BAD_NAMESPACES: list[Any] = [("a.b",), ("",), ("a", ""), ("a\x00b",), (1,)]


class KeepingCases(StoreCase):
    def test_a_value_comes_back_as_it_was(self, store: StoreCalls) -> None:
        store.put(("users", "ada"), "profile", VALUE)
        item = store.get(("users", "ada"), "profile")
        assert (item.value, item.key, item.namespace) == (VALUE, "profile", ("users", "ada"))
        assert item.created_at.tzinfo is not None
        assert item.updated_at >= item.created_at

    def test_what_is_not_there_is_none(self, store: StoreCalls) -> None:
        store.put(("a",), "k", VALUE)
        assert store.get(("a",), "other") is None
        assert store.get(("b",), "k") is None
        assert store.get(("a", "k"), "k") is None
        assert store.search(("b",)) == []

    def test_a_second_put_replaces_the_whole_value(self, store: StoreCalls) -> None:
        store.put(("a",), "k", {"old": 1})
        store.put(("a",), "k", {"new": 2})
        assert store.value(("a",), "k") == {"new": 2}
        assert len(store.search(("a",))) == 1

    def test_a_changed_item_keeps_its_day_of_birth(self, store: StoreCalls) -> None:
        store.put(("a",), "k", {"n": 1})
        first = store.get(("a",), "k")
        self.later(1)
        store.put(("a",), "k", {"n": 2})
        second = store.get(("a",), "k")
        assert second.created_at == first.created_at
        assert second.updated_at > first.updated_at

    def test_delete_takes_one_item_and_does_not_mind_when_there_is_none(self, store: StoreCalls) -> None:
        store.put(("a",), "k", VALUE)
        store.put(("a",), "other", VALUE)
        store.call("delete", ("a",), "k")
        store.call("delete", ("a",), "k")
        assert store.keys(()) == ["other"]

    @pytest.mark.parametrize("namespace", BAD_NAMESPACES)
    def test_bad_labels_are_refused(self, store: StoreCalls, namespace: Any) -> None:
        for method, arguments in (("put", (namespace, "k", {})), ("get", (namespace, "k")), ("search", (namespace,))):
            with pytest.raises(InvalidNamespaceError):
                store.call(method, *arguments)

    def test_a_put_needs_a_namespace_that_is_not_langgraphs_own(self, store: StoreCalls) -> None:
        for namespace in ((), ("langgraph", "a")):
            with pytest.raises(InvalidNamespaceError):
                store.put(namespace, "k", {})

    @pytest.mark.parametrize("key", ["a.b/c d", "ключ", "'; DROP TABLE store_items; --", "%_*", "x" * 300])
    def test_keys_may_be_anything(self, store: StoreCalls, key: str) -> None:
        store.put(("a", "%_'\""), key, {"key": key})
        assert store.value(("a", "%_'\""), key) == {"key": key}
        assert store.value(("a", "%_'\""), key + "?") is None

    def test_results_stand_in_the_order_of_the_operations(self, store: StoreCalls) -> None:
        store.put(("a",), "1", {"n": 1})
        store.put(("b",), "2", {"n": 2})
        results: list[Any] = store.batch(
            GetOp(("b",), "2"), ListNamespacesOp(), SearchOp(("a",)), GetOp(("a",), "nothing"), PutOp(("c",), "3", {"n": 3})
        )
        assert results[0].value == {"n": 2}
        assert results[1] == [("a",), ("b",)]
        assert [item.key for item in results[2]] == ["1"]
        assert results[3:] == [None, None]

    def test_a_batch_reads_before_it_writes_and_the_last_put_counts(self, store: StoreCalls) -> None:
        store.put(("a",), "k", {"n": 1})
        results: list[Any] = store.batch(
            PutOp(("a",), "k", {"n": 2}), GetOp(("a",), "k"), PutOp(("a",), "k", {"n": 3}), PutOp(("a",), "gone", None)
        )
        assert results[1].value == {"n": 1}
        assert store.value(("a",), "k") == {"n": 3}


class OwnerCases(StoreCase):
    def test_owners_do_not_see_each_other(self, store: StoreCalls) -> None:
        other = store.other(self.make_store("eve"))
        store.put(("users", "ada"), "k", {"text": "secret of ada"})
        assert other.get(("users", "ada"), "k") is None
        assert other.search(()) == []
        assert other.search((), query="secret") == []
        assert other.namespaces() == []

    def test_owners_do_not_change_each_others_items(self, store: StoreCalls) -> None:
        other = store.other(self.make_store("eve"))
        store.put(("a",), "k", {"of": "ada"})
        other.put(("a",), "k", {"of": "eve"})
        assert store.value(("a",), "k") == {"of": "ada"}
        other.call("delete", ("a",), "k")
        assert store.value(("a",), "k") == {"of": "ada"}
        assert other.get(("a",), "k") is None


class ExpiringCases(StoreCase):
    def test_an_item_is_gone_when_its_time_is_over(self, store: StoreCalls) -> None:
        store.put(("a",), "short", {"text": "word"}, ttl=10)
        store.put(("b",), "long", {"text": "word"})
        self.later(9)
        assert store.keys((), refresh_ttl=False) == ["long", "short"]
        self.later(2)
        assert store.get(("a",), "short") is None
        assert store.keys(()) == ["long"]
        assert store.keys((), query="word") == ["long"]
        assert store.namespaces() == [("b",)]

    @pytest.mark.parametrize("refresh", [True, False, None])
    def test_reading_lets_an_item_live_on_unless_told_not_to(self, store: StoreCalls, refresh: bool | None) -> None:
        store.put(("a",), "got", {}, ttl=10)
        store.put(("b",), "found", {}, ttl=10)
        self.later(6)
        assert store.get(("a",), "got", refresh_ttl=refresh) is not None
        assert store.keys(("b",), refresh_ttl=refresh) == ["found"]
        self.later(6)
        assert store.keys(()) == ([] if refresh is False else ["found", "got"])

    def test_what_is_over_cannot_be_brought_back_by_reading(self, store: StoreCalls) -> None:
        store.put(("a",), "k", {}, ttl=1)
        self.later(2)
        assert store.get(("a",), "k", refresh_ttl=True) is None
        assert store.get(("a",), "k", refresh_ttl=True) is None

    def test_a_put_decides_anew_how_long_an_item_lives(self, store: StoreCalls) -> None:
        store.put(("a",), "k", {}, ttl=1)
        store.put(("a",), "k", {}, ttl=None)
        self.later(1000)
        assert store.get(("a",), "k") is not None


class WordsCases(StoreCase):
    def test_a_query_ranks_by_words_and_says_how_well_they_fit(self, store: StoreCalls) -> None:
        store.put(("a",), "both", {"notes": ["The cat sleeps."], "deep": {"more": "A red CAT, a red house."}})
        store.put(("a",), "one", {"text": "red wine"})
        store.put(("a",), "none", {"text": "concatenated"})
        found = store.search(("a",), query="Red cat")
        assert [(item.key, item.score) for item in found] == [("both", 1.0), ("one", 0.5)]
        assert [item.key for item in store.search(("a",), query="red cat", limit=1, offset=1)] == ["one"]
        assert store.keys(("a",), query="red cat", filter={"text": "red wine"}) == ["one"]
        assert store.search(("a",), query="?!") == []


class SearchingItemsCases(StoreCase):
    @pytest.fixture
    def shelf(self, store: StoreCalls) -> StoreCalls:
        store.put(("books",), "a", {"pages": 100, "kind": "novel", "author": {"name": "Lem", "born": 1921}})
        store.put(("books", "new"), "b", {"pages": 250, "kind": "novel", "tags": ["x", "y"]})
        store.put(("books", "new", "deep"), "c", {"pages": 99.5, "kind": "essay", "lent": True})
        store.put(("bookshop",), "d", {"pages": 100})
        store.put(("films",), "e", {"kind": "novel"})
        return store

    @pytest.mark.parametrize(
        ("prefix", "keys"),
        [
            ((), ["a", "b", "c", "d", "e"]),
            (("books",), ["a", "b", "c"]),
            (("books", "new"), ["b", "c"]),
            (("book",), []),
            (("new",), []),
        ],
    )
    def test_a_prefix_is_whole_labels(self, shelf: StoreCalls, prefix: tuple[str, ...], keys: list[str]) -> None:
        assert shelf.keys(prefix) == keys

    @pytest.mark.parametrize(
        ("condition", "keys"),
        [
            ({"kind": "novel"}, ["a", "b"]),
            ({"kind": {"$eq": "novel"}}, ["a", "b"]),
            ({"kind": {"$ne": "novel"}}, ["c"]),
            ({"pages": {"$gt": 100}}, ["b"]),
            ({"pages": {"$gte": 100}}, ["a", "b"]),
            ({"pages": {"$lt": 100}}, ["c"]),
            ({"pages": {"$lte": 100}}, ["a", "c"]),
            ({"pages": {"$gt": 99, "$lt": 101}}, ["a", "c"]),
            ({"pages": {"$gt": 99}, "kind": "novel"}, ["a", "b"]),
            ({"author": {"name": "Lem"}}, ["a"]),
            ({"author": {"born": {"$lt": 1950}}, "kind": "novel"}, ["a"]),
            ({"tags": ["x", "y"]}, ["b"]),
            ({"tags": ["x"]}, []),
            ({"lent": True}, ["c"]),
            ({"lent": None}, ["a", "b"]),
            ({"nothing": "here"}, []),
        ],
    )
    def test_filters(self, shelf: StoreCalls, condition: dict[str, Any], keys: list[str]) -> None:
        assert shelf.keys(("books",), filter=condition) == keys

    def test_pages_of_a_search_are_the_whole_without_gaps(self, store: StoreCalls) -> None:
        for n in range(25):
            store.put(("a", str(n % 3)), f"k{n:02}", {"n": n})
        assert len(store.search(("a",))) == 10
        pages = [store.search(("a",), limit=10, offset=offset) for offset in (0, 10, 20, 30)]
        assert [len(page) for page in pages] == [10, 10, 5, 0]
        assert len({item.key for page in pages for item in page}) == 25


class NamespaceCases(StoreCase):
    @pytest.fixture
    def tree(self, store: StoreCalls) -> StoreCalls:
        for namespace in (("a", "b", "c"), ("a", "b", "d"), ("a", "x", "c"), ("ab",), ("z", "c")):
            store.put(namespace, "k", {})
            store.put(namespace, "second", {})
        return store

    @pytest.mark.parametrize(
        ("asked", "expected"),
        [
            ({}, [("a", "b", "c"), ("a", "b", "d"), ("a", "x", "c"), ("ab",), ("z", "c")]),
            ({"prefix": ("a",)}, [("a", "b", "c"), ("a", "b", "d"), ("a", "x", "c")]),
            ({"prefix": ("a", "*", "c")}, [("a", "b", "c"), ("a", "x", "c")]),
            ({"prefix": ("*", "c")}, [("z", "c")]),
            ({"suffix": ("c",)}, [("a", "b", "c"), ("a", "x", "c"), ("z", "c")]),
            ({"suffix": ("b", "*")}, [("a", "b", "c"), ("a", "b", "d")]),
            ({"prefix": ("a",), "suffix": ("c",)}, [("a", "b", "c"), ("a", "x", "c")]),
            ({"max_depth": 1}, [("a",), ("ab",), ("z",)]),
            ({"max_depth": 2, "prefix": ("a",)}, [("a", "b"), ("a", "x")]),
            ({"limit": 2}, [("a", "b", "c"), ("a", "b", "d")]),
            ({"limit": 2, "offset": 4}, [("z", "c")]),
            ({"prefix": ("nothing",)}, []),
            ({"prefix": ("a", "b", "c", "d")}, []),
        ],
    )
    def test_namespaces(self, tree: StoreCalls, asked: dict[str, Any], expected: list[tuple[str, ...]]) -> None:
        assert tree.namespaces(**asked) == expected

    def test_a_namespace_without_items_is_not_listed(self, store: StoreCalls) -> None:
        store.put(("a",), "k", {})
        store.call("delete", ("a",), "k")
        assert store.namespaces() == []


class StoreConformance(KeepingCases, SearchingItemsCases, NamespaceCases):
    """What LangGraph expects of any store."""


class OwnedStoreConformance(StoreConformance, OwnerCases, ExpiringCases, WordsCases):
    """And what Stepwell expects of the stores that its runs are given."""
