"""A random history of one research thread on a real engine: questions, edited and rejected plans, questions sent again from an earlier
checkpoint, old gates answered anew, rollbacks, stops, restarts. What must hold afterwards: `check` says where trail, plan, report, bundle
and the thread's own state disagree."""

from __future__ import annotations

import asyncio
import json
import random
import re
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import orjson

from stepwell.clock import SystemClock
from stepwell.database.sqlite.persistence import EmbeddedPersistence
from stepwell.errors import RunError
from stepwell.models.routing import ModelRoutes
from stepwell.research.audit.bundle import BundleReader, write_bundle
from stepwell.research.audit.signing import SigningKey
from stepwell.research.audit.story import evidence_of, story_of
from stepwell.research.audit.verify import verify_bundle
from stepwell.research.database_vault import SqlVault
from stepwell.research.evidence.equipment import Equipment
from stepwell.research.gate import EvidenceGate
from stepwell.research.graph.graph import build_graph
from stepwell.runs.assistants import Assistants
from stepwell.runs.engine import Engine, EngineOptions
from stepwell.runs.graphs.registry import GraphRegistry
from stepwell.runs.graphs.sources import GraphSource
from stepwell.runs.starting import RunOrder
from stepwell.runs.threads.operations import Threads
from stepwell.testing import Asked, ScriptedModel

from .roles import Roles, plan

OWNER = "somebody"
GRAPH = "research"
_MOST_STATES = 60


def new_id() -> str:
    return str(uuid.uuid4())


def models_about(subjects: list[str]) -> ModelRoutes:
    """Plans searches for whatever subject the question, or the reason against the last plan, names last; audits and judges kindly."""

    def reply(asked: Asked) -> str:
        named = re.findall("|".join(map(re.escape, subjects)), asked.human)
        return plan(*dict.fromkeys(named[-2:] or subjects[:1]))

    roles = Roles(judge=lambda asked: "partial" if len(asked) % 3 == 0 else "supported")
    return ModelRoutes(plan=ScriptedModel.answering(reply), audit=roles.auditor, write=roles.writer)


