"""Whatever OpenAPI allows, and much that it does not, asked of every route: no 5xx, and answers as documented.

Ids that exist are put into half of the requests, so that they get past the first "not found". `make test` asks little of each
route, `make prove` much.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zlib import crc32

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.failures import FailureGroup
from schemathesis.specs.openapi.checks import content_type_conformance, response_schema_conformance, status_code_conformance
from tests.conftest import Effort
from tests.integration.clients.processes import Served, serving

GRAPHS = Path(__file__).parents[1] / "clients" / "langgraph.json"
HI = {"messages": [{"role": "user", "content": "hi"}]}
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
SLOW = ("after_seconds", "webhook")  # what would make a run wait, or leave the machine

NOT_ASKED = {
    "/api/model/load",  # it would download a model; see test_model_load
    "/threads/{thread_id}/stream",  # it never ends; see test_sdk_threads
    "/threads/{thread_id}/stream/events",  # nor does it
}

pytestmark = pytest.mark.prove


@schemathesis.serializer("application/zip")
def as_it_is(context: Any, value: Any) -> bytes:
    """A file that is sent; the tool makes no bundles."""
    return value if isinstance(value, bytes) else str(value).encode(errors="replace")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(GRAPHS, tmp_path_factory.mktemp("served")) as running:
        yield running


@pytest.fixture(scope="module")
def api(served: Served) -> Any:
    return schemathesis.openapi.from_url(f"{served.url}/openapi.json")


@pytest.fixture(scope="module")
def known(served: Served) -> dict[str, str]:
    """A thread with a run and a state, and a cron."""
    with httpx.Client(base_url=served.url, timeout=60) as http:
        thread = http.post("/threads", json={}).json()["thread_id"]
        run = http.post(f"/threads/{thread}/runs", json={"assistant_id": "echo", "input": HI}).json()["run_id"]
        http.get(f"/threads/{thread}/runs/{run}/join")
        cron = http.post("/runs/crons", json={"assistant_id": "echo", "schedule": "0 0 1 1 *"}).json()["cron_id"]
        return {"thread_id": thread, "run_id": run, "assistant_id": "echo", "cron_id": cron}


@pytest.mark.timeout(1800)
def test_no_request_breaks_the_server(
    served: Served, api: Any, known: dict[str, str], effort: Effort, record_property: Any
) -> None:
    broken: dict[str, str] = {}
    asked: dict[str, int] = {}
    unasked: list[str] = []
    for result in api.get_all_operations():
        operation = result.ok()
        if operation.path in NOT_ASKED:
            continue
        for mode in _modes(operation):
            label = f"{operation.label} {mode.value}"
            try:
                asked[label] = _ask(operation.as_strategy(generation_mode=mode), known, effort.cases(2, 100))
            except FailureGroup as failures:
                broken[label] = str(failures)
            except Unsatisfiable:
                unasked.append(label)
    record_property("requests", sum(asked.values()))
    said = "\n\n".join(f"{label}: {what}" for label, what in broken.items())
    assert not broken, f"{said}\n\nThe server's log:\n{served.lines.text[-20_000:]}"
    # Whether it can think of a wrong request is the tool's affair; of an allowed one there must be some for every route.
    assert not [label for label in unasked if label.endswith(GenerationMode.POSITIVE.value)], "routes nobody asked"
    assert asked, "the page names no route"
    assert min(asked.values()) > 0


def _modes(operation: Any) -> list[GenerationMode]:
    """What the page allows, and what it does not; nothing can be wrong about a request without parameters and body."""
    can_be_wrong = any(operation.iter_parameters()) or bool(operation.body)
    return [GenerationMode.POSITIVE, *([GenerationMode.NEGATIVE] if can_be_wrong else [])]


def _ask(cases: Any, known: dict[str, str], most: int) -> int:
    """At most so many requests, each checked; gives how many there were, which the tool decides."""
    asked = 0

    @given(case=cases)
    @settings(max_examples=most, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    def ask(case: Any) -> None:
        nonlocal asked
        asked += 1
        _use_known(case, known)
        case.call_and_validate(checks=CHECKS, timeout=60)

    ask()
    return asked


def _use_known(case: Any, known: dict[str, str]) -> None:
    """Put what exists into every second request; deletions keep to what does not exist."""
    if case.method.upper() == "DELETE" or crc32(f"{case.body}{case.path_parameters}".encode(errors="replace")) % 2:
        return
    for name in set(case.path_parameters or {}) & set(known):
        case.path_parameters[name] = known[name]
    for body in case.body if isinstance(case.body, list) else [case.body]:
        if isinstance(body, dict) and "assistant_id" in body:
            body["assistant_id"] = known["assistant_id"]
            for name in SLOW:
                body.pop(name, None)
