"""The floor: plain `create_agent`, the shortest Python (or the system's own tools) for searches, the runtime of a local model.

The scans are the shortest that find the same rows: no index, no cache, no pattern language, one pass over a dictionary of path
and text. They are the floor of the store's rows too, where merely fetching the files costs more.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain_core.tools import StructuredTool

from benchmarks.contestants.verbs import Decode, Verbs

MODULE = "langchain.agents"
_STAMP = "2026-01-01T00:00:00+00:00"
_SAMPLING = {"temperature": 0, "seed": 1, "top_p": 0.9, "dry_multiplier": 0.8, "dry_allowed_length": 3}
"""What the embedded model asks for, so that both write the same text."""


def agent(model: Any, tools: list[Any], *, checkpointer: Any = None, subagents: int = 0, subagent_model: Any = None) -> Any:
    """A plain agent. With a `subagent_model`, a hand-written `task` over that many others; a count alone does nothing."""
    if subagent_model is not None:
        tools = [*tools, _task_tool({f"worker-{n}": create_agent(subagent_model, tools=tools) for n in range(subagents)})]
    return create_agent(model, tools=tools, checkpointer=checkpointer)


def _task_tool(workers: dict[str, Any]) -> StructuredTool:
    async def task(description: str, subagent_type: str) -> str:
        """Give a task to a subagent."""
        result = await workers[subagent_type].ainvoke({"messages": [("user", description)]})
        return str(result["messages"][-1].content)

    return StructuredTool.from_function(coroutine=task, name="task", description="Give a task to a subagent.")


def file_data(text: str) -> dict[str, Any]:
    return {"content": text, "created_at": _STAMP, "modified_at": _STAMP}


@contextmanager
def state_files(files: dict[str, str]) -> Iterator[Verbs]:
    """A plain dictionary of path and file."""
    held = {path: file_data(text) for path, text in files.items()}
    yield Verbs(
        grep=lambda text: _grep(held, text),
        glob=lambda pattern: _glob(held, pattern),
        ls=lambda folder: _ls(held, folder),
    )


# A plain scan knows no store.
store_files = state_files


@contextmanager
def disk_files(root: Path) -> Iterator[Verbs]:
    """The system's `grep -r`, `find` and `ls`."""

    def count(*command: str) -> int:
        return subprocess.run(command, cwd=root, capture_output=True, check=True).stdout.count(b"\n")

    yield Verbs(
        grep=lambda text: count("grep", "-rnF", text, "."),
        glob=lambda pattern: count("find", ".", "-type", "f", "-name", pattern.removeprefix("**/")),
        ls=lambda folder: count("ls", "-l", "--time-style=full-iso", f".{folder}") - 1,
    )


def local_model(file: Path, *, context: int, threads: int) -> Decode:
    """The runtime itself, loaded, with no more settings than a fair comparison needs."""
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(file)
    parameters.n_ctx = context
    parameters.n_parallel = 1
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = threads
    parameters.warmup = False
    parameters.verbosity = -1
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        parameters.hostnames = [f"{folder}/llama.sock"]  # it always opens an endpoint; a port might be taken
        server = xllamacpp.Server(parameters)

    def decode(question: str, tokens: int, take: Callable[[str], None]) -> None:
        def chunk(piece: dict[str, Any]) -> bool:
            for choice in piece.get("choices", ()):
                if text := (choice.get("delta") or {}).get("content"):
                    take(text)
            return False

        body = {"messages": [{"role": "user", "content": question}], "max_tokens": tokens, "stream": True, **_SAMPLING}
        server.handle_chat_completions(body, chunk)

    return decode


def _grep(files: dict[str, Any], text: str) -> int:
    hits = (path for path, file in files.items() if text in file["content"])
    return sum(line.count(text) > 0 for path in hits for line in files[path]["content"].split("\n"))


def _glob(files: dict[str, Any], pattern: str) -> int:
    suffix = pattern.removeprefix("**/*")
    return len([path for path in files if path.endswith(suffix)])


def _ls(files: dict[str, Any], folder: str) -> int:
    prefix = f"{folder}/"
    return len([path for path in files if path.startswith(prefix) and "/" not in path[len(prefix) :]])