class ResearchHistory:
    """`await ResearchHistory(...).live(steps)`; `wrong` has what was not as it must be."""

    def __init__(self, folder: Path, seed: int, equipment: Equipment, subjects: list[str]) -> None:
        self._folder = folder
        self._chance = random.Random(seed)
        self._equipment = equipment
        self._subjects = subjects
        self._thread = new_id()
        self._key = SigningKey(folder)
        self._open = AsyncExitStack()
        self._moved_back = False
        """Whether the thread's state may be older than the trail's last report."""
        self.happened: Counter[str] = Counter()
        self.wrong: list[str] = []

    async def live(self, steps: int) -> None:
        doings: list[tuple[Callable[[], Awaitable[str | None]], int]] = [
            (self._ask, 3), (self._answer, 12), (self._send_again, 3), (self._open_gate_again, 3),
            (self._roll_back, 1), (self._stop, 1), (self._go_on, 2), (self._restart, 1),
        ]  # fmt: skip
        await self._start()
        try:
            await self._ask()
            for _ in range(steps):
                [(do, _)] = self._chance.choices(doings, [weight for _, weight in doings])
                try:
                    done = await do()
                except RunError:  # what cannot be done now is refused in words; the next thing is tried
                    done = None
                self.happened.update([done] if done else [])
            await self._finish()
            await self._check()
        finally:
            await self._open.aclose()

    async def _start(self) -> None:
        clock = SystemClock()
        self._open = AsyncExitStack()
        self._persistence = await self._open.enter_async_context(EmbeddedPersistence(self._folder / "research.db"))
        registry = GraphRegistry({GRAPH: GraphSource.of(build_graph(self._equipment))})
        assistants = Assistants(self._persistence.records, registry, clock, new_id)
        await assistants.install_defaults()
        self._threads = Threads(self._persistence, registry, clock, new_id)
        engine = Engine(
            self._persistence,
            registry,
            assistants,
            clock=clock,
            new_id=new_id,
            options=EngineOptions(drain_s=0.0),
            gates=[EvidenceGate(self._persistence)],
        )
        self._engine = await self._open.enter_async_context(engine)

    async def _begin(self, **order: Any) -> str:
        wanted = RunOrder(GRAPH, thread_id=self._thread, if_not_exists="create", **order)
        return (await self._engine.start(OWNER, wanted)).run.run_id

    async def _run(self, **order: Any) -> None:
        result = orjson.loads(await self._engine.result(OWNER, self._thread, await self._begin(**order)))
        if "__error__" in (result or {}):
            self.wrong.append(f"a run failed: {result['__error__']}")

    async def _values(self) -> dict[str, Any]:
        return dict((await self._threads.get(OWNER, self._thread)).values or {})

    async def _interrupt(self) -> Any:
        await self._settle()
        waiting = (await self._threads.get(OWNER, self._thread)).interrupts
        return waiting[0] if waiting else None

    async def _settle(self) -> None:
        """Wait for what a restart has taken up again."""
        for run_id in await self._persistence.records.open_runs(OWNER, self._thread, None):
            await self._persistence.queue.finished(run_id)

    def _question(self) -> dict[str, Any]:
        subject = self._chance.choice(self._subjects)
        notes = self._chance.choice(["", "", f"My notes say that the {subject} is old."])
        return {
            "user_query": f"What is known about the {subject}, really ({self._chance.random():.3f})?",
            "knowledge_context": notes,
        }

    async def _ask(self) -> str:
        await self._run(input=self._question())
        return "ask"

    async def _answer(self) -> str | None:
        waiting = await self._interrupt()
        if waiting is None or waiting.value.get("type") != "plan_approval":
            return None
        kind = self._chance.choices(["approve", "edit", "reject"], [4, 1, 1])[0]
        await self._run(command={"resume": {waiting.interrupt_id: self._decide(kind, waiting.value["plan"])}})
        return kind

    def _decide(self, kind: str, shown: dict[str, Any]) -> dict[str, Any]:
        if kind == "edit":
            steps = [{**shown["steps"][0], "input": self._chance.choice(self._subjects)}]
            return {"decision": "edit", "plan": {**shown, "steps": steps}}
        if kind == "reject":
            return {"decision": "reject", "reason": f"rather the {self._chance.choice(self._subjects)}"}
        return {"decision": "approve"}

    async def _pick(self, node: str) -> dict[str, Any] | None:
        """A state of the thread's past that was about to enter a node."""
        await self._settle()
        states = await self._threads.history(OWNER, self._thread, limit=_MOST_STATES)
        fitting = [state for state in states if list(state["next"]) == [node]]
        return self._chance.choice(fitting) if fitting else None

    async def _send_again(self) -> str | None:
        """Another question, or the same, in the place of an earlier one."""
        earlier = await self._pick("__start__")
        if earlier is None:
            return None
        self._moved_back = True
        await self._run(input=self._question(), checkpoint_id=earlier["checkpoint"]["checkpoint_id"])
        return "send again"

    async def _open_gate_again(self) -> str | None:
        """Go on from a gate that was passed or left, to answer it otherwise."""
        earlier = await self._pick("hitl_gate")
        if earlier is None:
            return None
        self._moved_back = True
        await self._run(input=None, checkpoint_id=earlier["checkpoint"]["checkpoint_id"])
        return "gate again"

    async def _roll_back(self) -> str:
        run_id = await self._begin(input=self._question())
        await asyncio.sleep(self._chance.random() * 0.1)  # somewhere on its way, or behind its end
        self._moved_back = True
        await self._engine.cancel(OWNER, self._thread, [run_id], action="rollback", wait=True)
        return "roll back"

    async def _stop(self) -> str:
        run_id = await self._begin(input=self._question())
        await asyncio.sleep(self._chance.random() * 0.1)
        await self._engine.cancel(OWNER, self._thread, [run_id], wait=True)
        return "stop"

    async def _go_on(self) -> str | None:
        if await self._interrupt() is not None:
            return None
        await self._run(input=None)
        return "continue"

    async def _restart(self) -> str:
        """With a run under way, which the next life takes up again."""
        waiting = await self._interrupt()
        if waiting is not None and waiting.value.get("type") == "plan_approval":
            await self._begin(command={"resume": {waiting.interrupt_id: {"decision": "approve"}}})
        else:
            await self._begin(input=self._question())
        await asyncio.sleep(self._chance.random() * 0.1)
        await self._open.aclose()
        await self._start()
        await self._settle()
        return "restart"

    async def _finish(self) -> None:
        """One whole research at the end, so that each history has a report."""
        await self._settle()
        if await self._interrupt() is None:
            await self._run(input=self._question())
        waiting = await self._interrupt()
        if waiting is not None:
            await self._run(command={"resume": {waiting.interrupt_id: {"decision": "approve"}}})
            self._moved_back = False

    async def _check(self) -> None:
        vault = SqlVault(self._persistence.database, self._thread)
        file = self._folder / "bundle.zip"
        head = await write_bundle(vault, file, self._key)
        checked = await asyncio.to_thread(verify_bundle, file, key=self._key.public_key(), head=head, strict=True)
        self.wrong += [str(problem) for problem in checked.problems]
        values = await self._values()
        self.happened.update([f"ended {values.get('status')}"])
        if values.get("status") == "complete" and not self._moved_back:
            self.wrong += self._compare(file, values, head)

    def _compare(self, file: Path, values: dict[str, Any], head: str) -> list[str]:
        """Where what the thread shows and what its bundle tells differ."""
        with BundleReader(file) as bundle:
            entries, report = bundle.entries(), bundle.read("report.md").decode()
            plan_told = json.loads(bundle.read("plan.json"))
        story = story_of(entries)
        asked, said, told = story.last("question"), story.last("approval"), story.last("report")
        if asked is None or said is None or told is None:
            return ["the bundle's story has no question, approval or report"]
        used = set(evidence_of(entries, story).sources)
        same = {
            "report": (report, values.get("final_report")),
            "question": (asked.data["query"], values.get("user_query")),
            "notes": (asked.data["knowledge_context"], values.get("knowledge_context")),
            "plan": (plan_told["sha256"], values.get("approved_plan_sha256")),
            "approval": (said.data["plan_sha256"], values.get("approved_plan_sha256")),
            "steps": ([step["id"] for step in plan_told["plan"]["steps"]], [step["id"] for step in values["plan"]["steps"]]),
            "head": (told.hash, values.get("trail_head")),
            "last entry": (told.key, values.get("newest_entry")),
            "head of the bundle": (head, entries[-1].hash),
            "sources": (used - set(values.get("read_sources", ())), set()),
        }
        return [f"{name}: the bundle has {one!r}, the thread {other!r}" for name, (one, other) in same.items() if one != other]
