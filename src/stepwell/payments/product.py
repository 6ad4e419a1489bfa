"""What payments bring to the platform."""

from __future__ import annotations

from stepwell.products import Product

PRODUCT = Product(
    "payments",
    tables="stepwell.payments.ledger.tables:TABLES",
    service="stepwell.payments.service:open_payments",
    routes="stepwell.payments.http:ROUTERS",
    commands="stepwell.payments.commands.arguments:add_commands",
)
