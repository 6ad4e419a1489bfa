"""The peer: deepagents, in an environment of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from deepagents import create_deep_agent
from deepagents.backends import FilesystemBackend, StateBackend, StoreBackend
from langgraph.store.memory import InMemoryStore

from benchmarks.contestants.inside import inside_graph
from benchmarks.contestants.verbs import Verbs

MODULE = "deepagents"
_STAMP = "2026-01-01T00:00:00+00:00"


def agent(model: Any, tools: list[Any], *, checkpointer: Any = None, subagents: int = 0, subagent_model: Any = None) -> Any:
    shared = {"system_prompt": "Work.", "tools": tools, "model": subagent_model or model}
    specs: list[Any] = [{"name": f"worker-{n}", "description": f"Worker {n}.", **shared} for n in range(subagents)]
    return create_deep_agent(model, tools=tools, subagents=specs, checkpointer=checkpointer)


def file_data(text: str) -> dict[str, Any]:
    return {"content": text, "encoding": "utf-8", "created_at": _STAMP, "modified_at": _STAMP}


@contextmanager
def state_files(files: dict[str, str]) -> Iterator[Verbs]:
    with inside_graph(agent, {path: file_data(text) for path, text in files.items()}, _verbs(StateBackend())) as verbs:
        yield verbs


@contextmanager
def store_files(files: dict[str, str]) -> Iterator[Verbs]:
    store = InMemoryStore()
    for path, text in files.items():
        store.put(("files",), path, file_data(text))
    backend = StoreBackend(store=store, namespace=lambda runtime: ("files",))
    with inside_graph(agent, {}, _verbs(backend)) as verbs:
        yield verbs


@contextmanager
def disk_files(root: Path) -> Iterator[Verbs]:
    yield _verbs(FilesystemBackend(root_dir=root, virtual_mode=True))


def _verbs(backend: Any) -> Verbs:
    return Verbs(
        grep=lambda text: len(_rows(backend.grep(text, "/")).matches),
        glob=lambda pattern: len(_rows(backend.glob(pattern, "/")).matches),
        ls=lambda folder: len(_rows(backend.ls(folder)).entries),
    )


def _rows(result: Any) -> Any:
    if result.error:
        raise RuntimeError(result.error)
    return result
