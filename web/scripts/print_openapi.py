"""Print the server's OpenAPI document without starting a server. `npm run types` makes the page's types from it."""

from __future__ import annotations

import json
import sys
from importlib.metadata import version

from fastapi import FastAPI

from stepwell.server.app import ROUTERS
from stepwell.server.openapi import install_openapi


def print_document() -> None:
    app = FastAPI(title="Stepwell", version=version("stepwell"))
    for router in ROUTERS:
        app.include_router(router)
    install_openapi(app)
    json.dump(app.openapi(), sys.stdout)


if __name__ == "__main__":
    print_document()
