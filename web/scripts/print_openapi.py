"""Print the server's OpenAPI document without starting a server: `npm run types` and `make reference` read it."""

from __future__ import annotations

import json
import sys
from importlib.metadata import version
from types import SimpleNamespace
from typing import Any

from fastapi import FastAPI

from stepwell.payments.service import Payments
from stepwell.server.app import ROUTERS, product_routers
from stepwell.server.openapi import install_openapi


def document() -> dict[str, Any]:
    """The document of a server with all products."""
    app = FastAPI(title="Stepwell", version=version("stepwell"))
    app.state.services = SimpleNamespace(products=[Payments(None)])  # the only product with a header for runs
    for router in (*ROUTERS, *product_routers()):
        app.include_router(router)
    install_openapi(app)
    return app.openapi()


if __name__ == "__main__":
    json.dump(document(), sys.stdout)
