"""A process that has imported everything once and forks researchers, which may be told to die. Started by `test_kill.py`.

Each line of stdin is an order: a folder with a database, the port of the offline world, which write to the disk to die before
(0: none), and the ceiling of requests. A researcher opens the engine on the folder, goes on with whatever it finds there (asks,
approves, admits) and leaves what it has in `result.json`. It writes down each of its writes in `writes`, so that the test knows
where there is something to be killed at.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import re
import signal
import sys
import uuid
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import tests.support.certificates  # noqa: F401 - importing it is all
from tests.integration.research.roles import Roles, plan, word_for_word

from stepwell.clock import SystemClock
from stepwell.database.checkpoints.saver import SqlSaver
from stepwell.database.records.types import Page
from stepwell.database.sqlite.persistence import EmbeddedPersistence
from stepwell.database.types import Lease
from stepwell.demo.web import OfflineWorld
from stepwell.models.embedding.lexical import LexicalEmbedder
from stepwell.models.routing import ModelRoutes
from stepwell.research.audit.bundle import write_bundle
from stepwell.research.audit.exchanges.recording import count_requests
from stepwell.research.audit.trail import Entry, NewEntry
from stepwell.research.audit.verify import verify_bundle
from stepwell.research.database_vault import SqlVault
from stepwell.research.evidence.equipment import make_equipment
from stepwell.research.evidence.policy.file import default_policy
from stepwell.research.evidence.policy.rules import Limits
from stepwell.research.gate import EvidenceGate
from stepwell.research.graph.graph import build_graph
from stepwell.runs.assistants import Assistants
from stepwell.runs.engine import Engine, EngineOptions
from stepwell.runs.graphs.registry import GraphRegistry
from stepwell.runs.graphs.sources import GraphSource
from stepwell.runs.starting import RunOrder
from stepwell.settings import Settings
from stepwell.testing import ScriptedModel
from stepwell.tools.web.search.choice import search_chain

OWNER = "somebody"
THREAD = str(uuid.UUID(int=5))
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


class Death:
    """Takes the process with it before its n-th write, as `kill -9` does."""

    def __init__(self, at: int, log: Path) -> None:
        self._at = at
        self._log = log
        self._count = 0

    def comes_before(self, what: str) -> None:
        self._count += 1
        if self._count == self._at:
            os.kill(os.getpid(), signal.SIGKILL)
        with self._log.open("a") as log:
            log.write(f"{what}\n")


def _say_what(new: NewEntry) -> str:
    """Where a request goes; of a model's answers, those that a report is composed of."""
    if new.kind == "request":
        return f":{new.data['to']}"
    call = new.key.split(":", 1)[1].rsplit(":", 2)[0] if new.kind == "model_call" else ""
    return f":{call}" if call.startswith(("write", "critic")) else ""


class DyingVault(SqlVault):
    death: Death

    async def put(self, content: bytes) -> str:
        self.death.comes_before("put")
        return await super().put(content)

    async def append(self, new: NewEntry) -> Entry:
        self.death.comes_before(f"{new.kind}{_say_what(new)}")
        return await super().append(new)


