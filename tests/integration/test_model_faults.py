"""Bad model servers: the real clients of Ollama and of OpenAI's protocol against a server on loopback that misbehaves."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from stepwell import create_deep_agent
from stepwell.errors import (
    ModelAccessError,
    ModelBusyError,
    ModelCallError,
    ModelDeadlineError,
    ModelStreamCutError,
    ModelUnreachableError,
)
from stepwell.middleware.robust_calls import RobustCallsMiddleware
from stepwell.models import resolve_model
from stepwell.settings import Settings

KEY = "a-secret-key"
WORDS = ["The ", "sum ", "is ", "5."]
USER = {"messages": [("user", "What is 2 + 3?")]}


class BadServer(ThreadingHTTPServer):
    """Plays a list of behaviours, one for each request; the last one for ever."""

    daemon_threads = True
    request_queue_size = 16

    def __init__(self, *behaviours: str) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.behaviours = list(behaviours)
        self.asked = 0
        self.closing = threading.Event()

    def next_behaviour(self) -> str:
        self.asked += 1
        return self.behaviours.pop(0) if len(self.behaviours) > 1 else self.behaviours[0]

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that has gone is what these tests are about."""


class Handler(BaseHTTPRequestHandler):
    server: BadServer
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        behaviour = self.server.next_behaviour()
        if behaviour.isdigit():
            return self.refuse(int(behaviour))
        if behaviour == "hang":
            self.server.closing.wait(60)
            return self.drop()
        if self.path == "/v1/chat/completions" and not request.get("stream"):
            return self.whole(request)
        return self.stream(behaviour, [*self.parts(request)], chunked=behaviour != "silent")

    def parts(self, request: dict[str, Any]) -> Iterator[str]:
        if self.path == "/api/chat":
            base = {"model": request["model"], "created_at": "2026-01-01T00:00:00Z"}
            for word in WORDS:
                yield json.dumps({**base, "message": {"role": "assistant", "content": word}, "done": False}) + "\n"
            end = {"done": True, "done_reason": "stop", "prompt_eval_count": 7, "eval_count": 4}
            yield json.dumps({**base, "message": {"role": "assistant", "content": ""}, **end}) + "\n"
            return
        base = {"id": "c1", "created": 1, "model": request["model"], "object": "chat.completion.chunk"}
        for word in WORDS:
            yield _event({**base, "choices": [{"index": 0, "delta": {"role": "assistant", "content": word}}]})
        yield _event({**base, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}) + "data: [DONE]\n\n"

    def stream(self, behaviour: str, parts: list[str], *, chunked: bool) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream" if self.path.startswith("/v1") else "application/x-ndjson")
        self.send_header("Connection", "close")
        if chunked:
            self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        shown = parts if behaviour == "good" else parts[:2]
        for part in shown:
            self.send(part, chunked)
        if behaviour == "drip":
            self.server.closing.wait(60)
        if behaviour == "good":
            self.wfile.write(b"0\r\n\r\n")
        else:
            self.drop()

    def send(self, part: str, chunked: bool) -> None:
        content = part.encode()
        self.wfile.write(b"%x\r\n%b\r\n" % (len(content), content) if chunked else content)
        self.wfile.flush()

    def drop(self) -> None:
        """End the connection without another word."""
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def refuse(self, status: int) -> None:
        self.reply(status, {"error": {"message": "no"}} if self.path.startswith("/v1") else {"error": "no"})

    def whole(self, request: dict[str, Any]) -> None:
        message = {"role": "assistant", "content": "".join(WORDS)}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        body = {"id": "c1", "created": 1, "model": request["model"], "object": "chat.completion", "choices": [choice]}
        self.reply(200, body)

    def reply(self, status: int, body: dict[str, Any]) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Retry-After", "0")
        self.send_header("Connection", "close")  # SDKs keep connections for later, longer than a test lasts
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *arguments: Any) -> None:
        """Stay silent."""


def _event(chunk: dict[str, Any]) -> str:
    return f"data: {json.dumps(chunk)}\n\n"


@pytest.fixture
def serve(monkeypatch) -> Iterator[Callable[..., BadServer]]:
    for proxy in ("NO_PROXY", "no_proxy"):  # a developer's proxy must not see what is meant for loopback
        monkeypatch.setenv(proxy, "127.0.0.1")
    running: list[tuple[BadServer, threading.Thread]] = []

    def start(*behaviours: str) -> BadServer:
        server = BadServer(*behaviours)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        running.append((server, thread))
        return server

    yield start
    for server, thread in running:
        server.closing.set()
        server.shutdown()
        server.server_close()
        thread.join()


