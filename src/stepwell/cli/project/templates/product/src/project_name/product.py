"""What Stepwell finds through the entry point in pyproject.toml."""

from stepwell.products import Product

PRODUCT = Product(
    "project_name",
    graphs={"project_name": "project_name.agent:make_graph"},
    tables="project_name.tables:TABLES",
    service="project_name.service:open_service",
    routes="project_name.routes:ROUTERS",
    commands="project_name.commands:add_commands",
)
