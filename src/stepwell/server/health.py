"""The server's health and capabilities: what `/ok` and `/info` return."""

from __future__ import annotations

import asyncio
from importlib.metadata import version
from typing import Any

from stepwell.errors import NotReadyError, StorageUnavailableError
from stepwell.server.parts import Services

_CHECK_S = 5.0


async def check_readiness(services: Services, *, check_db: bool) -> dict[str, bool]:
    """Returns `{"ok": true}`. With `check_db`, writes to the database, and raises `StorageUnavailableError` if that fails, or
    `NotReadyError` if runs are not executed or the server is stopping."""
    if check_db:
        if services.engine.draining:
            raise NotReadyError("This server is being stopped: it ends what it has begun. Ask another one.")
        await _check_storage(services)
        _check_duties(services)
    return {"ok": True}


async def _check_storage(services: Services) -> None:
    try:
        async with asyncio.timeout(_CHECK_S):
            await services.persistence.check()
    except TimeoutError as error:
        raise StorageUnavailableError(f"The database has not answered within {_CHECK_S:g} s. Look at its disk.") from error


def _check_duties(services: Services) -> None:
    if failing := services.supervisor.failing(vital=True):
        # We leave out a duty's error: it may quote user data, which belongs only in the log.
        names = ", ".join(duty.name for duty in failing)
        raise NotReadyError(f"Failing, and tried again: {names}. The server's log says why.")


def describe_server() -> dict[str, Any]:
    """Versions, and the features that clients can rely on."""
    return {
        "version": version("stepwell"),
        "langgraph_py_version": version("langgraph"),
        "flags": {
            "assistants": True,
            "crons": True,
            "langsmith": False,
            "langsmith_tracing_replicas": False,
            "strict_resume": True,
        },
        "metadata": {"server": "stepwell"},
    }


async def describe_health(services: Services) -> dict[str, Any]:
    """For operators: what is running, what is failing, how much is stored. Never raises: a failed query is listed as a problem."""
    problems = [*services.registry.problems.values()]
    try:
        await check_readiness(services, check_db=True)
    except (NotReadyError, StorageUnavailableError) as error:
        problems.append(str(error))
    backlog = await services.persistence.maintenance.backlog()
    figures = services.persistence.maintenance.figures()
    return {
        "ok": not problems,
        "version": version("stepwell"),
        "started_at": services.started_at,
        "runs": {"running": backlog.running, "pending": backlog.pending, "oldest_pending_s": backlog.oldest_s},
        "streams": len(services.streams),
        "database": {"bytes": figures.size_bytes},
        "duties": [
            {"name": duty.name, "vital": duty.vital, "ok": duty.failing is None, "failures": duty.failures}
            for duty in services.supervisor.duties
        ],
        "problems": problems,
    }
