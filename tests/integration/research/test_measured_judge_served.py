"""A server tells which model judged a report, with the figures that `stepwell models judge` has stored in its database."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.integration.cli.test_judge_measurement import PAIRS, knows_all
from tests.integration.served.process import Server, serve
from tests.integration.served.warm import run_warm
from tests.support.providers import FakeProvider, Reply
from tests.support.providers.openai import OPENAI

TEXT = "The Zorkmid pier is 310 metres long. It was repaired by Grelt in 1987."
SNIPPET = {"id": "d1#0", "document_id": "d1", "label": "pier.txt", "place": "", "text": TEXT, "start": 0, "end": len(TEXT)}
QUESTION = "How long is the Zorkmid pier, and who repaired it?"


def play(body: Mapping[str, Any]) -> Reply:
    """The provider's model in every role."""
    system, asked = (str(message["content"]) for message in body["messages"][:2])
    if system.startswith("You check one sentence"):
        return knows_all(body) if any(claim in asked for claim, _, _ in PAIRS) else Reply(json.dumps({"verdict": "supported"}))
    if system.startswith("You write a research report"):
        [(name, text), *_] = re.findall(r"^(e\d+) \([^\n]*?\): (.+)$", asked, re.MULTILINE)
        return Reply(f"{text} [{name}]")
    if "violations" in system:
        return Reply(json.dumps({"verdict": "approved", "violations": [], "suggestions": []}))
    step = {"tool": "search_documents", "input": "Zorkmid pier", "rationale": "it is about it"}
    return Reply(json.dumps({"objective": "Know it", "steps": [step]}))


@pytest.fixture
def provider() -> Iterator[FakeProvider]:
    with FakeProvider(OPENAI) as provider:
        provider.answer = play
        yield provider


@pytest.fixture
def server(tmp_path: Path, provider: FakeProvider) -> Iterator[Server]:
    with serve(tmp_path, graphs=None, NO_PROXY="127.0.0.1", **provider.variables) as server:
        yield server


def ask(client: httpx.Client) -> dict[str, Any]:
    """The report on a question about a document, with an approved plan."""
    thread = client.post("/threads", json={}).raise_for_status().json()["thread_id"]
    given = {"user_query": QUESTION, "snippets": [SNIPPET], "only_documents": True}
    for order in ({"input": given}, {"command": {"resume": True}}):
        client.post(f"/threads/{thread}/runs/wait", json={"assistant_id": "research", **order}).raise_for_status()
    return dict(client.get(f"/api/research/{thread}/report").raise_for_status().json())


def test_a_server_tells_what_was_measured(server: Server, provider: FakeProvider, tmp_path: Path) -> None:
    (tmp_path / "mills.jsonl").write_text(
        "\n".join(json.dumps({"claim": claim, "evidence": evidence, "label": label}) for claim, evidence, label in PAIRS),
        encoding="utf-8",
    )
    with httpx.Client(base_url=server.url, timeout=120) as client:
        before = ask(client)["judge"]
        assert (before["model"], before["measured"]) == ("openai:gpt-4.1", None)
        assert "measure it with: stepwell models judge FOLDER" in before["about"]

        measured = run_warm(("models", "judge", "mills.jsonl"), tmp_path, server.environment)
        assert measured.returncode == 0, measured.stderr

        after = ask(client)["judge"]
        assert after["measured"]["sets"] == ["mills"]
        assert after["about"] == measured.stdout.strip().splitlines()[-1]
