"""Providers on loopback: the real packages of OpenAI, Anthropic and Ollama, and canned answers in their own wire formats.

Each answer thinks (where its provider can), says something and calls the tool `add`; when the request holds a result, it only says
something.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from langchain_core.language_models import BaseChatModel

ARGS = ('{"a": 1,', ' "b": 2}')
WORDS = ("It is", " three")
Event = dict[str, Any]


def openai_chat(asks: bool) -> list[Event]:
    def chunk(delta: Event, finish: str | None = None) -> Event:
        return {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    def call(**piece: Any) -> Event:
        return chunk({"tool_calls": [{"index": 0, **piece}]})

    base: Event = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-4.1"}
    chunks = [chunk({"role": "assistant", "content": ""}), *(chunk({"content": word}) for word in WORDS)]
    if asks:
        chunks.append(call(id="call_1", type="function", function={"name": "add", "arguments": ""}))
        chunks += [call(function={"arguments": piece}) for piece in ARGS]
    usage = {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}
    return [*chunks, chunk({}, "tool_calls" if asks else "stop"), {**base, "choices": [], "usage": usage}]


def openai_responses(asks: bool) -> list[Event]:
    about = {
        "object": "response",
        "created_at": 1,
        "model": "gpt-5",
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }
    response: Event = {"id": f"resp_{'ask' if asks else 'tell'}", "status": "in_progress", "output": [], **about}
    thought = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm."}]}
    text = {"type": "output_text", "text": "".join(WORDS), "annotations": []}
    said = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [text]}
    call = {
        "type": "function_call",
        "id": "fc_1",
        "call_id": "call_1",
        "name": "add",
        "arguments": "".join(ARGS),
        "status": "completed",
    }
    in_thought = {"item_id": "rs_1", "output_index": 0, "summary_index": 0}
    in_text = {"item_id": "msg_1", "output_index": 1, "content_index": 0}
    in_call = {"item_id": "fc_1", "output_index": 2}
    events: list[Event] = [
        {"type": "response.created", "response": response},
        {"type": "response.output_item.added", "output_index": 0, "item": {**thought, "summary": []}},
        {"type": "response.reasoning_summary_part.added", **in_thought, "part": {"type": "summary_text", "text": ""}},
        {"type": "response.reasoning_summary_text.delta", **in_thought, "delta": "Hm."},
        {"type": "response.output_item.done", "output_index": 0, "item": thought},
        {"type": "response.output_item.added", "output_index": 1, "item": {**said, "status": "in_progress", "content": []}},
        *({"type": "response.output_text.delta", **in_text, "delta": word, "logprobs": []} for word in WORDS),
        {"type": "response.output_text.done", **in_text, "text": "".join(WORDS), "logprobs": []},
        {"type": "response.output_item.done", "output_index": 1, "item": said},
    ]
    if asks:
        events.append({"type": "response.output_item.added", "output_index": 2, "item": {**call, "arguments": ""}})
        events += [{"type": "response.function_call_arguments.delta", **in_call, "delta": piece} for piece in ARGS]
        events.append({"type": "response.output_item.done", "output_index": 2, "item": call})
    usage = {"input_tokens": 7, "output_tokens": 5, "total_tokens": 12}
    details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 1}}
    done = {
        **response,
        "status": "completed",
        "output": [thought, said, *([call] if asks else [])],
        "usage": {**usage, **details},
    }
    events.append({"type": "response.completed", "response": done})
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]


def anthropic(asks: bool) -> list[Event]:
    def block(index: int, start: Event, *deltas: Event) -> Iterator[Event]:
        yield {"type": "content_block_start", "index": index, "content_block": start}
        yield from ({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas)
        yield {"type": "content_block_stop", "index": index}

    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude", "content": [], "stop_reason": None}
    usage = {"input_tokens": 7, "output_tokens": 1}
    thinking = [{"type": "thinking_delta", "thinking": "Hm."}, {"type": "signature_delta", "signature": "c2ln"}]
    events = [
        {"type": "message_start", "message": {**message, "stop_sequence": None, "usage": usage}},
        *block(0, {"type": "thinking", "thinking": "", "signature": ""}, *thinking),
        *block(1, {"type": "text", "text": ""}, *({"type": "text_delta", "text": word} for word in WORDS)),
    ]
    if asks:
        pieces = ({"type": "input_json_delta", "partial_json": piece} for piece in ("", *ARGS))
        events += block(2, {"type": "tool_use", "id": "toolu_1", "name": "add", "input": {}}, *pieces)
    reason = {"stop_reason": "tool_use" if asks else "end_turn", "stop_sequence": None}
    return [*events, {"type": "message_delta", "delta": reason, "usage": {"output_tokens": 5}}, {"type": "message_stop"}]


def ollama(asks: bool) -> list[Event]:
    def line(done: bool = False, **message: Any) -> Event:
        about = {"model": "m", "created_at": "2026-01-01T00:00:00Z", "done": done}
        return {**about, "message": {"role": "assistant", "content": "", **message}}

    call = {"function": {"name": "add", "arguments": json.loads("".join(ARGS))}}
    last = {**line(done=True), "done_reason": "stop", "prompt_eval_count": 7, "eval_count": 5}
    return [*(line(content=word) for word in WORDS), *([line(tool_calls=[call])] if asks else []), last]


def _make_openai(address: str, **options: Any) -> BaseChatModel:
    from langchain_openai import ChatOpenAI

    return ChatOpenAI(model="gpt-5", base_url=f"{address}/v1", api_key="none", stream_usage=True, **options)


def _make_anthropic(address: str) -> BaseChatModel:
    from langchain_anthropic import ChatAnthropic

    thinking = {"type": "enabled", "budget_tokens": 1024}
    return ChatAnthropic(model="claude", base_url=address, api_key="none", max_tokens=2048, thinking=thinking)


def _make_ollama(address: str) -> BaseChatModel:
    from langchain_ollama import ChatOllama

    return ChatOllama(model="m", base_url=address)


PROVIDERS: dict[str, Callable[[str], BaseChatModel]] = {
    "openai_chat": _make_openai,
    "openai_responses": lambda address: _make_openai(address, use_responses_api=True),
    "openai_responses_v1": lambda address: _make_openai(address, use_responses_api=True, output_version="v1"),
    "anthropic": _make_anthropic,
    "ollama": _make_ollama,
}
"""Name -> the real package's model, asking the server at an address."""

_RESULTS = ('"role": "tool"', '"role":"tool"', '"tool_result"', '"function_call_output"')


class _Answers(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        asked = self.rfile.read(int(self.headers["Content-Length"])).decode()
        asks = not any(each in asked for each in _RESULTS)
        if self.path.endswith("/chat/completions"):
            lines = [f"data: {json.dumps(each)}\n\n" for each in openai_chat(asks)]
            self._reply("text/event-stream", "".join([*lines, "data: [DONE]\n\n"]))
        elif self.path.endswith("/api/chat"):
            self._reply("application/x-ndjson", "".join(f"{json.dumps(each)}\n" for each in ollama(asks)))
        else:
            events = openai_responses(asks) if self.path.endswith("/responses") else anthropic(asks)
            named = (f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in events)
            self._reply("text/event-stream", "".join(named))

    def _reply(self, kind: str, body: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body.encode())))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *arguments: Any) -> None:
        """Stay silent."""


@contextmanager
def answering() -> Iterator[str]:
    """The address of a server that answers for all of them, until left."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Answers) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
