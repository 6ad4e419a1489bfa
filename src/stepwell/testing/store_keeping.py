"""The store suite: items are kept, apart for each owner, and for as long as they should live."""

from __future__ import annotations

from typing import Any

import pytest
from langgraph.store.base import GetOp, InvalidNamespaceError, ListNamespacesOp, PutOp, SearchOp

from stepwell.testing.store_case import StoreCalls, StoreCase

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
