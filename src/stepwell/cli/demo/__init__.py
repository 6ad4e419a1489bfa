"""What can be seen without a model, a key and a network: a research on a web of our own, and an agent that plays a script.

Both are the real graphs with the real tools, interrupts and evidence. Each says on the screen what in it is not real. They live here,
above everything, because what stands in for the web and the model is what we ship for tests.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec

DEMOS: Mapping[str, str] = {
    "research_demo": "stepwell.cli.demo.research:make_graph",
    "demo_agent": "stepwell.cli.demo.agent:make_graph",
}
"""Graph name -> where it is made."""
DESCRIPTIONS: Mapping[str, str] = {
    "research_demo": "A real research with a plan to approve and evidence to check; only the web is ours, with invented pages.",
    "demo_agent": "A real agent with real tools that plays a script: every reply was written beforehand.",
}


def available_demos() -> dict[str, str]:
    """Those that can be built with what is installed."""
    missing = () if find_spec("httpcore") and find_spec("trafilatura") else ("research_demo",)
    return {name: place for name, place in DEMOS.items() if name not in missing}
