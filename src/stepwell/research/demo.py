"""The research demo: the real graph, policy, checks and evidence on a few pages of our own, with a writer that plays a script.

The writer (`demo_writer`) makes two mistakes on purpose, and the checks leave both sentences out. Rules make the plan, as they do
wherever a policy lets nothing be sent before the plan is approved. If the pages do not answer a question, the report says so, and how to
ask others.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from stepwell.demo.web.in_memory import InMemoryWorld
from stepwell.demo.web.search_pages import SEARXNG_URL
from stepwell.demo.web.stepwells import stepwell_pages
from stepwell.models.embedding.lexical import LexicalEmbedder
from stepwell.research.demo_writer import QUESTION, demo_models
from stepwell.research.evidence.equipment import Equipment, make_equipment
from stepwell.research.evidence.policy.file import default_policy, parse_policy
from stepwell.research.evidence.policy.rules import ResearchPolicy
from stepwell.research.graph.graph import build_graph
from stepwell.settings import Settings
from stepwell.tools.web.search.choice import search_chain

__all__ = ["PACE_S", "QUESTION", "SAID", "demo_equipment", "make_graph"]

SAID = (
    "This is a demo. The writer in this demo plays a script with two mistakes in it. The plan, your approval, the evidence and the "
    "checks are real; the pages are ours, with true facts about stepwells. Nothing is sent anywhere."
)
UNANSWERED = "This demo answers only its own question; connect a model to ask your own."
PACE_S = 0.15
"""Simulated latency of a request, so that a person can follow."""


def make_graph() -> Any:
    return build_graph(demo_equipment(pace_s=PACE_S))


def demo_equipment(*, pace_s: float = 0.0) -> Equipment:
    """The usual equipment with the demo's web and writer. Of the environment it takes only the data folder, because the operator's keys and
    policy are not for visitors."""
    settings = Settings.load(
        {
            "STEPWELL_SEARXNG_URL": SEARXNG_URL,
            "STEPWELL_SEARCH_ENGINES": "searxng",
            "STEPWELL_DATA_DIR": str(Settings.load().data_folder),
        }
    )

    async def no_wait(seconds: float) -> None:
        """Replaces the pauses of rate limits, which would make visitors wait for one another."""

    equipment = make_equipment(
        settings,
        policy=_policy(),
        web=InMemoryWorld(stepwell_pages(), pace_s=pace_s),
        search=lambda web: search_chain(settings, web, cached=False, sleep=no_wait),
        embedder=LexicalEmbedder("this is a demonstration"),
        models=demo_models(),
        local=None,
    )
    return replace(equipment, unanswered=UNANSWERED)


def _policy() -> ResearchPolicy:
    """The default policy, except that nothing is sent before the plan is approved: the writer has no script for plans."""
    text = default_policy().text
    return parse_policy(text.replace("before_approval = true ", "before_approval = false"), "POLICY.md")
