"""Research under the policy of this project. `make_graph` is what langgraph.json serves."""

from pathlib import Path

from stepwell.models import find_model
from stepwell.research.demo import demo_equipment
from stepwell.research.evidence.equipment import make_equipment
from stepwell.research.evidence.policy.file import load_policy
from stepwell.research.graph.graph import build_graph
from stepwell.settings import Settings

POLICY = Path(__file__).parent / "POLICY.md"


def make_graph():
    """With a model, research on the web and in your documents. Before one is connected, a demo on a few pages that come with Stepwell."""
    settings = Settings.load()
    policy = load_policy(POLICY)  # read in any case, so that a mistake in it shows at once
    if find_model(settings) is None:
        return build_graph(demo_equipment())
    return build_graph(make_equipment(settings, policy=policy))
