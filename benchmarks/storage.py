"""Claim: state grows with the change, not with the whole. SQLite after 100 writes of 10 kB and 100 edits, one tool call per
step.

The agent's own `write_file` and `edit_file` do the work, on LangGraph's stock SQLite saver. Contents are random printable
characters, so that nothing shrinks by luck. *Live bytes* are the bytes of the 100 files as the run left them, and nothing
else: the messages, which hold every written text a second time, count as overhead. The floor has no file tools and does not
take part.

Bytes are measured with all writes before all edits. Time per step is measured with writes and edits taking turns, so that
the first and the last quarter of the run do the same kind of work.
"""

from __future__ import annotations

import json
import random
import string
import tempfile
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks.bench import Bench, Figures, Row, best, ratio
from benchmarks.model import Turn, TurnsModel

FILES = 100
FILE_BYTES = 10_000
LINE_CHARS = 99
EDIT_CHARS = 100


def measure(contestant: ModuleType, *, files: int, taking_turns: bool) -> dict[str, Any]:
    """Bytes of the database after closing it, live bytes, and CPU per step in the first and the last quarter."""
    from langgraph.checkpoint.sqlite import SqliteSaver

    model = TurnsModel(turns=script(files, taking_turns))
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder) / "checkpoints.sqlite"
        with SqliteSaver.from_conn_string(str(database)) as saver:
            agent = contestant.agent(model, [], checkpointer=saver)
            config = {"recursion_limit": 10_000, "configurable": {"thread_id": "storage"}}
            state = agent.invoke({"messages": [("user", "go")]}, config)
        stored = sum(part.stat().st_size for part in Path(folder).iterdir())
    check(state, files)
    file_bytes, message_bytes = live_bytes(state)
    first, last = quarters(model.stamps)
    return {
        "stored_bytes": stored,
        "file_bytes": file_bytes,
        "message_bytes": message_bytes,
        "first_quarter_ms": first,
        "last_quarter_ms": last,
    }


def script(files: int, taking_turns: bool) -> list[Turn]:
    """A write and an edit of every file, each a step of its own."""
    chance = random.Random(7)
    turns: list[Turn] = []
    for number in range(files):
        path, text = f"/work/file-{number:03}.txt", _text(chance, FILE_BYTES)
        at = chance.randrange(1000, FILE_BYTES - 1000)
        turns.append([("write_file", {"file_path": path, "content": text})])
        turns.append(
            [
                (
                    "edit_file",
                    {"file_path": path, "old_string": text[at : at + EDIT_CHARS], "new_string": _text(chance, EDIT_CHARS)},
                )
            ]
        )
    return turns if taking_turns else turns[0::2] + turns[1::2]


def _text(chance: random.Random, length: int) -> str:
    letters = string.ascii_letters + string.digits + string.punctuation + " "
    lines = ["".join(chance.choices(letters, k=LINE_CHARS)) for _ in range(length // (LINE_CHARS + 1) + 1)]
    return "\n".join(lines)[:length]


def check(state: dict[str, Any], files: int) -> None:
    """Every call must have worked, or the bytes mean nothing."""
    failed = [
        m.content for m in state["messages"] if m.type == "tool" and (m.status == "error" or "rror" in str(m.content)[:20])
    ]
    if failed or len(state["files"]) != files:
        raise RuntimeError(f"{len(failed)} calls failed, {len(state['files'])} files kept; first failure: {failed[:1]}")


def live_bytes(state: dict[str, Any]) -> tuple[int, int]:
    """Bytes of the files' text, and of the messages' text and arguments."""
    contents = (file["content"] for file in state["files"].values())
    file_bytes = sum(len((text if isinstance(text, str) else "\n".join(text)).encode()) for text in contents)
    message_bytes = 0
    for message in state["messages"]:
        message_bytes += len(str(message.content).encode())
        message_bytes += sum(
            len(json.dumps(call["args"], ensure_ascii=False).encode()) for call in getattr(message, "tool_calls", [])
        )
    return file_bytes, message_bytes


def quarters(stamps: list[float]) -> tuple[float, float]:
    """Mean CPU milliseconds between two model calls, in the first and in the last quarter."""
    gaps = [after - before for before, after in pairwise(stamps)]
    quarter = len(gaps) // 4
    return 1000 * sum(gaps[:quarter]) / quarter, 1000 * sum(gaps[-quarter:]) / quarter


def rows(bench: Bench) -> list[Row]:
    files = 50 if bench.quick else FILES
    sizes = bench.rounds(
        "storage", {"files": files, "taking_turns": False}, count=1, who=("peer", "ours"), label="storage bytes"
    )
    times = bench.rounds(
        "storage",
        {"files": files, "taking_turns": True},
        count=1 if bench.quick else 2,
        who=("peer", "ours"),
        label="storage time",
    )
    run = f"{files} writes of 10 kB and {files} edits"
    with_messages = ", ".join(
        f"{name} {value:.1f}x" for name in sizes if (value := _per(sizes, name, "file_bytes", "message_bytes"))
    )
    note = f"per byte of files and messages: {with_messages}"
    one_decimal = "{:.1f}x".format
    ours, peer = (_per(sizes, name, "file_bytes") for name in ("ours", "peer"))
    return [
        Row(f"SQLite after {run}, per live byte", "≤ 4x", ours, None, peer, 4.0, form=one_decimal, note=note),
        Row(
            "the same, CPU per step, last quarter to first", "≤ 1.3x", _growth(times, "ours"), None, _growth(times, "peer"), 1.3
        ),
    ]


def _per(figures: Figures, name: str, *kinds: str) -> float | None:
    stored = best(figures, name, "stored_bytes")
    return None if stored is None else ratio(stored, sum(best(figures, name, kind) or 0 for kind in kinds))


def _growth(figures: Figures, name: str) -> float | None:
    return ratio(best(figures, name, "last_quarter_ms"), best(figures, name, "first_quarter_ms"))
