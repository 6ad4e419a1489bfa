"""A process that works on files, goes back or goes on, and may be told to die at its n-th change of a file or of the journal. Started by
test_rewind_crash.py.

Arguments: the folder, what to do (`turn`, `back`, `on`), the fence of its lease, and after how many steps to die (0: never).
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import sys
from pathlib import Path
from typing import Any

from langchain_core.messages import HumanMessage

from stepwell import RewindMiddleware, arewind, create_deep_agent
from stepwell.backends import FilesystemBackend
from stepwell.clock import SystemClock
from stepwell.database.checkpoints.saver import SqlSaver
from stepwell.database.file_journal import SqlFileJournal
from stepwell.database.sqlite.database import Database
from stepwell.database.types import Lease
from stepwell.testing import Asked, ScriptedModel, call
from stepwell.tools.rewind.journal import FILE_JOURNAL

CALLS: list[Any] = [
    call("write_file", file_path="/a.md", content="new", overwrite=True),
    call("edit_file", file_path="/b.md", old_string="old", new_string="new"),
    call("delete", file_path="/c.md"),
    call("move", source="/d", destination="/e"),
    call("write_file", file_path="/f.md", content="new"),
]


def work(asked: Asked) -> Any:
    done = sum(message.type == "tool" for message in asked.messages)
    return CALLS[done] if done < len(CALLS) else "done"


class Death:
    """Ends the process at a certain step, before or after it is done."""

    def __init__(self, step: int) -> None:
        self._steps, self._last = itertools.count(1), step

    def near(self, doing: Any) -> Any:
        def run(*args: Any, **options: Any) -> Any:
            step = next(self._steps)
            if step == self._last:
                os._exit(9)
            result = doing(*args, **options)
            if hasattr(result, "result"):
                result.result()
            if next(self._steps) == self._last:
                os._exit(9)
            return result

        return run


def lease(database: Database, fence: int) -> Lease:
    def claim(connection: Any) -> None:
        connection.execute(
            "INSERT OR IGNORE INTO threads (thread_id, owner, status, metadata, config, created_at, updated_at)"
            " VALUES ('t', 'me', 'busy', '{}', '{}', 0, 0)"
        )
        connection.execute("UPDATE threads SET fence = ?, lease_run = 'r', lease_holder = 'worker'", (fence,))

    database.write_now(claim)
    return Lease("t", "r", fence, "me", "worker")


async def main(folder: Path, doing: str, fence: int, step: int) -> None:
    database, clock, death = Database(folder / "stepwell.db"), SystemClock(), Death(step)
    held = lease(database, fence)
    journal: Any = SqlFileJournal(database, "t", held, clock)
    backend: Any = FilesystemBackend(folder / "files")
    for verb in ("write", "edit", "delete", "move"):
        setattr(backend, verb, death.near(getattr(backend, verb)))
    for verb in ("mark", "begin", "drop"):
        setattr(journal, verb, death.near(getattr(journal, verb)))
    agent = create_deep_agent(
        ScriptedModel.answering(work),
        backend=backend,
        middleware=[RewindMiddleware()],
        checkpointer=SqlSaver(database, held, clock=clock),
    )
    config: Any = {"configurable": {"thread_id": "t", FILE_JOURNAL: journal}}
    if doing == "turn":
        await agent.ainvoke({"messages": [HumanMessage("hello", id="m1")]}, config, durability="sync")
    elif doing == "on":
        await agent.ainvoke(None, config, durability="sync")
    else:
        report = await arewind(agent, config, "m1")
        assert report["can_rewind"], report
    state = await agent.aget_state(config)
    database.close()
    print(json.dumps([message.text for message in state.values.get("messages", [])]))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
