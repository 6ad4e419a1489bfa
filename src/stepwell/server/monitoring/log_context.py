"""Which request and run a log line belongs to, and what must not appear in it: the keys passed to the run. Set when a request or a run
starts; `logs` reads it for every record.

The values are context variables: tasks, and the threads in which LangGraph runs nodes, inherit them, so that lines of a library inside a
node are attributed too. Nothing here writes a log.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from contextvars import ContextVar
from functools import lru_cache

from stepwell.database.types import Run
from stepwell.secrets.text import hidden_here

_NONE: Mapping[str, str] = {}
_run: ContextVar[Mapping[str, str]] = ContextVar("stepwell_run", default=_NONE)
_secrets: ContextVar[frozenset[str]] = ContextVar("stepwell_secrets", default=frozenset())
_request: ContextVar[Mapping[str, str]] = ContextVar("stepwell_request", default=_NONE)


def enter_run(run: Run) -> None:
    """Attribute what the current task logs from now on to this run."""
    _run.set(run_fields(run))
    _secrets.set(run.request.secrets)


def leave_run() -> None:
    _run.set(_NONE)
    _secrets.set(frozenset())


def enter_request(request_id: str) -> None:
    """Attribute what the current task logs from now on to this request."""
    _request.set({"request_id": request_id})


def current_fields() -> Mapping[str, str]:
    """The fields of the current request and run."""
    run, request = _run.get(), _request.get()
    return {**request, **run} if run and request else run or request


def current_secrets() -> frozenset[str]:
    """The keys passed to the current run, and those of the models that it uses."""
    return _secrets.get() | hidden_here()


def run_fields(run: Run) -> dict[str, str]:
    return {
        "run_id": run.run_id,
        "thread_id": run.thread_id,
        "assistant_id": run.request.assistant_id,
        "graph_id": run.request.graph_id,
        "owner_hash": owner_hash(run.owner),
    }


@lru_cache(maxsize=1024)
def owner_hash(owner: str) -> str:
    """Tells users apart without naming them: an owner may be an e-mail address."""
    return hashlib.sha256(owner.encode()).hexdigest()[:12]
