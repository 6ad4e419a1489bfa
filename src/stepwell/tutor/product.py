"""What the tutor brings to the platform."""

from __future__ import annotations

from stepwell.products import Product

_GRAPHS = {
    "deeptutor": "stepwell.tutor.agent:make_graph",
    "seminar_agent": "stepwell.tutor.agent:make_seminar",
}

PRODUCT = Product("tutor", graphs=_GRAPHS, payable=tuple(_GRAPHS), routes="stepwell.tutor.http:ROUTERS")
