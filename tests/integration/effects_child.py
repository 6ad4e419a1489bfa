"""A process that drives an agent with one `once` tool, and may be told to die inside it. Started by test_effects_crash.py.

Arguments: the folder, `first` or `again`, and where to die: `begun` (inside the tool), `done` (its result is journaled, the step is
not stored), `never`.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

from langchain_core.messages import ToolMessage

from stepwell import create_deep_agent
from stepwell.clock import SystemClock
from stepwell.database.checkpoints.saver import SqlSaver
from stepwell.database.effect_journal import SqlEffects
from stepwell.database.sqlite.database import Database
from stepwell.database.types import Lease
from stepwell.testing import ScriptedModel, call, say
from stepwell.tools.effect_journal import JOURNAL
from stepwell.tools.effects import with_effect


class DyingSaver(SqlSaver):
    """Takes the process with it when the tool's result is to be stored."""

    async def aput_writes(self, config, writes, task_id, task_path=""):
        if any(isinstance(value, list) and any(isinstance(one, ToolMessage) for one in value) for _, value in writes):
            os._exit(9)
        await super().aput_writes(config, writes, task_id, task_path)


def lease(database: Database, fence: int) -> Lease:
    def claim(connection):
        connection.execute(
            "INSERT OR IGNORE INTO threads (thread_id, owner, status, metadata, config, created_at, updated_at)"
            " VALUES ('t', 'me', 'busy', '{}', '{}', 0, 0)"
        )
        connection.execute("UPDATE threads SET fence = ?, lease_run = 'r', lease_holder = 'worker'", (fence,))

    database.write_now(claim)
    return Lease("t", "r", fence, "me", "worker")


async def main(folder: Path, time: str, death: str) -> None:
    @with_effect("once")
    def pay(amount: int) -> str:
        """Pay."""
        with (folder / "paid").open("a") as log:
            log.write(f"{amount}\n")
        if death == "begun":
            os._exit(9)
        return f"paid {amount}"

    model = ScriptedModel([call("pay", amount=7), say("end")] if time == "first" else [say("end")])
    database, clock = Database(folder / "stepwell.db"), SystemClock()
    held = lease(database, 1 if time == "first" else 2)
    saver = (DyingSaver if death == "done" else SqlSaver)(database, held, clock=clock)
    agent = create_deep_agent(model, [pay], checkpointer=saver)
    given = {"messages": [("user", "go")]} if time == "first" else None
    config = {"configurable": {"thread_id": "t", JOURNAL: SqlEffects(database, held, clock)}}
    state = await agent.ainvoke(given, config, durability="sync")
    database.close()
    print(json.dumps([[one.text, one.status] for one in state["messages"] if isinstance(one, ToolMessage)]))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], sys.argv[3]))
