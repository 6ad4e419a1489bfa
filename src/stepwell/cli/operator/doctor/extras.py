"""Which packages each extra of Stepwell brings, and which of them are missing. Imports none of them."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping

PACKAGES: Mapping[str, tuple[str, ...]] = {
    "server": ("fastapi", "uvicorn", "httpx", "jwt", "prometheus_client"),
    "postgres": ("psycopg",),
    "redis": ("redis",),
    "objects": ("obstore",),
    "otel": ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http"),
    "payments": ("coincurve", "cbor2", "httpx"),
    "mcp": ("langchain_mcp_adapters",),
    "local": ("xllamacpp",),
}
"""Extra -> modules to look for."""


def missing_packages(extra: str) -> list[str]:
    """The modules of an extra that are not installed."""
    return [module for module in PACKAGES[extra] if not _is_installed(module)]


def _is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # a parent is missing
        return False
