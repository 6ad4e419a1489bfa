"""What a product may get wrong about its routes is refused when a server starts, with a sentence."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.integration.server.conftest import serve
from tests.support.products import installed, module_of, write_product

from stepwell.errors import ConfigurationError

_ROUTE = """
from typing import Annotated
from fastapi import APIRouter, Depends
from stepwell.products import Product
from stepwell.server.login.principal import Principal
from stepwell.server.policy import policy

PRODUCT = Product("open", routes=f"{{__name__}}:ROUTERS")
router = APIRouter()
ROUTERS = (router,)

@router.get({path!r})
async def look({argument}) -> str:
    return "seen"
"""
_ASKS = 'principal: Annotated[Principal, Depends(policy("threads:read"))]'


@pytest.mark.parametrize(
    ("path", "argument", "told"),
    [
        ("/api/open", "", r"The route 'GET /api/open' has no policy, so anybody could use it"),
        ("/threads/{thread_id}", _ASKS, r"The route 'GET /threads/\{thread_id\}' exists twice"),
    ],
)
async def test_a_route_that_is_open_or_hidden_is_refused(tmp_path: Path, path: str, argument: str, told: str):
    folder = write_product(tmp_path, "open", [])
    module_of(folder).write_text(_ROUTE.format(path=path, argument=argument))
    with installed(folder), pytest.raises(ConfigurationError, match=told):
        async with serve(tmp_path):
            pass


async def test_routes_that_cannot_be_loaded_are_named(tmp_path: Path):
    folder = write_product(tmp_path, "open", [])
    module_of(folder).write_text(
        "from stepwell.products import Product\nPRODUCT = Product('open', routes='nowhere.at_all:ROUTERS')"
    )
    with installed(folder), pytest.raises(ConfigurationError, match="The routes of the product 'open' cannot be loaded"):
        async with serve(tmp_path):
            pass


async def test_a_route_with_a_policy_is_served(tmp_path: Path):
    folder = write_product(tmp_path, "open", [])
    module_of(folder).write_text(_ROUTE.format(path="/api/open", argument=_ASKS))
    with installed(folder):
        async with serve(tmp_path) as server:
            assert (await server.http.get("/api/open")).json() == "seen"
