"""The applications, each a recipe on the harness. The server does not know them; the command line connects the two with this table."""

from __future__ import annotations

from collections.abc import Mapping

APPLICATIONS: Mapping[str, str] = {
    "research": "stepwell.research.graph.graph:make_graph",
    "deep_research": "stepwell.research.deep.agent:make_graph",
    "deeptutor": "stepwell.tutor.agent:make_graph",
    "seminar_agent": "stepwell.tutor.agent:make_seminar",
    "workspace": "stepwell.workspace.agent:make_graph",
    "simple_agent": "stepwell.demo.simple:make_graph",
}
"""Graph name -> the function that builds it, as in langgraph.json."""

WORKSPACE = "workspace"
"""The graph that works on a tenant's files."""

PAYABLE = ("deep_research", "deeptutor", "seminar_agent", "simple_agent")
"""The graphs that charge for their model calls if the operator has set a price."""
