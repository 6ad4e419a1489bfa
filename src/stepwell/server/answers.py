"""Answers that are ready: JSON as bytes, encoded once and not checked against a model again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from stepwell.runs.wire import encode


def json_response(value: Any, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """`value` as JSON; messages, times and what else graphs hold included."""
    return Response(encode(value), status, dict(headers or {}), "application/json")


def nothing(status: int = 204) -> Response:
    """Done, with nothing to show."""
    return Response(status_code=status)


def next_page(offset: int, limit: int, found: int) -> dict[str, str]:
    """The header that tells clients where the next page begins. `found` was asked for with one more than `limit`."""
    return {"X-Pagination-Next": str(offset + limit)} if found > limit else {}
