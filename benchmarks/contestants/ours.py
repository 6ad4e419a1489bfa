"""Ours: Stepwell, through its public names only."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from langgraph.store.memory import InMemoryStore

from benchmarks.contestants.inside import inside_graph
from benchmarks.contestants.verbs import Decode, Verbs
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


def local_model(file: Path, *, context: int, threads: int) -> Decode:
    """The embedded model, loaded. Its context is the catalogue's own, which must be the one asked for."""
    from stepwell.errors import AnswerCutError
    from stepwell.models import DEFAULT_LOCAL_MODEL, EmbeddedChatModel, LocalModels, find_local_model

    known = find_local_model(DEFAULT_LOCAL_MODEL)
    if known is None or known.capabilities.context != context:
        raise RuntimeError(f"The default model has another context than {context} tokens.")
    models = LocalModels(file.parent, threads=threads)
    models.load(DEFAULT_LOCAL_MODEL)
    model = EmbeddedChatModel(local_models=models, temperature=0, seed=1)

    def decode(question: str, tokens: int, take: Callable[[str], None]) -> None:
        with suppress(AnswerCutError):  # the ceiling is the point here
            for chunk in model.stream(question, max_tokens=tokens):
                if chunk.content:
                    take(str(chunk.content))

    return decode


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
