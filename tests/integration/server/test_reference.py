"""The page about the API lists the routes that there are, no more and no less; and the web page's types are of the same ones."""

from __future__ import annotations

import re
from pathlib import Path

from tests.integration.server.conftest import Server

PAGE = Path(__file__).parents[3] / "docs/reference/server-api.md"
TYPES = Path(__file__).parents[3] / "web/src/api/schema.ts"
TYPED_PATH = re.compile(r'^    "(/[^"]*)": \{', re.MULTILINE)
CODE = re.compile(r"`([^`]+)`")


def routes_on_the_page() -> set[tuple[str, str]]:
    """`GET`, `POST /path` are two routes: methods before a path count for it."""
    listed, methods = set(), []
    rows = [line for line in PAGE.read_text().split("## Routes")[1].split("## ")[0].splitlines() if line.startswith("| `")]
    for text in (text for row in rows for text in CODE.findall(row.split(" | ")[0])):
        method, _, path = text.partition(" ")
        methods.append(method)
        if path:
            listed |= {(each, path) for each in methods}
            methods = []
    return listed


def routes_of(document: dict) -> set[tuple[str, str]]:
    return {(method.upper(), path) for path, operations in document["paths"].items() for method in operations}


async def test_the_reference_lists_every_route(server: Server) -> None:
    document = (await server.http.get("/openapi.json")).json()
    served = {path for _, path in routes_of(document)}
    assert routes_of(document) == {(method, path) for method, path in routes_on_the_page() if path in served}
    of_applications = {path for _, path in routes_on_the_page()} - served
    assert all(path.startswith("/api/research") for path in of_applications)


async def test_the_web_page_has_the_types_of_every_route(server: Server) -> None:
    served = {path for _, path in routes_of((await server.http.get("/openapi.json")).json())}
    typed = set(TYPED_PATH.findall(TYPES.read_text()))
    assert served - typed == set(), "run `npm run types` in web/"
    assert all(path.startswith("/api/research") for path in typed - served)
