"""A user's data can be had whole, and nobody else's is in it."""

from __future__ import annotations

import asyncio
from base64 import b64decode
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest

from stepwell.database.queue.types import Admission, ClaimedRun
from stepwell.database.types import SYSTEM, Assistant, ModelUsage, Run, RunOutcome, RunRequest
from stepwell.research.audit.trail import NewEntry
from stepwell.research.database_vault import SqlVault

from .thread_world import ANN, BOB, World, open_world

MOMENT = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with open_world(tmp_path) as world:
        yield world


async def _exported(world: World, owner: str) -> list[dict[str, Any]]:
    lines = [line async for line in world.threads.export(owner)]
    assert all(line.endswith(b"\n") and line.count(b"\n") == 1 for line in lines)
    return [orjson.loads(line) for line in lines]


async def _live(world: World, owner: str) -> None:
    """One of everything, with the owner's name in it."""
    records = world.persistence.records
    thread = await world.threads.create(owner, metadata={"of": owner})
    await world.run(thread.thread_id, "words", {"way": "inner", "words": [f"word of {owner}"]}, owner=owner)
    await world.persistence.store(owner).aput(("notes",), "n1", {"text": f"note of {owner}"})
    assistant = Assistant(f"assistant-{owner}", "words", owner, f"helper of {owner}", MOMENT, MOMENT)
    await records.create_assistant(assistant, if_exists="raise")
    await records.save_assistant_version(owner, replace(assistant, name=f"better helper of {owner}"))
    request = RunRequest(assistant.assistant_id, "words", input={"words": [f"asked by {owner}"]})
    run = Run(f"run-{owner}", thread.thread_id, owner, request, "pending", MOMENT, MOMENT)
    await world.persistence.queue.admit(Admission(run))
    await _drive(world)


async def _drive(world: World) -> None:
    """End the run that waits, with a bill."""
    queue, draining = world.persistence.queue, asyncio.Event()

    async def drive(claim: ClaimedRun) -> None:
        used = ModelUsage("small-model", calls=1, input_tokens=20, output_tokens=3, cost_usd=0.5)
        await queue.finish(claim.lease, RunOutcome("success", "idle", usage=[used]))
        draining.set()

    await asyncio.wait_for(queue.work(drive, worker="w", concurrency=1, draining=draining), timeout=60)


async def test_an_export_has_everything_of_a_user_and_nothing_of_another(world: World) -> None:
    """Tenancy: a user's data can be exported whole."""
    for owner in (ANN, BOB):
        await _live(world, owner)
    everybodys = Assistant("assistant-of-all", "words", SYSTEM, "words", MOMENT, MOMENT)
    await world.persistence.records.create_assistant(everybodys, if_exists="raise")
    lines = await _exported(world, ANN)
    kinds = [line["kind"] for line in lines]
    assert kinds[0] == "export"
    assert set(kinds) == {"export", "assistant", "assistant_version", "thread", "state", "checkpoint", "run", "item", "usage"}
    text = orjson.dumps(lines).decode()
    for thing in ("word of", "note of", "better helper of", "asked by"):
        assert f"{thing} {ANN}" in text
    assert BOB not in text
    assert [line["version"] for line in lines if line["kind"] in ("assistant", "assistant_version")] == [2, 1]
    (used,) = [line for line in lines if line["kind"] == "usage"]
    assert (used["run_id"], used["model"], used["input_tokens"], used["cost_usd"]) == (f"run-{ANN}", "small-model", 20, 0.5)


async def test_an_export_has_the_state_of_subgraphs_and_the_whole_history(world: World) -> None:
    await _live(world, ANN)
    lines = await _exported(world, ANN)
    (state,) = [line["state"] for line in lines if line["kind"] == "state"]
    assert state["tasks"][0]["state"]["interrupts"]
    history = await world.threads.history(ANN, state["checkpoint"]["thread_id"], limit=100)
    exported = [line["checkpoint"] for line in lines if line["kind"] == "checkpoint"]
    assert exported == [earlier["checkpoint"] for earlier in history]


async def test_an_export_has_the_evidence_of_a_research_with_its_bytes(world: World) -> None:
    page = b"what the page said\x00\xff"
    for owner in (ANN, BOB):
        thread = await world.threads.create(owner)
        async with world.persistence.queue.hold(owner, thread.thread_id, "test") as lease:
            vault = SqlVault(world.persistence.database, thread.thread_id, lease)
            kept = await vault.put(page + owner.encode())
            await vault.append(
                NewEntry("question", "q", {"text": f"asked by {owner}", "page": {"of": [kept]}, "other": "0" * 64})
            )
    lines = await _exported(world, ANN)
    (entry,) = [line["entry"] for line in lines if line["kind"] == "trail"]
    assert (entry["key"], entry["data"]["text"]) == ("q", f"asked by {ANN}")
    (evidence,) = [line for line in lines if line["kind"] == "evidence"]
    assert b64decode(evidence["content"]) == page + ANN.encode()


async def test_a_long_history_is_exported_to_its_beginning(world: World) -> None:
    thread = await world.threads.create(ANN, graph_id="words")
    for n in range(120):
        await world.threads.update_state(ANN, thread.thread_id, values={"words": [str(n)]}, as_node="outer")
    steps = [line["metadata"]["step"] for line in await _exported(world, ANN) if line["kind"] == "checkpoint"]
    assert steps == list(range(119, -1, -1))


async def test_a_thread_whose_graph_is_gone_is_exported_with_its_last_values(world: World) -> None:
    thread = await world.threads.create(ANN)
    await world.run(thread.thread_id, "words", {"way": "ends"})
    await world.threads.update(ANN, thread.thread_id, {"graph_id": "gone"})
    lines = {line["kind"]: line for line in await _exported(world, ANN)}
    assert lines["thread"]["values"]["words"] == ["first", "outer"]
    assert lines["state"]["state"] is None
    assert "No graph 'gone'" in lines["state"]["missing_because"]


async def test_who_has_nothing_gets_a_heading_only(world: World) -> None:
    await _live(world, BOB)
    (heading,) = await _exported(world, ANN)
    assert (heading["kind"], heading["owner"]) == ("export", ANN)