class DyingSaver(SqlSaver):
    death: Death

    async def aput(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        self.death.comes_before("checkpoint")
        return await super().aput(config, checkpoint, metadata, new_versions)

    async def aput_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        self.death.comes_before(f"writes of {'+'.join(sorted({channel for channel, _ in writes if 'branch' in channel}))}")
        await super().aput_writes(config, writes, task_id, task_path)


class DyingPersistence(EmbeddedPersistence):
    death: Death

    def saver(self, lease: Lease | None = None, steering: Any = None) -> Any:
        saver = DyingSaver(self.database, lease, clock=self._clock, steering=steering)
        saver.death = self.death
        return saver


class DyingGate(EvidenceGate):
    """Gives the graph a vault that dies."""

    def __init__(self, persistence: DyingPersistence) -> None:
        super().__init__(persistence)
        self._death = persistence.death

    def open_vault(self, thread_id: str, lease: Lease) -> SqlVault:
        vault = DyingVault(self._persistence.database, thread_id, lease, self._persistence.clock)
        vault.death = self._death
        return vault


class FarWorld(OfflineWorld):
    """The world of the process that tests."""

    far_port = 0

    @property
    def port(self) -> int:
        return self.far_port


class StandingClock:
    """The same moment always: what is read says when."""

    def now(self) -> datetime:
        return NOON


async def _no_wait(seconds: float) -> None: ...


def _with_a_local_step(made: str) -> str:
    planned = json.loads(made)
    local = {"tool": "search_documents", "input": "a torch", "rationale": "first"}
    return json.dumps({**planned, "steps": [local, *planned["steps"]], "outline": ["Makers", "Owners"]})


def _write_with_a_fault(shown: dict[str, str]) -> str:
    return f"{word_for_word(shown)} It has 77,777 doors [{next(iter(shown))}]."


def _drop(asked: str) -> str:
    return "\n".join(f"{number}: drop" for number in re.findall(r"^(c\d+): ", asked, re.MULTILINE))


def graph(port: int, folder: Path, requests: int) -> Any:
    world = FarWorld(idle_timeout_s=60.0)
    world.far_port = port
    settings = Settings.load({"STEPWELL_DATA_DIR": str(folder)})
    subjects = [world.pages[number].subject for number in (0, 40, 80)]
    roles = Roles(write=_write_with_a_fault, revise=_drop, top=lambda shown: "{} [{}]".format(*next(iter(shown.items()))))
    planner = ScriptedModel.answering(lambda asked: _with_a_local_step(plan(*subjects)))
    equipment = make_equipment(
        settings,
        web=world.web,
        search=lambda web: search_chain(settings, web, cached=False, sleep=_no_wait),
        embedder=LexicalEmbedder(),
        models=ModelRoutes(plan=planner, audit=roles.auditor, write=roles.writer),
        policy=replace(default_policy(), limits=Limits(requests=requests)),
        clock=StandingClock(),
        pages_per_step=2,
    )
    return build_graph(equipment)


async def research(folder: Path, port: int, die_before: int, requests: int) -> dict[str, Any]:
    clock = SystemClock()
    persistence = DyingPersistence(folder / "stepwell.db")
    persistence.death = Death(die_before, folder / "writes")
    registry = GraphRegistry({"research": GraphSource.of(graph(port, folder, requests))})
    async with persistence:
        assistants = Assistants(persistence.records, registry, clock, lambda: str(uuid.uuid4()))
        await assistants.install_defaults()
        engine = Engine(
            persistence,
            registry,
            assistants,
            clock=clock,
            new_id=lambda: str(uuid.uuid4()),
            options=EngineOptions(drain_s=0.0),
            gates=[DyingGate(persistence)],
        )
        async with engine:
            values = await asyncio.wait_for(follow(engine, persistence), 60)
        vault = SqlVault(persistence.database, THREAD)
        entries = await vault.entries()
        await write_bundle(vault, folder / "bundle.zip")
    verification = verify_bundle(folder / "bundle.zip")
    return {
        "status": values["status"],
        "report": values["final_report"],
        "skipped": values["skipped"],
        "problems": [str(problem) for problem in verification.problems],
        "requests": count_requests(entries),
        "trail": [[entry.seq, entry.kind, entry.key, entry.data.get("resend", 0)] for entry in entries],
    }


async def follow(engine: Engine, persistence: EmbeddedPersistence) -> dict[str, Any]:
    """Ask, approve, admit; each only if it was not done before a death."""
    given = {
        "user_query": "Who designed the bridge, who found the comet, and who owns the plant?",
        "knowledge_context": "Our own note: Ann Lawton designed the bridge, found the comet and owns the plant. Bring a torch.",
        "review_sources": True,
        "outline": True,
    }
    while True:
        runs = []
        if (await persistence.records.search_threads(OWNER, _any(), Page())) != []:
            runs = await persistence.records.list_runs(OWNER, THREAD, None, Page())
        for run in runs:
            if not run.finished:
                await engine.result(OWNER, THREAD, run.run_id)
        thread = await persistence.records.get_thread(OWNER, THREAD) if runs else None
        if thread is None:
            order = RunOrder("research", thread_id=THREAD, input=given, if_not_exists="create")
        elif thread.interrupts:
            order = RunOrder("research", thread_id=THREAD, command={"resume": True})
        else:
            return dict(thread.values or {})
        run = (await engine.start(OWNER, order)).run
        await engine.result(OWNER, THREAD, run.run_id)


def _any() -> Any:
    from stepwell.database.records.types import ThreadFilter

    return ThreadFilter()


def child(order: dict[str, Any]) -> int:
    folder = Path(order["folder"])
    result = asyncio.run(research(folder, order["port"], order["die_before"], order["requests"]))
    (folder / "result.json").write_text(json.dumps(result))
    return 0


def main() -> None:
    print("warm", flush=True)
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            sys.stdin.close()
            gc.freeze()
            os._exit(child(json.loads(line)))
        _, status = os.waitpid(pid, 0)
        print(json.dumps({"killed": os.WIFSIGNALED(status), "code": status}), flush=True)


if __name__ == "__main__":
    os.environ["LANGGRAPH_STRICT_MSGPACK"] = "true"
    main()
