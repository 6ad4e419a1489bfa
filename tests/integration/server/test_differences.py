"""The table of differences is complete: every operation and parameter of LangGraph's server exists here, or is listed with a reason.

`reference_operations.json` has the names of langgraph-api 0.16.7: `METHOD /path` -> `query:`, `header:` and `body:` parameters. Routes
that are not part of our OpenAPI document (other protocols) are compared by path alone.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from fastapi.routing import iter_route_contexts
from tests.integration.server.conftest import Server

ROOT = Path(__file__).parents[3]
REFERENCE = json.loads((ROOT / "tests/fixtures/reference_operations.json").read_text())
PAGE = ROOT / "docs/reference/differences.md"
Operations = dict[str, set[str]]


def listed() -> set[tuple[str, str]]:
    rows = [row.split("|") for row in PAGE.read_text().split("## Not here")[1].splitlines() if row.startswith("| `")]
    assert all(len(row) == 5 and row[3].strip() for row in rows), "every difference has a reason"
    return {(row[1].strip().strip("`"), row[2].strip().strip("`")) for row in rows}


def unnamed(operation: str) -> str:
    """Without the names of path parameters, which may differ."""
    return re.sub(r"\{[^}]*\}", "{}", operation)


def resolve(document: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in schema:
        found: Any = document
        for part in schema["$ref"].split("/")[1:]:
            found = found[part]
        schema = found
    return schema


def fields_of(document: dict[str, Any], schema: dict[str, Any]) -> set[str]:
    schema = resolve(document, schema)
    nested = [each for kind in ("allOf", "anyOf", "oneOf") for each in schema.get(kind, ())]
    return set(schema.get("properties", ())).union(*(fields_of(document, each) for each in nested))


def operations_of(document: dict[str, Any]) -> Operations:
    found: Operations = {}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            names = {f"{each['in']}:{each['name']}" for each in operation.get("parameters", ()) if each["in"] != "path"}
            for content in operation.get("requestBody", {}).get("content", {}).values():
                names |= {f"body:{name}" for name in fields_of(document, content["schema"])}
            found[unnamed(f"{method.upper()} {path}")] = {
                name.lower() if name.startswith("header:") else name for name in names
            }
    return found


async def test_every_operation_and_parameter_exists_or_is_listed(server: Server) -> None:
    document = (await server.http.get("/openapi.json")).json()
    ours = operations_of(document)
    routes = {
        unnamed(f"{method} {route.path}") for route in iter_route_contexts(server.app.routes) for method in route.methods or ()
    }
    assert len(REFERENCE) == 64
    by_path_alone = {operation for operation in REFERENCE if unnamed(operation) not in ours}
    assert by_path_alone == {"POST /mcp/", "GET /mcp/", "DELETE /mcp/"}, "the page says so"
    missing = set()
    for operation, parameters in REFERENCE.items():
        known = ours.get(unnamed(operation))
        if known is None:
            missing |= set() if unnamed(operation) in routes else {(operation, "")}
        else:
            missing |= {(operation, name) for name in parameters if name not in known}
    assert missing == listed()
