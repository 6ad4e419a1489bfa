"""How `StoreBackend` uses a LangGraph store: how files and folders become items, and how a failing store is reported.

Nothing here knows verbs or the rules of paths. Operations go through `batch` and `abatch`, the two methods that every store has.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, cast

from langgraph.config import get_store
from langgraph.runtime import get_runtime
from langgraph.store.base import BaseStore, GetOp, Item, Op, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore

from stepwell.backends.paths import parents
from stepwell.backends.protocol import FileData
from stepwell.backends.steps import Steps
from stepwell.control_flow import let_pass
from stepwell.errors import BackendError, ConfigurationError

Labels = tuple[str, ...]
Namespace = Labels | Callable[[Any], Labels]
Operations = list[Op]

FIRST_PAGE = 10_000

# For stores without an async form. We cannot use the loop's own executor: sync tools run there, and if all its threads wait for
# one file's lock, the holder of that lock would never get a thread to continue.
_THREADS = ThreadPoolExecutor(max_workers=4, thread_name_prefix="stepwell-store")

_log = logging.getLogger(__name__)


class StoreUnreachableError(Exception):
    """The store raised an error. The text is for the model and names only the kind of failure; the log has the rest."""


@dataclass(frozen=True, slots=True)
class Around:
    """A path's item and what is known about the paths around it."""

    item: Item | None
    file_above: str | None
    folder_named: bool
    unnamed_folders: list[str]


def check_namespace(namespace: object) -> Labels:
    """Check that every store accepts a namespace."""
    if not isinstance(namespace, tuple) or not namespace:
        raise ConfigurationError(
            f"The namespace {namespace!r} of a StoreBackend must be a tuple of labels, such as ('filesystem', 'alice')."
        )
    for label in namespace:
        if not isinstance(label, str) or not label or "." in label:
            raise ConfigurationError(
                f"The label {label!r} in the namespace of a StoreBackend must be text, not empty and without a full stop. "
                "Replace the full stops in ids such as e-mail addresses."
            )
    if namespace[0] == "langgraph":
        raise ConfigurationError(
            "A StoreBackend's namespace cannot start with 'langgraph', which is reserved. Choose another label."
        )
    return namespace


def find_namespace(namespace: Namespace, runtime: Any) -> Labels:
    """The labels, computed from the runtime if they depend on it."""
    if not callable(namespace):
        return namespace
    if runtime is not None:
        return check_namespace(namespace(runtime))
    try:
        runtime = get_runtime()
    except RuntimeError:
        return check_namespace(_outside_a_run(namespace))
    return check_namespace(namespace(runtime))


def _outside_a_run(namespace: Callable[[Any], Labels]) -> Labels:
    """The labels from a function that must not use its runtime, because there is none outside of a run."""
    try:
        return namespace(None)
    except (AttributeError, TypeError, KeyError) as error:
        raise BackendError(
            "This StoreBackend's namespace depends on the run, and no agent runs. Outside of one, give it a runtime to look at: "
            "StoreBackend(namespace=..., runtime=Runtime(store=store, context=...)), with langgraph.runtime.Runtime."
        ) from error


def find_store(runtime: Any) -> BaseStore:
    """The store of a runtime, or of the running graph."""
    try:
        store = runtime.store if runtime is not None else get_store()
    except (RuntimeError, KeyError, AttributeError):
        store = None
    if store is None:
        raise BackendError(
            "StoreBackend has no store. Pass store= to create_deep_agent, or name one with StoreBackend(store=...)."
        )
    return cast("BaseStore", store)


def folders_of(labels: Labels) -> Labels:
    """The namespace whose keys name the folders of `labels`. It is a sibling, since a search in a namespace also covers those below it."""
    return (*labels[:-1], f"{labels[-1]}~folders")


def get(labels: Labels, path: str) -> Steps[Operations, Around]:
    """Find out in one request: a path's item, whether a file is above it, and whether the path and its parents are named as folders."""
    above = list(parents(path))
    folders = folders_of(labels)
    answers: list[Item | None] = yield [
        GetOp(labels, path),
        *(GetOp(labels, parent, refresh_ttl=False) for parent in above),
        *(GetOp(folders, folder, refresh_ttl=False) for folder in (path, *above)),
    ]
    item, files, named, named_above = (
        answers[0],
        answers[1 : 1 + len(above)],
        answers[1 + len(above)],
        answers[2 + len(above) :],
    )
    return Around(
        item=item,
        file_above=next((parent for parent, found in zip(above, files, strict=True) if found is not None), None),
        folder_named=named is not None,
        unnamed_folders=[folder for folder, found in zip(above, named_above, strict=True) if found is None],
    )


