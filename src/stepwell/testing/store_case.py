"""What every test of the store suite stands on: stores, and their methods in either colour."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from langgraph.store.base import BaseStore, Op, Result, SearchItem

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
    """The methods of a store in one colour."""

    def __init__(self, store: BaseStore, runner: asyncio.Runner, colour: str) -> None:
        self.store = store
        self._runner = runner
        self._colour = colour

    def other(self, store: BaseStore) -> StoreCalls:
        """The same for another store."""
        return StoreCalls(store, self._runner, self._colour)

    def call(self, method: str, *args: Any, **options: Any) -> Any:
        if self._colour == "sync":
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
