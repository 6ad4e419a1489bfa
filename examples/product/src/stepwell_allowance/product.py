"""What Stepwell finds through the entry point."""

from stepwell.products import Product

PRODUCT = Product(
    "allowance",
    tables="stepwell_allowance.tables:TABLES",
    service="stepwell_allowance.service:open_allowance",
    routes="stepwell_allowance.routes:ROUTERS",
    commands="stepwell_allowance.commands:add_commands",
)
