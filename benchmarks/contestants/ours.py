"""Ours: Stepwell, through its public names only."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from langgraph.store.memory import InMemoryStore

from benchmarks.contestants.inside import inside_graph
from benchmarks.contestants.verbs import Verbs
from stepwell import FilesystemBackend, StateBackend, StoreBackend, create_deep_agent

MODULE = "stepwell"
_STAMP = "2026-01-01T00:00:00+00:00"


def agent(model: Any, tools: list[Any], *, checkpointer: Any = None, subagents: int = 0, subagent_model: Any = None) -> Any:
    shared = {"system_prompt": "Work.", "tools": tools, "model": subagent_model or model}
    specs: list[Any] = [{"name": f"worker-{n}", "description": f"Worker {n}.", **shared} for n in range(subagents)]
    return create_deep_agent(model, tools=tools, subagents=specs, checkpointer=checkpointer)


def file_data(text: str) -> dict[str, Any]:
    return {"content": text.split("\n"), "created_at": _STAMP, "modified_at": _STAMP}


@contextmanager
def state_files(files: dict[str, str]) -> Iterator[Verbs]:
    with inside_graph(agent, {path: file_data(text) for path, text in files.items()}, _verbs(StateBackend())) as verbs:
        yield verbs


@contextmanager
def store_files(files: dict[str, str]) -> Iterator[Verbs]:
    store = InMemoryStore()
    backend = StoreBackend(store=store, namespace=("files",))
    # Through the backend's own verb: how it lays files out in a store is its own affair.
    for path, text in files.items():
        backend.write(path, text)
    with inside_graph(agent, {}, _verbs(backend)) as verbs:
        yield verbs


@contextmanager
def disk_files(root: Path) -> Iterator[Verbs]:
    yield _verbs(FilesystemBackend(root_dir=root, virtual_mode=True))


def _verbs(backend: Any) -> Verbs:
    return Verbs(
        grep=lambda text: len(_rows(backend.grep_raw(text, "/"))),
        glob=lambda pattern: len(_rows(backend.glob_info(pattern, "/"))),
        ls=lambda folder: len(_rows(backend.ls_info(folder))),
    )


def _rows(result: Any) -> Any:
    error = result if isinstance(result, str) else getattr(result, "error", None)
    if error:
        raise RuntimeError(error)
    return result
