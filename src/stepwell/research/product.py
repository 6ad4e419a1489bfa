"""Everything that research adds to the platform."""

from __future__ import annotations

from stepwell.products import Demo, Product

PRODUCT = Product(
    "research",
    graphs={
        "research": "stepwell.research.graph.graph:make_graph",
        "deep_research": "stepwell.research.deep.agent:make_graph",
    },
    payable=("deep_research",),
    demos={
        "research_demo": Demo(
            "stepwell.research.demo:make_graph",
            "A real research whose checks catch two mistakes. Its writer plays a script, and its pages are ours.",
            question="Why were stepwells built, and how deep is Rani ki Vav?",
            follow_ups=("How many steps does Chand Baori have?", "How deep is Chand Baori?"),
            needs=("httpcore", "trafilatura"),
        )
    },
    tables="stepwell.research.tables:TABLES",
    service="stepwell.research.service:open_research",
    routes="stepwell.research.http:ROUTERS",
    served_tools="stepwell.research.http.served_tools:SERVED_TOOLS",
    commands="stepwell.research.commands.arguments:add_commands",
)
