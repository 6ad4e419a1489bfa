"""A research on the packaged world: everything is real except the web, whose invented pages are part of this package.

It uses no model, so the report consists of quotes. If the invented pages do not answer a question, the report says so.
"""

from __future__ import annotations

from typing import Any

from stepwell.demo.web.in_memory import InMemoryWorld
from stepwell.models.embedding.lexical import LexicalEmbedder
from stepwell.research.evidence.equipment import Equipment, make_equipment
from stepwell.research.graph.graph import build_graph
from stepwell.settings import Settings
from stepwell.tools.web.search.choice import search_chain

QUESTION = "Who designed the Quellmouth bridge, when was it opened and how long is it?"
SAID = (
    "This is a demonstration: a real plan, a real approval and real evidence. Only the web is invented: its pages are part of this "
    "package. No model is used."
)
PACE_S = 0.15
"""Simulated latency of a request, so that a person can follow."""


def make_graph() -> Any:
    return build_graph(demo_equipment(pace_s=PACE_S))


def demo_equipment(*, pace_s: float = 0.0) -> Equipment:
    """The usual equipment, on the packaged web. It ignores the environment, because the operator's keys and policy are not for visitors."""
    settings = Settings.load({})

    async def no_wait(seconds: float) -> None:
        """Replaces the pauses of rate limits. The invented search engines need none, and pauses would make visitors wait for one
        another."""

    return make_equipment(
        settings,
        web=InMemoryWorld(pace_s=pace_s),
        search=lambda web: search_chain(settings, web, cached=False, sleep=no_wait),
        embedder=LexicalEmbedder("this is a demonstration"),
        models=None,
        local=None,
    )
