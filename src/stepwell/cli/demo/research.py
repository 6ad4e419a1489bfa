"""A research on the packaged world: everything is real but the web, whose pages are invented and lie in this package.

No model is asked, so the report is made of quotes. What is not in the invented pages cannot be found, and the report then says so.
"""

from __future__ import annotations

from typing import Any

from stepwell.apps.research.graph import build_graph
from stepwell.evidence.equipment import Equipment, make_equipment
from stepwell.models.embedding.lexical import LexicalEmbedder
from stepwell.settings import Settings
from stepwell.testing.web.in_memory import InMemoryWorld
from stepwell.tools.web.search.choice import search_chain

QUESTION = "Who designed the Quellmouth bridge, when was it opened and how long is it?"
SAID = (
    "This is a demonstration: a real plan, a real approval and real evidence. Only the web is ours: its pages are invented and lie in "
    "this package, and no model is asked."
)
PACE_S = 0.15
"""A request's time on the way, so that a person can follow."""


def make_graph() -> Any:
    return build_graph(demo_equipment(pace_s=PACE_S))


def demo_equipment(*, pace_s: float = 0.0) -> Equipment:
    """The research's own, on the packaged web. It reads no environment: keys and rules of the operator's are not for visitors."""
    settings = Settings.load({})

    async def no_wait(seconds: float) -> None:
        """Nobody has to be spared here: the engines are ours, and all visitors would wait for one another."""

    return make_equipment(
        settings,
        web=InMemoryWorld(pace_s=pace_s),
        search=lambda web: search_chain(settings, web, cached=False, sleep=no_wait),
        embedder=LexicalEmbedder("this is a demonstration"),
        models=None,
        local=None,
    )
