"""The OpenAPI document: what FastAPI derives from the routes, and the problems that each route may return.

| code | when |
|---|---|
| 400, 404, 413, 415 | routes with a body: invalid JSON, something that it names does not exist, too large, wrong content type |
| 401, 403, 429 | all but public paths: not signed in, not allowed, too many |
| 422, 503 | all routes: an invalid field, temporarily unavailable |
| 404, 409, 410 | routes whose path names something, or that not every server has; routes that change something; claiming an interrupt |
| 408, 412, 507 | routes that change a workspace: too slow, another version, no space |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from stepwell.answers.client_tools import CONTENTS, DeviceError, content_schema
from stepwell.server.addresses import PUBLIC_PATHS
from stepwell.server.parts import ProductService
from stepwell.server.problems import MEDIA_TYPE
from stepwell.server.run_headers import STARTS_RUN
from stepwell.server.schemas.fields import building_models
from stepwell.server.schemas.system import Problem

DESCRIPTION = "Assistants, threads and runs: the API of LangGraph's SDKs. Errors are RFC 9457 problems."
_WORDS = {
    400: "The body is not JSON",
    401: "Not signed in",
    403: "Not allowed",
    404: "Not found",
    408: "The body did not arrive in time",
    409: "Conflict with the current state",
    410: "The interrupt is no longer open",
    412: "The file has another version",
    413: "The body is too large",
    415: "The Content-Type is not JSON",
    422: "A field is invalid, or the request cannot be carried out",
    429: "Limit reached; retry after Retry-After",
    503: "Temporarily unavailable; retry after Retry-After",
    507: "The workspace is full",
}


def install_openapi(app: FastAPI, security: Mapping[str, Any] | None = None) -> None:
    """Create the document once, on the first request for it. `security` is what a project says about its own auth (`auth.openapi`)."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            with building_models():
                document = get_openapi(title=app.title, version=app.version, description=DESCRIPTION, routes=app.routes)
            document = _with_problems(_with_run_headers(document, app.state.services.products))
            app.openapi_schema = _with_security(document, security or {})
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]  # FastAPI's documented way to customise it


def _with_security(document: dict[str, Any], security: Mapping[str, Any]) -> dict[str, Any]:
    if schemes := security.get("securitySchemes"):
        document.setdefault("components", {})["securitySchemes"] = schemes
    if required := security.get("security"):
        document["security"] = required
    for path, methods in (security.get("paths") or {}).items():
        for method, needed in methods.items():
            if method in document["paths"].get(path, {}):
                document["paths"][path][method]["security"] = needed
    return document


def _with_run_headers(document: dict[str, Any], products: Sequence[ProductService]) -> dict[str, Any]:
    """List the headers that products understand at every operation that starts a run."""
    headers = [
        {
            "name": header.name.lower(),
            "in": "header",
            "required": False,
            "description": header.description,
            "schema": {"anyOf": [{"type": "string"}, {"type": "null"}], "title": header.name},
        }
        for service in products
        if (header := service.run_header)
    ]
    for operations in document["paths"].values():
        for operation in operations.values():
            if operation.pop(next(iter(STARTS_RUN)), None):
                operation["parameters"] = [*operation.get("parameters", ()), *headers]
    return document


def _with_problems(document: dict[str, Any]) -> dict[str, Any]:
    components = document.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    schemas["Problem"] = Problem.model_json_schema()
    schemas.update(_client_tools())
    components["responses"] = {f"Problem{code}": _response(words) for code, words in _WORDS.items()}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            operation["responses"].pop("422", None)
            for code in _codes(path, method, operation):
                operation["responses"][str(code)] = {"$ref": f"#/components/responses/Problem{code}"}
    return document


def _client_tools() -> dict[str, Any]:
    """Schemas of what a device answers to `client_tool_execution`: the content of each operation's result, and the whole answer."""
    contents = {model.__name__: content_schema(model) for model in CONTENTS.values()}
    forms = [{"$ref": f"#/components/schemas/{name}"} for name in contents]
    error = {"$ref": "#/components/schemas/DeviceError"}
    result = {
        "type": "object",
        "required": ["tool_call_id"],
        "properties": {"tool_call_id": {"type": "string"}, "content": {"anyOf": forms}, "error": error},
    }
    answer = {
        "description": "The answer to an interrupt of type client_tool_execution: one result per call, with content or error.",
        "type": "object",
        "required": ["tool_results"],
        "properties": {"tool_results": {"type": "array", "items": result}, "claim_id": {"type": "string"}},
    }
    return {**contents, "DeviceError": content_schema(DeviceError), "ClientToolResults": answer}


def _response(words: str) -> dict[str, Any]:
    return {"description": words, "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}}


def _codes(path: str, method: str, operation: dict[str, Any]) -> list[int]:
    codes = [] if path in PUBLIC_PATHS else [401, 403, 429]
    codes += [400, 404, 413, 415] if "requestBody" in operation else []
    codes += [404] if "{" in path or path.startswith(("/store", "/api/wallet", "/api/workspace")) else []
    codes += [409] if method != "get" else []
    codes += [410] if path.endswith("/claim") and method == "post" else []
    codes += [408, 412, 507] if path.startswith("/api/workspace") and method != "get" else []
    return [*codes, 422, 503]
