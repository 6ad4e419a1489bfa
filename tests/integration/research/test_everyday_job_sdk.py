"""The everyday job through `langgraph_sdk` (`tests/support/everyday`), as a program of the analyst would do it: the server reads the
files, their texts go along with the question, and everything after that is threads and runs."""

from __future__ import annotations

import hashlib
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient
from tests.conftest import Effort
from tests.integration.served.process import Server, serve
from tests.support.everyday import case, limits
from tests.support.everyday.elsewhere import author_of, tampered, verify_elsewhere
from tests.support.everyday.model import CaseModel
from tests.support.waiting import wait_until

pytestmark = pytest.mark.timeout(600)
GRAPH = "research"


@pytest.fixture
def model() -> Iterator[CaseModel]:
    with CaseModel() as started:
        yield started


@pytest.fixture
def server(tmp_path: Path, model: CaseModel) -> Iterator[Server]:
    with serve(tmp_path, graphs=None, **model.variables) as started:
        yield started


@pytest.fixture
async def client(server: Server) -> AsyncIterator[LangGraphClient]:
    opened = get_client(url=server.url, api_key=None)
    yield opened
    await opened.aclose()


@pytest.fixture
async def http(server: Server) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=server.url, timeout=120) as opened:
        yield opened


async def read(http: httpx.AsyncClient, name: str, content: bytes) -> dict[str, Any]:
    """A file as a snippet: these are short, so each is one."""
    head = {"content-type": "application/octet-stream", "x-stepwell-file-name": name}
    answer = await http.post("/api/documents/read", content=content, headers=head)
    assert answer.status_code == 200, answer.text
    document = answer.json()
    text, place = document["text"], document["parts"][0]["name"] if document["parts"] else ""
    known = hashlib.sha256(content).hexdigest()[:32]
    return {
        "id": f"{known}:0",
        "document_id": known,
        "label": name,
        "place": place,
        "text": text,
        "start": 0,
        "end": len(text),
    }


async def wait_for_plan(client: LangGraphClient, thread: str) -> dict[str, Any]:
    state = await client.threads.get_state(thread)
    [question] = [each for task in state["tasks"] for each in task["interrupts"]]
    assert question["value"]["type"] == "plan_approval"
    shown: dict[str, Any] = question["value"]
    return shown


async def test_an_analyst_does_an_everyday_job_through_the_sdk(
    client: LangGraphClient,
    http: httpx.AsyncClient,
    server: Server,
    model: CaseModel,
    tmp_path: Path,
    effort: Effort,
    record_property: Callable[[str, Any], None],
) -> None:
    began = time.monotonic()
    snippets = [await read(http, name, content) for name, content in case.files().items()]
    assert snippets[-1]["place"] == "image, transcribed by gpt-4.1, not checked"
    thread = (await client.threads.create())["thread_id"]
    asked = {"user_query": case.QUESTION, "snippets": snippets, "only_documents": True}
    await client.runs.wait(thread, GRAPH, input=asked)
    shown = await wait_for_plan(client, thread)
    assert f"The model gpt-4.1 was shown {case.SCREENSHOT}" in shown["sent"]["summary"]
    plan = shown["plan"]
    plan["steps"][0]["input"] = "why pump 3 stopped"
    await client.runs.wait(thread, GRAPH, command={"resume": {"decision": "edit", "plan": plan}})
    assert (await wait_for_plan(client, thread))["plan"]["steps"][0]["input"] == "why pump 3 stopped"

    with model.held():
        run = await client.runs.create(thread, GRAPH, command={"resume": {"decision": "approve"}})
        wait_until(model.writing.is_set, "the writer was never asked")
        server.kill()
    server.start()
    await client.runs.join(thread, run["run_id"])
    told = (await http.get(f"/api/research/{thread}/report")).json()
    for fact in (case.CAUSE, case.HOURS, case.RULE):
        assert fact.rstrip(".") in told["report"]
    assert case.WRONG not in told["report"]
    if limits.WRONG_SENTENCE == "corrected":
        assert case.RIGHT in told["report"]
        assert "revise" in model.roles
    else:
        [out] = [claim for claim in told["claims"] if not claim["in_report"]]
        assert case.WRONG in out["text"]
        assert "41,700" in " ".join(out["reasons"])

    await client.runs.wait(thread, GRAPH, input={"user_query": case.FOLLOW_UP, "snippets": snippets, "only_documents": True})
    await wait_for_plan(client, thread)
    state: Any = await client.runs.wait(thread, GRAPH, command={"resume": {"decision": "approve"}})
    for fact in case.NEXT_ANSWER:
        assert fact.rstrip(".") in state["final_report"]
    assert len(state["read_sources"]) == len(case.files()), "the follow-up keeps the sources, and has each once"
    assert model.roles.count("see") == 1

    exported = {form: await http.get(f"/api/research/{thread}/export", params={"format": form}) for form in ("md", "docx")}
    assert case.PAYER.rstrip(".") in exported["md"].text
    assert exported["docx"].content.startswith(b"PK")
    bundle = (await http.get(f"/api/research/{thread}/bundle")).content
    key = author_of(server.folder / "data")
    code, said = verify_elsewhere(bundle, key, tmp_path)
    assert code == 0, said
    code, said = verify_elsewhere(tampered(bundle, tmp_path, words=b"20 March", by=b"21 March"), key, tmp_path)
    assert (code, "received.zip does not hold" in said) == (1, True), said

    assert model.unknown == []
    seconds = time.monotonic() - began
    for name, value in (("tokens", model.tokens), ("seconds", round(seconds))):
        record_property(name, value)
    assert model.tokens <= limits.MOST_TOKENS
    assert seconds <= effort.seconds(limits.MOST_SECONDS_BUSY, limits.MOST_SECONDS)
