"""Is the server well: what `/ok` and `/info` say."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from stepwell.server.opening import Services


async def readiness(services: Services, *, check_db: bool) -> dict[str, bool]:
    """`{"ok": true}`; with `check_db` the database is written to, and `StorageUnavailableError` says that it cannot be."""
    if check_db:
        await services.persistence.check()
    return {"ok": True}


def describe_server() -> dict[str, Any]:
    """Versions, and what clients may count on."""
    return {
        "version": version("stepwell"),
        "langgraph_py_version": version("langgraph"),
        "flags": {
            "assistants": True,
            "crons": False,
            "langsmith": False,
            "langsmith_tracing_replicas": False,
            "strict_resume": True,
        },
        "metadata": {"server": "stepwell"},
    }
