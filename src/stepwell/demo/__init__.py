"""Demos that need no model, key or network: a research on an invented web, and an agent that plays a script.

Both are the real graphs with the real tools, interrupts and evidence. Each says on the screen which parts are not real. They live in
the top layer because they use the stand-ins for the web and the model that we ship for tests.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec

DEMOS: Mapping[str, str] = {
    "research_demo": "stepwell.research.demo:make_graph",
    "demo_agent": "stepwell.demo.agent:make_graph",
}
"""Graph name -> its factory."""
DESCRIPTIONS: Mapping[str, str] = {
    "research_demo": "A real research with a plan to approve and evidence to check. Only the web is invented.",
    "demo_agent": "A real agent with real tools that plays a script: every reply was written in advance.",
}


def available_demos() -> dict[str, str]:
    """The demos whose dependencies are installed."""
    missing = () if find_spec("httpcore") and find_spec("trafilatura") else ("research_demo",)
    return {name: place for name, place in DEMOS.items() if name not in missing}
