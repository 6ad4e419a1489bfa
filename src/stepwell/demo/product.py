"""What the demos bring to the platform: the plain agent, and one that plays a script."""

from __future__ import annotations

from stepwell.products import Demo, Product

PRODUCT = Product(
    "demo",
    last=True,
    graphs={"simple_agent": "stepwell.demo.simple:make_graph"},
    payable=("simple_agent",),
    demos={
        "demo_agent": Demo(
            "stepwell.demo.agent:make_graph",
            "A real agent with real tools that plays a script: every reply was written in advance.",
            question="Find out what a stepwell is and leave me a short note about it.",
            follow_ups=("Which changes did I allow?", "Take the line about India out again."),
        )
    },
)
