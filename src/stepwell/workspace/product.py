"""What workspaces bring to the platform."""

from __future__ import annotations

from stepwell.products import Product

PRODUCT = Product(
    "workspace",
    graphs={"workspace": "stepwell.workspace.agent:make_graph"},
    service="stepwell.workspace.service:open_workspaces",
    routes="stepwell.workspace.http:ROUTERS",
)
