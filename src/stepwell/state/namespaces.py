"""Which nested namespaces a compacted thread still needs.

A graph that runs inside a task of another stores its checkpoints under a namespace: `tools:<task id>`, and deeper ones with
further parts behind `|`. Its metadata names the checkpoint of the thread that the task belongs to. Such a namespace is needed as
long as the task may go on: its checkpoint stays, and the task has not delivered. It is then kept whole, deeper parts included.

A namespace whose first part has no task id belongs to a graph with a memory of its own (`checkpointer=True`), which every later
call goes on from: it is never touched.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from stepwell.backends.steps import Steps
from stepwell.state.history import Key, ListWriters, Load, Loaded, Request, Row

_PART_END = "|"
_ID_START = ":"
# LangGraph's marks on a task that paused, failed, was scheduled or got an answer; any other write is the task's result.
_NOT_A_RESULT = frozenset({"__interrupt__", "__error__", "__scheduled__", "__resume__", "__error_source_node__"})


def surviving_namespaces(rows: Iterable[Row], kept: Collection[str]) -> Steps[Request, set[str]]:
    """The nested namespaces that stay, when of the thread's own checkpoints these are kept."""
    samples: dict[str, Key] = {}
    namespaces: dict[str, set[str]] = {}
    for row in rows:
        if row.key.namespace:
            task = row.key.namespace.split(_PART_END, 1)[0]
            namespaces.setdefault(task, set()).add(row.key.namespace)
            if row.has_checkpoint:
                samples[task] = row.key
    surviving: set[str] = set()
    for task, names in namespaces.items():
        if _ID_START not in task or (task in samples and (yield from _is_pending(task, samples[task], kept))):
            surviving |= names
    return surviving


def _is_pending(task: str, sample: Key, kept: Collection[str]) -> Steps[Request, bool]:
    loaded: Loaded = yield Load(sample)
    owner = (loaded.metadata.get("parents") or {}).get("")
    if owner is None or owner not in kept:
        return False
    task_id = task.rsplit(_ID_START, 1)[1]
    writers: list[tuple[str, str]] = yield ListWriters(Key("", owner))
    return not any(writer == task_id and channel not in _NOT_A_RESULT for writer, channel in writers)
