"""The workspace as a server gives it: no cloud settings, and files in a folder; a bucket's settings, and files in the bucket.

The model is a server on loopback that speaks the protocol of LM Studio and does what a model would: the main agent delegates, the
subagent writes a file.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
from langgraph_sdk import get_client
from tests.integration.served.process import environment, serve
from tests.integration.served.warm import run_warm

from stepwell.testing.objects import FakeObjectStore

ASK = {"messages": [{"role": "user", "content": "Note that tea is at four."}]}
WRITTEN = "Tea is at four.\n"


class ModelServer(BaseHTTPRequestHandler):
    """Plays both agents, told apart by their tools."""

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        tools = {tool["function"]["name"] for tool in request.get("tools", ())}
        last = request["messages"][-1]
        if last["role"] == "tool":
            delta: dict[str, Any] = {"content": last["content"]}
        elif "task" in tools:
            delta = _calling("task", description="Write /notes.md", subagent_type="gcs-filesystem")
        else:
            delta = _calling("write_file", file_path="/notes.md", content=WRITTEN)
        reason = "tool_calls" if "tool_calls" in delta else "stop"
        choices = [{"delta": {"role": "assistant", **delta}, "finish_reason": None}, {"delta": {}, "finish_reason": reason}]
        base = {"id": "c1", "created": 1, "model": request["model"], "object": "chat.completion.chunk"}
        lines = [json.dumps({**base, "choices": [{"index": 0, **choice}]}) for choice in choices]
        body = "".join(f"data: {line}\n\n" for line in [*lines, "[DONE]"]).encode()
        if not request.get("stream"):
            message = {"role": "assistant", "content": None, **delta}
            whole = {
                **base,
                "object": "chat.completion",
                "choices": [{"index": 0, "message": message, "finish_reason": reason}],
            }
            body = json.dumps(whole).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream" if request.get("stream") else "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: Any) -> None:
        """Stay silent."""


def _calling(name: str, **arguments: Any) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"tool_calls": [{"index": 0, "id": f"call_{name}", "type": "function", "function": function}]}


@pytest.fixture(scope="module")
def model() -> Iterator[dict[str, str]]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), ModelServer)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    address = f"http://127.0.0.1:{server.server_address[1]}/v1"
    yield {"STEPWELL_MODEL_PROVIDER": "lm-studio", "LM_STUDIO_MODEL_NAME": "scripted", "LM_STUDIO_BASE_URL": address}
    server.shutdown()
    server.server_close()
    thread.join(timeout=60)


async def run_and_approve(url: str, config: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """What a person was asked, and what the agent said after they approved."""
    async with get_client(url=url, api_key=None) as client:
        thread = (await client.threads.create())["thread_id"]
        await client.runs.wait(thread, "workspace", input=ASK, config=config)
        waiting = await client.threads.get(thread)
        ((interrupt,),) = waiting["interrupts"].values()
        answer = {interrupt["id"]: {"decisions": [{"type": "approve"}]}}
        final = await client.runs.wait(thread, "workspace", command={"resume": answer}, config=config)
    return interrupt["value"]["action_requests"][0], final["messages"][-1]["content"]


async def test_with_no_cloud_settings_a_newcomer_works_in_a_folder(tmp_path: Path, model: dict[str, str]):
    """W6, W7: `stepwell serve`, nothing set but a model; the page sends no root."""
    with serve(tmp_path, graphs=None, **model) as server:
        asked, said = await run_and_approve(server.url, {})
    assert asked["diff"].splitlines()[-1] == "+Tea is at four."
    assert asked["base_version"] is None
    assert "/notes.md" in said
    assert (tmp_path / "data" / "workspace" / "local" / "workspace" / "notes.md").read_text() == WRITTEN


def ask_over_http(url: str) -> None:
    """W8: the whole route, including an approval."""
    config = {"configurable": {"gcs_root_path": "/acme/http/"}}
    with httpx.Client(base_url=url, timeout=60, trust_env=False) as http:
        events, thread = ask_agent(http, {**ASK, "config": config})
        (waiting,) = events["interrupt"]["__interrupt__"]
        assert waiting["value"]["action_requests"][0]["path"] == "/notes.md"
        answer = {"resume": {waiting["id"]: {"decisions": [{"type": "approve"}]}}}
        events, again = ask_agent(http, {"thread_id": thread, "command": answer, "config": config})
        assert again == thread
        assert "error" not in events
        refused = http.post("/api/agent", json=ASK)
        assert (refused.status_code, "gcs_root_path" in refused.json()["detail"]) == (422, True)
        for wrong in ({}, {"messages": []}, {**ASK, "command": answer}, {"command": answer}):
            assert http.post("/api/agent", json=wrong).status_code == 422


def ask_agent(http: httpx.Client, body: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """The events of a question by name (the last of each), and the thread it was put on."""
    events: dict[str, Any] = {}
    with http.stream("POST", "/api/agent", json=body) as response:
        response.raise_for_status()
        name = ""
        for line in response.iter_lines():
            if line.startswith("event: "):
                name = line.removeprefix("event: ")
            elif line.startswith("data: "):
                data = json.loads(line.removeprefix("data: "))
                events["interrupt" if name == "updates" and "__interrupt__" in data else name] = data
        return events, response.headers["content-location"].split("/")[2]


async def test_with_a_bucket_each_request_names_its_root(tmp_path: Path, model: dict[str, str]):
    """W4, W7, W8, W9: two tenants, one server, one bucket; a request without a root is refused."""
    with FakeObjectStore("files") as store:
        bucket = {"GCS_BUCKET_NAME": "files", "GOOGLE_CLOUD_CREDENTIALS_JSON": store.credentials_json}
        with serve(tmp_path, graphs=None, **model, **bucket) as server:
            for neighbour in ("acme/notes.md", "acme/plans2/notes.md", "acme/notes.md/x"):
                store.contents.put("files", neighbour, b"their secret")
            answers = [
                await run_and_approve(server.url, {"configurable": {"gcs_root_path": root}})
                for root in ("/acme/plans/", "lonely/plans")
            ]
            assert answers[0] == answers[1], "neighbours make a difference"
            assert "/notes.md" in answers[0][1]
            ask_over_http(server.url)
            async with get_client(url=server.url, api_key=None) as client:
                with pytest.raises(httpx.HTTPStatusError) as refused:
                    await client.runs.wait(None, "workspace", input=ASK)
        written = [stored.name for stored in store.contents.commits if b"secret" not in stored.data]
        assert sorted(written) == ["acme/http/notes.md", "acme/plans/notes.md", "lonely/plans/notes.md"]
    assert "gcs_root_path" in refused.value.response.text


def make_key(folder: Path, user: str) -> str:
    made = run_warm(["keys", "create", "--user", user], folder, environment(STEPWELL_DATA_DIR=str(folder / "data")))
    assert made.returncode == 0, made.stderr
    return made.stdout.strip()


async def test_where_users_sign_in_each_has_the_roots_that_were_given(tmp_path: Path, model: dict[str, str]):
    """W9: the operator's table decides; a user whom nobody named has no root, and another's looks like none."""
    table = tmp_path / "grants.json"
    table.write_text(json.dumps({"ada": ["/acme/"]}))
    keys = {user: make_key(tmp_path, user) for user in ("ada", "eve")}
    variables = {"STEPWELL_AUTH": "required", "STEPWELL_WORKSPACE_GRANTS": str(table)}
    said: dict[str, str] = {}
    with serve(tmp_path, graphs=None, **model, **variables) as server:
        for user, root in (("ada", "/acme/plans/"), ("ada", "/other/"), ("eve", "/acme/plans/"), ("eve", "/other/")):
            config = {"configurable": {"gcs_root_path": root, "langgraph_auth_user": {"identity": "local"}}}
            async with get_client(url=server.url, api_key=keys[user]) as client:
                try:
                    final = await client.runs.wait(None, "workspace", input=ASK, config=config, raise_error=False)
                    said[f"{user} {root}"] = str(final.get("__error__", "asked"))
                except httpx.HTTPStatusError as refused:  # before anything was started
                    said[f"{user} {root}"] = refused.response.json()["detail"]
        async with httpx.AsyncClient(base_url=server.url, headers={"x-api-key": keys["ada"]}, trust_env=False) as http:
            me = (await http.get("/api/me")).json()
    assert (me["roots"], me["read_roots"]) == (["/acme/"], [])
    assert said["ada /acme/plans/"] == "asked"
    refusals = {text for asked, text in said.items() if asked != "ada /acme/plans/"}
    assert len(refusals) == 1
    assert "not open to you" in refusals.pop()
