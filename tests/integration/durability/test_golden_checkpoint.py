"""What every release has stored is opened, read and resumed by the code of today, open interrupts included; on Postgres too, after a move.

A file that fails here holds threads of real users. Fix the code, not the file: see "Golden databases" in CONTRIBUTING.md.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.fixtures.golden.opening import HERE, OWNER, THREADS, Golden, open_golden

from stepwell.database.moving.move import move
from stepwell.database.moving.postgres_side import PostgresTarget
from stepwell.database.moving.sqlite_side import SqliteSource
from stepwell.database.sqlite.database import Database
from stepwell.payments.ledger.database import DatabaseLedger
from stepwell.payments.wallet.wallet import Wallet
from stepwell.research.database_vault import SqlVault
from stepwell.testing import MemoryMint

RELEASES = sorted(HERE.glob("*.db"))
APPROVE = {"decisions": [{"type": "approve"}]}


@pytest.fixture(
    params=[(path, engine) for path in RELEASES for engine in ("sqlite", "postgres")],
    ids=lambda which: f"{which[0].stem}-{which[1]}",
)
async def golden(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Golden]:
    """The file, or what became of it when it was moved to Postgres."""
    path, engine = request.param
    place: Path | str = tmp_path / "stepwell.db"
    shutil.copy(path, place)
    if engine == "postgres":
        url = request.getfixturevalue("postgres_url")
        Database(tmp_path / "stepwell.db").close()  # to the newest form
        with SqliteSource(tmp_path / "stepwell.db") as source, PostgresTarget(url, "tests") as target:
            move(source, target, lambda *_: None)
        place = url
    async with open_golden(place) as opened:
        yield opened


async def values_of(golden: Golden, name: str) -> Any:
    return (await golden.threads.state(OWNER, THREADS[name]))["values"]


async def questions_of(golden: Golden, name: str) -> list[str]:
    thread = await golden.persistence.records.get_thread(OWNER, THREADS[name])
    assert thread.status == "interrupted"
    return [question.interrupt_id for question in thread.interrupts]


def texts(values: Any, kind: str) -> list[str]:
    return [message["content"] for message in values["messages"] if message["type"] == kind]


def test_there_is_one_of_this_release() -> None:
    assert RELEASES, "run scripts/golden_checkpoint.py"


@pytest.mark.parametrize("path", RELEASES, ids=lambda path: path.stem)
def test_it_is_small_and_names_no_machine(path: Path) -> None:
    assert path.stat().st_size < 1_000_000
    content = path.read_bytes()
    assert [
        word for word in (b"/tmp/", b"/home/", b"/root", b"site-packages", str(Path.home()).encode()) if word in content
    ] == []


async def test_a_finished_thread_is_read_and_goes_on(golden: Golden) -> None:
    assert texts(await values_of(golden, "plain"), "ai") == ["heard: one", "heard: two"]
    history = await golden.threads.history(OWNER, THREADS["plain"], limit=100)
    assert len(history) == 6, "input, start and answer of each of two runs"
    assert texts(await golden.say("plain", "three"), "ai") == ["heard: one", "heard: two", "heard: three"]


async def test_an_agents_files_plan_and_summary_are_read_and_go_on(golden: Golden) -> None:
    values = await values_of(golden, "deep")
    assert sorted(values["files"]) == [f"/notes/{name}.md" for name in ("steps", "stone", "water", "wells")]
    assert values["todos"] == [{"content": "stone", "status": "completed"}]
    assert texts(values, "human") == ["wells", "steps", "water", "stone"]
    assert values["summary"]["text"] == "They talked about wells."
    values = await golden.say("deep", "light")
    assert "/notes/light.md" in values["files"]
    assert len(values["files"]) == 5


async def test_an_open_approval_is_given_and_the_agent_goes_on(golden: Golden) -> None:
    (question,) = await questions_of(golden, "approving")
    values = await golden.run("approving", command={"resume": {question: APPROVE}})
    assert texts(values, "ai")[-1] == "done: note"
    assert list(values["files"]) == ["/note.md"]


async def test_open_approvals_of_two_subagents_are_given_one_by_one(golden: Golden) -> None:
    first, second = await questions_of(golden, "delegating")
    await golden.run("delegating", command={"resume": {first: APPROVE}})
    assert await questions_of(golden, "delegating") == [second]
    values = await golden.run("delegating", command={"resume": {second: APPROVE}})
    assert texts(values, "ai")[-1] == "both are back"
    assert sorted(values["files"]) == ["/left.md", "/right.md"]
    assert sorted(texts(values, "tool")) == ["done: left", "done: right"]


async def test_a_question_inside_a_subgraph_is_answered(golden: Golden) -> None:
    (question,) = await questions_of(golden, "nested")
    state = await golden.threads.state(OWNER, THREADS["nested"], subgraphs=True)
    assert state["tasks"][0]["state"]["values"] == {"depth": 2}
    assert await golden.run("nested", command={"resume": {question: "water"}}) == {"depth": 3, "word": "water"}


@pytest.mark.parametrize("path", RELEASES, ids=lambda path: path.stem)
def test_the_file_itself_is_sound(path: Path) -> None:
    connection = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()


async def test_evidence_is_read(golden: Golden) -> None:
    (entry,) = await SqlVault(golden.persistence.database, THREADS["plain"]).entries()
    assert await SqlVault(golden.persistence.database, THREADS["plain"]).get(entry.data["sha256"]) == b"A stepwell holds water."


async def test_money_is_there_and_pays(golden: Golden) -> None:
    wallet = Wallet(DatabaseLedger(golden.persistence.database), [MemoryMint()], bytes(32), pause_s=0)
    ((session_id,),) = await golden.persistence.database.read(
        lambda connection: connection.execute(
            "SELECT session_id FROM payment_threads WHERE thread_id = ?", (THREADS["plain"],)
        ).fetchall()
    )
    assert (await wallet.session(OWNER, session_id)).available == 90
    await wallet.settle(await wallet.reserve(OWNER, session_id, "another-call", 20), 20)
    assert (await wallet.session(OWNER, session_id)).available == 70
