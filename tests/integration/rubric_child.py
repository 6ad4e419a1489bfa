"""An agent whose answer is checked, in a process that may be told to stand still before one of its steps, to be killed there.

Every step (a call of a model, a check, a tool) writes a line to a log when it begins and when it ends. The steps:
model, source, length | model, source, length, judge, look, judge
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import threading
from pathlib import Path
from typing import Any

from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from stepwell import RubricMiddleware, create_deep_agent
from stepwell.testing import ScriptedModel, call, say

THREAD: Any = {"configurable": {"thread_id": "t"}}
STEPS = 9
ANSWERS = ("1890.", "1890. Source: the plaque.")


class Log:
    def __init__(self, folder: Path, stand_still_at: int) -> None:
        self._path, self._at = folder / "log", stand_still_at
        self._begun = 0

    def begin(self, what: str) -> None:
        self._begun += 1
        if self._begun == self._at:
            self._write(f"still {what}")
            threading.Event().wait()
        self._write(f"begin {what}")

    def end(self, what: str) -> None:
        self._write(f"end {what}")

    def _write(self, line: str) -> None:
        with self._path.open("a") as file:
            file.write(f"{line}\n")


def build(log: Log, saver: Any) -> Any:
    def answer(asked: Any) -> Any:
        log.begin("model")
        text = ANSWERS[1] if asked.mentions("names no source") else ANSWERS[0]
        log.end(f"model {text}")
        return say(text)

    def judge(asked: Any) -> Any:
        log.begin("judge")
        has_looked = asked.mentions("built in 1890")
        log.end(f"judge {has_looked}")
        if not has_looked:
            return call("look", what="plaque")
        return call("GraderResponse", result="satisfied", explanation="Right.", criteria=[{"name": "right", "passed": True}])

    def check(name: str, says: Any) -> Any:
        def asked(state: Any) -> Any:
            log.begin(name)
            said = says(state["messages"][-1].text)
            log.end(f"{name} {state['messages'][-1].text}")
            return said

        return asked

    @tool
    def look(what: str) -> str:
        """Look at something."""
        log.begin("look")
        log.end("look")
        return "built in 1890"

    checks = {
        "source": check("source", lambda text: None if "Source" in text else "The answer names no source."),
        "length": check("length", lambda text: None),
    }
    checked = RubricMiddleware(checks=checks, rubric="- right", model=ScriptedModel.answering(judge), tools=[look])
    return create_deep_agent(ScriptedModel.answering(answer), middleware=[checked], checkpointer=saver)


def work(folder: str, stand_still_at: int, is_async: bool) -> None:
    """Begin, or go on with what is there; leaves what there is at the end in `result.json`."""
    place = Path(folder)
    log = Log(place, stand_still_at)
    state = asyncio.run(_awork(place, log)) if is_async else _work(place, log)
    (place / "result.json").write_text(json.dumps(state))


def _work(place: Path, log: Log) -> Any:
    with SqliteSaver.from_conn_string(str(place / "db")) as saver:
        agent = build(log, saver)
        begun = bool(agent.get_state(THREAD).values)
        return _told(agent.invoke(None if begun else _input(), THREAD, durability="sync"))


async def _awork(place: Path, log: Log) -> Any:
    async with AsyncSqliteSaver.from_conn_string(str(place / "db")) as saver:
        agent = build(log, saver)
        begun = bool((await agent.aget_state(THREAD)).values)
        return _told(await agent.ainvoke(None if begun else _input(), THREAD, durability="sync"))


def _input() -> Any:
    return {"messages": [HumanMessage("How old is the bridge?", id="u1")]}


def _told(state: Any) -> Any:
    return {"messages": [message.text for message in state["messages"]], "checks": list(state["checks"].values())}


def count_stored(folder: Path) -> int:
    """How many results of graders are stored."""
    if not (folder / "db").exists():
        return 0
    with sqlite3.connect(folder / "db", timeout=60) as database:
        try:
            (found,) = database.execute("SELECT count(*) FROM writes WHERE channel = '__return__'").fetchone()
        except sqlite3.OperationalError:
            return 0
    return int(found)
