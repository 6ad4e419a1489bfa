"""The store suite: searching, and listing namespaces."""

from __future__ import annotations

from typing import Any

import pytest

from stepwell.testing.store_case import StoreCalls, StoreCase


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
