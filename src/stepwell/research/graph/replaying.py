"""Runs a whole research again from its bundle: the same nodes and policy, without network or model; then compares the reports.

```
bundle ─┬─ trail: questions, the user's answers to plans and sources ─────> drive the graph
        ├─ recording: every answer of engines, pages and models ──────────> Replay
        └─ policy.md, report.md ──────────────────────────────────────────> applied, compared with
```

Two things cannot be repeated and are taken from the trail: when sources were read, and which of the concurrent requests a ceiling let
through. Everything else is computed again.
"""

from __future__ import annotations

import difflib
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from stepwell.database.checkpoints.serializer import strict_serializer
from stepwell.errors import BundleError, NotRecordedError
from stepwell.models.embedding.embedder import Embedder, choose_embedder
from stepwell.models.embedding.lexical import LexicalEmbedder
from stepwell.models.routing import ModelRoutes
from stepwell.research.audit.bundle import BundleReader
from stepwell.research.audit.exchanges.replay import Replay
from stepwell.research.audit.story import Story, story_of
from stepwell.research.audit.trail import Entry
from stepwell.research.evidence.equipment import Equipment
from stepwell.research.evidence.policy.file import parse_policy
from stepwell.research.evidence.recorded.replay_stand_ins import (
    NoModel,
    NoWeb,
    ReplayVault,
    recorded_search,
    recorded_sources,
)
from stepwell.research.graph.graph import Graph, build_graph
from stepwell.runs.graphs.binding import AnyGraph, allowed_classes, bind
from stepwell.settings import Settings
from stepwell.tools.web.search.choice import search_chain

MOST_DIFFERENCES = 20
_MAX_QUESTIONS = 1000
"""More answers than a user would give, so that a replay that loops ends."""
Show = Callable[[str], None]


@dataclass(frozen=True)
class Replayed:
    """The result of a replay. `differences` are sentences; none if the reports are identical."""

    report: str
    equal: bool
    differences: tuple[str, ...] = ()
    answers_used: int = 0


@dataclass
class _Answers:
    """What users answered about one question in the recorded run, in order. We call `reached` with each answer before we return it."""

    approvals: list[Entry]
    reviews: list[Entry]
    reached: Callable[[Entry], Awaitable[None]]

    async def next(self, question: Any) -> Any:
        kind = question.get("type") if isinstance(question, dict) else None
        if kind == "source_review":
            review = await self._pop(self.reviews) if self.reviews else {"deny": []}
            return {"deny": list(review.get("deny", ()))}
        if not self.approvals:
            raise NotRecordedError(
                "The replay asks for approval more often than the recorded run did. Use the version that made the bundle."
            )
        said = await self._pop(self.approvals)
        if kind == "search_retry":
            return {"decision": "approve" if said["decision"] == "retry" else said["decision"]}
        answer = {"decision": said["decision"], "reason": said.get("reason", ""), "stop": said.get("stop", False)}
        return {**answer, "plan": said["edited_plan"]} if said.get("edited_plan") else answer

    async def _pop(self, entries: list[Entry]) -> dict[str, Any]:
        await self.reached(entries[0])
        return entries.pop(0).data


async def replay_bundle(path: Path, *, embedder: Embedder | None = None, show: Show = lambda line: None) -> Replayed:
    """Run a bundle's research again. Pass the `embedder` of the recorded run if it isn't this machine's default."""
    with BundleReader(path) as bundle:
        entries = bundle.entries()
        story = story_of(entries)
        questions = [entry for entry in story.entries if entry.kind == "question"]
        for name in ("policy.md", "report.md"):
            if name not in bundle.members or not questions:
                raise BundleError(
                    f"The bundle '{path.name}' has no '{name}': the research had not ended. Only a finished one can be replayed."
                )
        if questions[-1].data.get("mode") == "deep":
            raise BundleError(
                f"The bundle '{path.name}' is from deep research. An agent's free work cannot be repeated. "
                "`stepwell verify` checks it."
            )
        written = story.last("report")
        if written is not None and written.data.get("mode") != questions[-1].data.get("mode"):
            raise BundleError(
                f"The models changed between the question and the report of bundle '{path.name}', so it cannot be replayed with either. "
                "`stepwell verify` checks it."
            )
        recorded = bundle.read("report.md").decode()
        replay = bundle.replay()
        recorded_answers = replay.unused
        embedder = embedder or _embedder(questions[-1])
        vault = ReplayVault(entries, bundle.body)
        policy, writes = bundle.read("policy.md").decode(), questions[-1].data.get("mode") == "written"
        equipment = _equipment(policy, entries, replay, embedder, vault, writes=writes)
        values = await _drive(build_graph(equipment), story, vault, show)
    report = str(values.get("final_report") or "")
    differences = [] if report == recorded else list(_differences(recorded, report, values))
    if differences and (other := questions[-1].data.get("embedder")) not in (None, embedder.id):
        differences.insert(
            0, f"The recorded run compared texts with '{other}', this one with '{embedder.id}': install the same embedder."
        )
    return Replayed(report, report == recorded, tuple(differences), recorded_answers - replay.unused)


