"""Ours: the research graph on the offline world of the benchmark's process, approved by nobody but a script."""

from __future__ import annotations

import asyncio
import json
import random
import re
import tempfile
import time
import uuid
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from benchmarks.research_runs.claims import Known, Written, report_of, write_claims
from benchmarks.research_runs.scoring import score
from stepwell.demo.web import OfflineWorld
from stepwell.models.embedding.lexical import LexicalEmbedder
from stepwell.models.routing import ModelRoutes
from stepwell.research.audit.bundle import write_bundle
from stepwell.research.audit.exchanges.recording import count_requests
from stepwell.research.audit.verify import verify_bundle
from stepwell.research.evidence.equipment import Equipment, make_equipment
from stepwell.research.evidence.policy.file import parse_policy
from stepwell.research.evidence.policy.rules import Limits
from stepwell.research.graph.graph import build_graph
from stepwell.research.graph.replaying import replay_bundle
from stepwell.runs.graphs.binding import allowed_classes, bind
from stepwell.settings import Settings
from stepwell.testing import Asked, ScriptedModel
from stepwell.tools.web.search.choice import search_chain

_SHOWN = re.compile(r"^(e\d+) \([^\n]*?\): (.+)$", re.MULTILINE)
_POLICY = "# Policy of the benchmark\n\n```toml policy\n[limits]\nrequests = {requests}\n```\n\n- **J1** The steps serve the question.\n"


class _FarWorld(OfflineWorld):
    far_port = 0

    @property
    def port(self) -> int:
        return self.far_port


class _Script:
    """Plans what it is told, approves every plan, agrees with every sentence, and writes claims of known truth."""

    def __init__(self, steps: Sequence[str], facts: Sequence[dict[str, Any]], seed: int, claims: int) -> None:
        self.steps = steps
        self.facts = facts
        self.chance = random.Random(seed)
        self.count = claims
        self.written: list[Written] = []

    def answer(self, asked: Asked) -> str:
        if asked.system.startswith("You plan"):
            return json.dumps({"objective": "Know it", "steps": [{"input": step} for step in self.steps]})
        if asked.system.startswith("You audit"):
            return json.dumps({"verdict": "approved", "violations": [], "suggestions": []})
        if asked.system.startswith("You check"):
            return json.dumps({"verdict": "supported", "reason": "I agree"})
        return self._write(_SHOWN.findall(asked.human))

    def _write(self, shown: Sequence[tuple[str, str]]) -> str:
        known, others = [], []
        for fact in self.facts:
            holds = [name for name, text in shown if fact["sentence"] in text]
            made = Known(
                fact["kind"], fact["subject"], fact["value"], fact["sentence"], tuple(fact["urls"]), (holds or [""])[0]
            )
            (known if holds else others).append(made)
        self.written = write_claims(self.chance, known, others, self.count)
        return report_of(self.chance, self.written)


def carry_out(
    *, questions: Sequence[dict[str, Any]], facts: Sequence[dict[str, Any]], ports: dict[str, int], claims: int
) -> dict[str, Any]:
    return asyncio.run(_all(questions, facts, ports["ours"], claims))


async def _all(questions: Sequence[dict[str, Any]], facts: Sequence[dict[str, Any]], port: int, claims: int) -> dict[str, Any]:
    world = _FarWorld()
    world.far_port = port
    with tempfile.TemporaryDirectory() as folder:
        runs = [await _one(world, Path(folder), question, facts, claims) for question in questions]
    return {"runs": runs}


def _equipment(world: OfflineWorld, folder: Path, script: _Script, requests: int) -> Equipment:
    settings = Settings.load({"STEPWELL_DATA_DIR": str(folder)})

    async def at_once(seconds: float) -> None:
        """The engines of this world need no pause."""

    policy = parse_policy(_POLICY.format(requests=requests), "POLICY.md")
    return make_equipment(
        settings,
        policy=replace(policy, limits=Limits(requests=requests)),
        web=world.web,
        search=lambda web: search_chain(settings, web, cached=False, sleep=at_once),
        embedder=LexicalEmbedder(),
        models=ModelRoutes(ScriptedModel.answering(script.answer)),
    )


async def _one(
    world: OfflineWorld, folder: Path, question: dict[str, Any], facts: Sequence[dict[str, Any]], claims: int
) -> dict[str, Any]:
    script = _Script(question["steps"], facts, question["seed"], claims)
    equipment = _equipment(world, folder, script, question["ceiling"])
    plain = build_graph(equipment)
    graph = bind(plain, "research", allowed_classes(plain), InMemorySaver(), None)
    config: Any = {"configurable": {"thread_id": str(uuid.UUID(int=question["seed"]))}}
    (gate,) = (await graph.ainvoke({"user_query": question["query"]}, config))["__interrupt__"]
    state = await graph.ainvoke(Command(resume={gate.id: True}), config)
    if state["status"] != "complete":
        raise RuntimeError(f"the research ended {state['status']}: {state['error_message']}")
    vault = equipment.vault_for(config)
    entries = await vault.entries()
    read = {url for entry in entries if entry.kind == "source" for url in (entry.data["url"], entry.data["final_url"]) if url}
    bundle = folder / f"{question['seed']}.zip"
    await write_bundle(vault, bundle)
    replayed = await replay_bundle(bundle, embedder=LexicalEmbedder())
    return {
        "score": score(state["final_report"], [claim.data() for claim in script.written], read),
        "requests": count_requests(entries),
        "ceiling": question["ceiling"],
        "replay_equal": replayed.equal,
        "verified": verify_bundle(bundle).ok,
    }


def verify_large(*, sources: int) -> dict[str, Any]:
    """Seconds to verify a bundle of so many sources; the bundle is made first."""
    from benchmarks.research_runs.large_bundle import make_large_bundle

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.zip"
        asyncio.run(make_large_bundle(path, sources))
        started, cpu = time.perf_counter(), time.process_time()
        verification = verify_bundle(path)
        seconds, spent = time.perf_counter() - started, time.process_time() - cpu
        if not verification.ok:
            raise RuntimeError(f"the bundle is not whole: {verification.problems[:1]}")
        return {"seconds": seconds, "cpu_seconds": spent, "bytes": path.stat().st_size}