def model_of(provider: str, address: str) -> Any:
    local = {
        "ollama": {"OLLAMA_MODEL_NAME": "m", "OLLAMA_HOST": address},
        "lm-studio": {"LM_STUDIO_MODEL_NAME": "m", "LM_STUDIO_BASE_URL": address, "LM_STUDIO_API_KEY": KEY},
    }[provider]
    settings = Settings.load({"DEEPAGENTS_MODEL_PROVIDER": provider, **local})
    # The SDK's own retries would hide how often we ask.
    return resolve_model(None, settings=settings, model_settings={"max_retries": 0} if provider == "lm-studio" else None)


def agent(provider: str, address: str, *, checkpointer: Any = None, **options: Any) -> Any:
    robust = RobustCallsMiddleware(first_wait_s=0.001, **options)
    return create_deep_agent(model_of(provider, address), middleware=[robust], checkpointer=checkpointer)


async def follow(chat: Any, *, is_async: bool, config: Any = None) -> list[str]:
    """The texts that a client sees."""
    if not is_async:
        return await asyncio.to_thread(lambda: [part.text for part, _ in chat.stream(USER, config, stream_mode="messages")])
    return [part.text async for part, _ in chat.astream(USER, config, stream_mode="messages")]


BOTH = pytest.mark.parametrize("provider", ["ollama", "lm-studio"])
COLOURS = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])


@BOTH
@COLOURS
@pytest.mark.parametrize("fault", ["429", "503", "cut", "silent"])
async def test_a_passing_fault_is_survived(serve, provider, is_async, fault):
    server = serve(fault, "good")
    seen = await follow(agent(provider, server.address), is_async=is_async)
    assert "".join(seen).endswith("The sum is 5.")
    assert server.asked == 2


@BOTH
@COLOURS
@pytest.mark.parametrize("fault", ["cut", "silent"])
async def test_a_cut_stream_leaves_nothing_in_the_thread(serve, provider, is_async, fault):
    chat = agent(provider, serve(fault).address, max_retries=0, checkpointer=InMemorySaver())
    thread = {"configurable": {"thread_id": "t"}}
    with pytest.raises(ModelStreamCutError):
        await follow(chat, is_async=is_async, config=thread)
    assert [message.type for message in chat.get_state(thread).values["messages"]] == ["human"]


@BOTH
@COLOURS
@pytest.mark.parametrize(
    ("behaviour", "limit", "deadline"), [("hang", {"first_token_s": 0.1}, "first token"), ("drip", {"idle_s": 0.1}, "idle")]
)
async def test_a_server_that_stalls_is_given_up(serve, provider, is_async, behaviour, limit, deadline):
    with pytest.raises(ModelDeadlineError) as caught:
        await follow(agent(provider, serve(behaviour).address, max_retries=0, **limit), is_async=is_async)
    assert caught.value.deadline == deadline


@BOTH
async def test_a_server_that_never_answers_is_given_up_in_total(serve, provider):
    with pytest.raises(ModelDeadlineError) as caught:
        await agent(provider, serve("hang").address, total_s=0.2).ainvoke(USER)
    assert caught.value.deadline == "total"


@BOTH
@COLOURS
@pytest.mark.parametrize(
    ("status", "error", "says"),
    [
        ("401", ModelAccessError, "refused the key"),
        ("404", ModelAccessError, "does not know the model"),
        ("429", ModelBusyError, "limits how often"),
        ("503", ModelBusyError, "overloaded"),
    ],
)
async def test_each_fault_says_what_to_do(serve, provider, is_async, status, error, says):
    server = serve(status)
    with pytest.raises(error, match=says) as caught:
        await follow(agent(provider, server.address, max_retries=1), is_async=is_async)
    assert server.asked == (2 if caught.value.retryable else 1)
    assert KEY not in str(caught.value)


@BOTH
@COLOURS
async def test_no_server_at_all(provider, is_async):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
    with pytest.raises(ModelUnreachableError, match="Is the server running"):
        await follow(agent(provider, address, max_retries=1), is_async=is_async)


@COLOURS
async def test_another_provider_takes_over(serve, is_async):
    spare = model_of("ollama", serve("good").address)
    seen = await follow(agent("lm-studio", serve("503").address, max_retries=0, fallback=spare), is_async=is_async)
    assert "".join(seen) == "The sum is 5."


def test_the_key_is_in_no_error(serve):
    with pytest.raises(ModelCallError) as caught:
        agent("lm-studio", serve("401").address).invoke(USER)
    assert KEY not in f"{caught.value!r} {caught.value.__cause__!r}"
