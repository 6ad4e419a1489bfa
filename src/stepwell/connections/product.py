"""What connections bring to the platform."""

from __future__ import annotations

from stepwell.products import Product

PRODUCT = Product(
    "connections",
    tables="stepwell.connections.tables:TABLES",
    service="stepwell.connections.service:open_connections",
    routes="stepwell.connections.http:ROUTERS",
)