def _embedder(question: Entry) -> Embedder:
    lexical = question.data.get("embedder") == LexicalEmbedder().id
    return choose_embedder(Settings.load(), kind="lexical" if lexical else "auto")


def _equipment(
    policy: str, entries: Sequence[Entry], replay: Replay, embedder: Embedder, vault: ReplayVault, *, writes: bool
) -> Equipment:
    settings = Settings(search=recorded_search(entries))

    async def at_once(seconds: float) -> None:
        """No request is sent, so no pause is needed."""

    return Equipment(
        policy=parse_policy(policy, "policy.md"),
        web=NoWeb(),
        mcp_sources=recorded_sources(entries),
        search=lambda web: search_chain(settings, web, cached=False, sleep=at_once),
        embedder=embedder,
        models=ModelRoutes(NoModel()) if writes else None,
        # Used only if the policy allows only local models to plan. Then a local model made the plan, or no model did.
        local=NoModel(base_url="http://localhost") if any(entry.data.get("by") == "model" for entry in entries) else None,
        vault_for=lambda config: vault,
        replay=replay,
        sleep=at_once,
    )


async def _drive(graph: Graph, story: Story, vault: ReplayVault, show: Show) -> dict[str, Any]:
    """Asks every question of the story in order, because ids of sources and quotes continue from one question to the next.

    A branch can only begin where a user asked or answered. At each such point we copy what other branches had written by then.
    """
    bound = bind(graph, "research", allowed_classes(graph), InMemorySaver(serde=strict_serializer()), None)
    values: dict[str, Any] = {}
    for question, said in _by_question(story):
        await vault.take_over_until(question)
        approvals = [entry for entry in said if entry.kind == "approval"]
        reviews = [entry for entry in said if entry.kind == "source_review"]
        answers = _Answers(approvals, reviews, vault.take_over_until)
        values = await _ask(bound, _input(question, answers), answers, show)
    return values


def _by_question(story: Story) -> list[tuple[Entry, list[Entry]]]:
    found: list[tuple[Entry, list[Entry]]] = []
    for entry in story.entries:
        if entry.kind == "question":
            found.append((entry, []))
        elif found:
            found[-1][1].append(entry)
    return found


def _input(question: Entry, answers: _Answers) -> dict[str, Any]:
    return {
        "user_query": question.data["query"],
        "knowledge_context": question.data.get("knowledge_context", ""),
        "snippets": list(question.data.get("snippets", ())),
        "context_urls": list(question.data.get("context_urls", ())),
        "only_documents": question.data.get("only_documents", "no") != "no",
        "outline": bool(question.data.get("outline")),
        "review_sources": bool(answers.reviews),
        # The replay needs no lower limit: a question that reached it has no report, and one with a report did not reach it.
        "max_plan_revisions": _MAX_QUESTIONS,
    }


async def _ask(graph: AnyGraph, given: Any, answers: _Answers, show: Show) -> dict[str, Any]:
    config: Any = {"configurable": {"thread_id": "replay"}}
    for _ in range(_MAX_QUESTIONS):
        async for update in graph.astream(given, config, stream_mode="updates"):
            for node in update:
                if not node.startswith("__"):
                    show(node)
        state = await graph.aget_state(config)
        if not state.interrupts:
            return dict(state.values)
        given = Command(resume={each.id: await answers.next(each.value) for each in state.interrupts})
    raise BundleError("The replay keeps asking questions: the bundle was made by another version's graph.")


def _differences(recorded: str, replayed: str, values: dict[str, Any]) -> Iterator[str]:
    if values.get("error_message"):
        yield f"The replay ended with: {values['error_message']}"
    if not replayed:
        yield "The replay has no report."
        return
    lines = list(difflib.unified_diff(recorded.splitlines(), replayed.splitlines(), "recorded", "replayed", lineterm="", n=0))
    yield from lines[:MOST_DIFFERENCES]
    if len(lines) > MOST_DIFFERENCES:
        yield f"... and {len(lines) - MOST_DIFFERENCES} more lines."
