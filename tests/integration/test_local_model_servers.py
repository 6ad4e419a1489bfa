"""Ollama and LM Studio: the real clients against a server on loopback that speaks both protocols."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import openai
import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessageChunk
from langchain_ollama import ChatOllama
from langchain_openai import ChatOpenAI
from ollama import ResponseError

from stepwell.models import resolve_model
from stepwell.settings import Settings

KEY = "the-right-key"
ANSWER = ["The ", "sum ", "is ", "5."]


class ModelServer(ThreadingHTTPServer):
    """Answers with text, or calls `add` when that tool is offered and has not answered yet. Remembers what it was asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests: list[dict[str, Any]] = []

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    server: ModelServer

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append(request)
        if self.path == "/api/chat":
            self.ollama(request)
        elif self.path == "/v1/chat/completions":
            self.openai(request)
        else:
            self.reply(404, {"error": {"message": f"no such path {self.path}"}})

    def ollama(self, request: dict[str, Any]) -> None:
        model = request["model"]
        if model == "missing":
            return self.reply(404, {"error": f"model '{model}' not found"})
        if wants_tool(request):
            call = {"function": {"name": "add", "arguments": {"a": 2, "b": 3}}}
            parts = [{"role": "assistant", "content": "", "tool_calls": [call]}]
        else:
            parts = [{"role": "assistant", "content": part} for part in ANSWER]
        lines = [{"model": model, "created_at": "2026-01-01T00:00:00Z", "message": part, "done": False} for part in parts]
        end = {"done": True, "done_reason": "stop", "prompt_eval_count": 7, "eval_count": 4}
        lines.append({**lines[-1], "message": {"role": "assistant", "content": ""}, **end})
        return self.stream("application/x-ndjson", [json.dumps(line) + "\n" for line in lines])

    def openai(self, request: dict[str, Any]) -> None:
        if self.headers["Authorization"] != f"Bearer {KEY}":
            return self.reply(401, {"error": {"message": "wrong key"}})
        if request["model"] in ("missing", "broken"):
            status = {"missing": 404, "broken": 500}[request["model"]]
            return self.reply(status, {"error": {"message": f"the model is {request['model']}"}})
        if wants_tool(request):
            call = {"id": "call_1", "type": "function", "function": {"name": "add", "arguments": '{"a": 2, "b": 3}'}}
            deltas, finish = [{"role": "assistant", "tool_calls": [{**call, "index": 0}]}], "tool_calls"
            message = {"role": "assistant", "content": None, "tool_calls": [call]}
        else:
            deltas, finish = [{"role": "assistant", "content": part} for part in ANSWER], "stop"
            message = {"role": "assistant", "content": "".join(ANSWER)}
        usage = {"prompt_tokens": 7, "completion_tokens": 4, "total_tokens": 11}
        base = {"id": "c1", "created": 1, "model": request["model"]}
        if not request.get("stream"):
            choice = {"index": 0, "message": message, "finish_reason": finish}
            return self.reply(200, {**base, "object": "chat.completion", "choices": [choice], "usage": usage})
        chunks = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
        chunks.append({"index": 0, "delta": {}, "finish_reason": finish})
        events = [{**base, "object": "chat.completion.chunk", "choices": [chunk]} for chunk in chunks]
        if request.get("stream_options", {}).get("include_usage"):
            events.append({**base, "object": "chat.completion.chunk", "choices": [], "usage": usage})
        return self.stream("text/event-stream", [f"data: {json.dumps(e)}\n\n" for e in events] + ["data: [DONE]\n\n"])

    def reply(self, status: int, body: dict[str, Any]) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def stream(self, kind: str, parts: list[str]) -> None:
        """Parts one after the other; the end of the connection is the end of the answer."""
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.end_headers()
        for part in parts:
            self.wfile.write(part.encode())
            self.wfile.flush()

    def log_message(self, *arguments: Any) -> None:
        """Stay silent."""


def wants_tool(request: dict[str, Any]) -> bool:
    return bool(request.get("tools")) and not any(message["role"] == "tool" for message in request["messages"])


@pytest.fixture
def server(monkeypatch) -> Iterator[ModelServer]:
    for proxy in ("NO_PROXY", "no_proxy"):  # a developer's proxy must not see what is meant for loopback
        monkeypatch.setenv(proxy, "127.0.0.1")
    with ModelServer() as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def environment(provider: str, server: ModelServer, *, name: str = "some-model") -> Settings:
    """The environment variables of a provider."""
    local = {
        "ollama": {"OLLAMA_MODEL_NAME": name, "OLLAMA_HOST": server.address},
        "lm-studio": {"LM_STUDIO_MODEL_NAME": name, "LM_STUDIO_BASE_URL": server.address, "LM_STUDIO_API_KEY": KEY},
    }
    return Settings.load({"DEEPAGENTS_MODEL_PROVIDER": provider, **local[provider]})


