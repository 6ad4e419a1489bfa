"""What the tutor brings to the platform."""

from __future__ import annotations

from stepwell.products import ChatApp, Product

_GRAPHS = {
    "deeptutor": "stepwell.tutor.agent:make_graph",
    "seminar_agent": "stepwell.tutor.agent:make_seminar",
}

PRODUCT = Product(
    "tutor",
    graphs=_GRAPHS,
    payable=tuple(_GRAPHS),
    routes="stepwell.tutor.http:ROUTERS",
    chats={
        "tutor": ChatApp(
            "stepwell.tutor.chat:run",
            "deeptutor",
            "develops an argument by asking you questions",
            slash_commands=("/hint", "/tell", "/skip", "/edit", "/withdraw", "/ground", "/objection", "/lint", "/export"),
        )
    },
)