@dataclass(frozen=True, slots=True)
class InMemory:
    """The request for a namespace's files if the store holds them in this process; the response is `None` for other stores."""

    labels: Labels

    def read(self, store: BaseStore) -> dict[str, FileData] | None:
        # Only LangGraph's own class: a subclass may answer a search differently. Its search copies every item, which takes ten times as
        # long as looking at them. The list is made at once, because another thread may put an item meanwhile.
        if type(store) is not InMemoryStore:
            return None
        items = list(store._data.get(self.labels, {}).values())
        return {
            item.key: cast("FileData", value)
            for item in items
            if (value := item.value).get("content").__class__ is list or _is_file(value)
        }


def scan(labels: Labels) -> Steps[Operations | InMemory, dict[str, FileData]]:
    """Every file of a namespace.

    We request one large page, because stores sort by time of change, so a file that changes between two pages could be missed. If the page
    is full, we start again with a larger one.
    """
    files: dict[str, FileData] | None = yield InMemory(labels)
    if files is not None:
        return files
    limit = FIRST_PAGE
    while True:
        (items,) = yield [SearchOp(labels, limit=limit, refresh_ttl=False)]
        if len(items) < limit:
            return {item.key: item.value for item in items if item.namespace == labels and _is_file(item.value)}
        limit *= 10


def file_in(item: Item | None) -> FileData | None:
    """The file in an item; None if something else stored a value of another shape there."""
    return cast("FileData", item.value) if item is not None and _is_file(item.value) else None


def _is_file(value: Mapping[str, Any]) -> bool:
    return isinstance(value.get("content"), (list, str))


def put_file(labels: Labels, path: str, data: FileData, index: Literal[False] | list[str] | None) -> PutOp:
    """The operation that stores a file."""
    return PutOp(labels, path, dict(data), index)


def delete_file(labels: Labels, path: str) -> PutOp:
    """The operation that deletes a file."""
    return PutOp(labels, path, None)


def put_folder(labels: Labels) -> Callable[[str], PutOp]:
    """Makes the operation that names a folder."""
    folders = folders_of(labels)
    return lambda folder: PutOp(folders, folder, {"folder": True}, index=False)


def batch(store: BaseStore, operations: Operations) -> list[Any]:
    """Perform operations in sync code."""
    try:
        return _with_retry(store, _with_ttl(store, operations))
    except Exception as error:
        let_pass(error)
        raise _unreachable(error) from error


async def abatch(store: BaseStore, operations: Operations) -> list[Any]:
    """Perform operations in async code; a store without an async form works in a thread."""
    operations = _with_ttl(store, operations)
    try:
        try:
            return await store.abatch(operations)
        except NotImplementedError:
            work = partial(copy_context().run, _with_retry, store, operations)
            return await asyncio.get_running_loop().run_in_executor(_THREADS, work)
    except Exception as error:
        let_pass(error)
        raise _unreachable(error) from error


def _with_retry(store: BaseStore, operations: Operations) -> list[Any]:
    # An in-memory store iterates over its dict without a lock, so a put in another thread can break a search; retrying a read is safe.
    reads_only = not any(isinstance(operation, PutOp) for operation in operations)
    for _ in range(3 if reads_only else 0):
        try:
            return store.batch(operations)
        except RuntimeError:
            continue
    return store.batch(operations)


def _with_ttl(store: BaseStore, operations: Operations) -> Operations:
    """Apply the store's default TTL, because `batch` does not do that, unlike `put`."""
    ttl = (store.ttl_config or {}).get("default_ttl")
    if ttl is None:
        return operations
    return [operation._replace(ttl=ttl) if isinstance(operation, PutOp) else operation for operation in operations]


def _unreachable(error: Exception) -> StoreUnreachableError:
    _log.warning("A store operation failed", exc_info=error)
    return StoreUnreachableError(f"the store failed ({type(error).__name__})")