BOTH = pytest.mark.parametrize("provider", ["ollama", "lm-studio"])


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@BOTH
def test_a_model_of_the_environment_answers(server, provider):
    """D15: Ollama and LM Studio by environment."""
    model = resolve_model(None, settings=environment(provider, server))
    assert isinstance(model, {"ollama": ChatOllama, "lm-studio": ChatOpenAI}[provider])
    answer = model.invoke("What is 2 + 3?")
    assert answer.text == "The sum is 5."
    assert answer.usage_metadata["total_tokens"] == 11
    assert server.requests[0]["model"] == "some-model"


@BOTH
def test_the_answer_streams_in_parts(server, provider):
    model = resolve_model(None, settings=environment(provider, server))
    chunks = list(model.stream("What is 2 + 3?"))
    assert [chunk.text for chunk in chunks if chunk.text] == ANSWER
    assert sum(chunks, AIMessageChunk("")).usage_metadata["total_tokens"] == 11


@BOTH
async def test_the_answer_streams_in_parts_async(server, provider):
    model = resolve_model(None, settings=environment(provider, server))
    assert [chunk.text async for chunk in model.astream("What is 2 + 3?") if chunk.text] == ANSWER


@BOTH
def test_an_agent_runs_its_tool_loop(server, provider):
    """D15: the models of the environment drive an agent."""
    agent = create_agent(resolve_model(None, settings=environment(provider, server)), [add])
    messages = agent.invoke({"messages": [("user", "What is 2 + 3?")]})["messages"]
    assert [(message.type, message.text) for message in messages[2:]] == [("tool", "5"), ("ai", "The sum is 5.")]
    assert messages[1].tool_calls[0]["args"] == {"a": 2, "b": 3}


@BOTH
async def test_an_agent_runs_its_tool_loop_async_and_streams(server, provider):
    agent = create_agent(resolve_model(None, settings=environment(provider, server)), [add])
    parts = [
        chunk.text
        async for chunk, _ in agent.astream({"messages": [("user", "What is 2 + 3?")]}, stream_mode="messages")
        if isinstance(chunk, AIMessageChunk) and chunk.text
    ]
    assert parts == ANSWER


@pytest.mark.parametrize("name", ["ollama:some-model", "lm-studio:some-model"])
def test_an_explicit_name_uses_the_address_of_the_environment(server, name):
    settings = environment(name.split(":")[0], server, name="another")
    assert resolve_model(name, settings=settings).invoke("?").text == "The sum is 5."
    assert server.requests[0]["model"] == "some-model"


def test_settings_of_a_copy_are_on_the_wire_and_the_shared_model_keeps_its_own(server):
    """D15: per-subagent model_settings, as the server sees them."""
    shared = resolve_model(None, settings=environment("lm-studio", server), model_settings={"temperature": 0.1})
    copy = resolve_model(shared, model_settings={"temperature": 0.9, "max_tokens": 3})
    copy.invoke("?")
    shared.invoke("?")
    first, second = server.requests
    assert (first["temperature"], first["max_completion_tokens"]) == (0.9, 3)
    assert (second["temperature"], second.get("max_completion_tokens")) == (0.1, None)


def test_settings_reach_ollama_as_options(server):
    resolve_model(None, settings=environment("ollama", server), model_settings={"max_tokens": 3, "temperature": 0.9}).invoke(
        "?"
    )
    options = server.requests[0]["options"]
    assert (options["num_predict"], options["temperature"]) == (3, 0.9)


def test_ollama_says_which_model_is_missing(server):
    model = resolve_model(None, settings=environment("ollama", server, name="missing"))
    with pytest.raises(ResponseError, match="model 'missing' not found") as caught:
        model.invoke("?")
    assert caught.value.status_code == 404


@pytest.mark.parametrize(
    ("name", "error"), [("missing", openai.NotFoundError), ("broken", openai.InternalServerError)], ids=["404", "500"]
)
def test_lm_studio_errors_are_the_sdks(server, name, error):
    model = resolve_model(None, settings=environment("lm-studio", server, name=name), model_settings={"max_retries": 0})
    with pytest.raises(error, match=f"the model is {name}"):
        model.invoke("?")


def test_lm_studio_refuses_a_wrong_key_without_showing_it(server):
    environ = {"LM_STUDIO_MODEL_NAME": "m", "LM_STUDIO_BASE_URL": server.address, "LM_STUDIO_API_KEY": "a-wrong-key"}
    model = resolve_model(None, settings=Settings.load(environ))
    with pytest.raises(openai.AuthenticationError, match="wrong key") as caught:
        model.invoke("?")
    assert "a-wrong-key" not in str(caught.value) + repr(model)


def test_building_asks_the_server_nothing(server):
    for provider in ("ollama", "lm-studio"):
        resolve_model(None, settings=environment(provider, server))
    assert server.requests == []
