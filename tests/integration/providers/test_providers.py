"""The whole product on each provider, at the level of the wire: what users see, what is asked again, what is counted.

One server per provider runs our plain agent on the provider's real SDK; the provider is a fake on loopback that sends what the real one
sends, faults included.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.integration.served.process import Server, serve
from tests.support.providers import Call, FakeProvider, Fault, Reply, Wire
from tests.support.providers.anthropic import ANTHROPIC
from tests.support.providers.google import GOOGLE
from tests.support.providers.ollama import OLLAMA
from tests.support.providers.openai import MISTRAL, OPENAI
from tests.support.providers.server import KEY
from tests.support.providers.wire import INPUT_TOKENS, OUTPUT_TOKENS, SIGNATURE, FaultKind
from tests.support.stored_rows import files_holding

WIRES = (ANTHROPIC, OPENAI, GOOGLE, MISTRAL, OLLAMA)
NOTE = {"file_path": "/notes/plan.md", "content": 'One step,\n"two" steps — and {braces}.\n'}


@dataclass
class Product:
    server: Server
    provider: FakeProvider

    def ask(self, text: str = "Hello?", thread: str | None = None) -> dict[str, Any]:
        """The thread's state after one question to the agent."""
        with httpx.Client(base_url=self.server.url, timeout=120) as client:
            thread = thread or client.post("/threads", json={}).raise_for_status().json()["thread_id"]
            # As the page asks: with the words of messages as they come, so the provider is asked to stream.
            order = {
                "assistant_id": "simple_agent",
                "input": {"messages": [{"role": "user", "content": text}]},
                "stream_mode": ["values", "messages-tuple"],
            }
            run = client.post(f"/threads/{thread}/runs", json=order).raise_for_status().json()
            client.get(f"/threads/{thread}/runs/{run['run_id']}/join").raise_for_status()
            state = client.get(f"/threads/{thread}/state").raise_for_status().json()
            ended = client.get(f"/threads/{thread}/runs/{run['run_id']}").raise_for_status().json()
            usage = client.get(f"/threads/{thread}/usage").raise_for_status().json()
            stored = client.get(f"/threads/{thread}").raise_for_status().json()
        return {"thread": thread, "messages": state["values"]["messages"], "run": ended, "usage": usage, "stored": stored}


@pytest.fixture(scope="module", params=WIRES, ids=[wire.name for wire in WIRES])
def product(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Product]:
    wire: Wire = request.param
    folder: Path = tmp_path_factory.mktemp(wire.name)
    with FakeProvider(wire) as provider, serve(folder, graphs=None, NO_PROXY="127.0.0.1", **provider.variables) as server:
        yield Product(server, provider)


def texts(outcome: dict[str, Any]) -> list[str]:
    return [_text(message["content"]) for message in outcome["messages"] if message["type"] == "ai"]


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    blocks = ({"type": "text", "text": block} if isinstance(block, str) else block for block in content)
    return "".join(block.get("text", "") for block in blocks if block.get("type") == "text")


def error_of(outcome: dict[str, Any]) -> str:
    """What the user reads about a run that failed."""
    assert outcome["run"]["status"] == "error"
    return str(outcome["stored"]["error"]["message"])


def test_an_answer_arrives_whole_and_is_counted(product: Product) -> None:
    product.provider.plan(Reply("Hello there, this is the answer."))
    outcome = product.ask()
    assert texts(outcome) == ["Hello there, this is the answer."]
    assert (
        outcome["messages"][-1]["response_metadata"]["stepwell_model"]["model"]
        in product.provider.wire.variables("")["OLLAMA_MODEL_NAME" if product.provider.wire is OLLAMA else "STEPWELL_MODEL"]
    )
    used = outcome["usage"]
    assert (used["calls"], used["input_tokens"], used["output_tokens"]) == (1, INPUT_TOKENS, OUTPUT_TOKENS)


@pytest.mark.parametrize("kind", ["rate limited", "overloaded", "overloaded in the stream", "cut", "server error"])
def test_a_passing_fault_is_asked_again_and_leaves_no_trace(product: Product, kind: FaultKind) -> None:
    """Two faults, then the answer: three requests, none of the broken text in the thread, one answer's tokens in the bill, or more where
    the provider had already begun."""
    product.provider.plan(Fault(kind), Fault(kind), Reply("It works after all."))
    outcome = product.ask()
    assert texts(outcome) == ["It works after all."]
    assert len(product.provider.requests) == 3
    assert outcome["usage"]["output_tokens"] >= OUTPUT_TOKENS
    if kind not in ("cut", "overloaded in the stream"):
        assert outcome["usage"]["output_tokens"] == OUTPUT_TOKENS


def test_a_fault_that_stays_ends_after_four_requests_with_a_sentence(product: Product) -> None:
    product.provider.plan(*[Fault("rate limited")] * 30)
    said = error_of(product.ask())
    assert "limits how often it may be asked (429). It was asked 4 times." in said
    assert "or choose another model" in said
    assert len(product.provider.requests) == 4, "the SDK's own retries are off"


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("context overflow", "The conversation is too long for the model"),
        ("wrong key", "refused the key"),
        ("no credit", "has no credit left"),
    ],
)
def test_what_asking_again_cannot_mend_is_said_at_once(product: Product, kind: FaultKind, words: str) -> None:
    if kind not in product.provider.wire.faults:
        pytest.skip("this provider knows no credit")
    product.provider.plan(*[Fault(kind)] * 30)
    said = error_of(product.ask())
    assert words in said
    assert len(product.provider.requests) == 1
    assert KEY not in said
    assert "{" not in said, "no raw body of the provider's"


def test_a_conversation_that_is_too_long_is_shortened_and_asked_again(product: Product) -> None:
    """The provider says "too long" once; older turns are summarised, and the answer comes."""
    product.provider.plan(*[Reply(f"Answer {number}.") for number in range(14)])
    first = product.ask("Question 0?")
    for number in range(1, 13):
        product.ask(f"Question {number}?", first["thread"])
    product.provider.plan(Fault("context overflow"), Reply("A summary of what was said."), Reply("Here you are."))
    outcome = product.ask("And now?", first["thread"])
    assert texts(outcome)[-1] == "Here you are."
    assert "A summary of what was said." in str(product.provider.requests[-1])
    assert "Question 1?" not in str(product.provider.requests[-1])


def test_a_tool_call_in_pieces_is_carried_out_once_and_thoughts_go_back_as_they_came(product: Product) -> None:
    product.provider.plan(Reply(calls=[Call("write_file", NOTE)], thinking="Let me think about it."), Reply("Written."))
    outcome = product.ask("Write a note.")
    assert [message["type"] for message in outcome["messages"]] == ["human", "ai", "tool", "ai"]
    [call] = outcome["messages"][1]["tool_calls"]
    assert call["args"] == NOTE
    assert texts(outcome) == ["", "Written."]
    assert len(product.provider.requests) == 2
    if product.provider.wire in (ANTHROPIC, GOOGLE):  # those that sign thoughts refuse a conversation in which they changed
        assert SIGNATURE in str(product.provider.requests[1])
    if product.provider.wire is ANTHROPIC:
        [thought] = [
            block
            for message in product.provider.requests[1]["messages"]
            for block in message["content"]
            if isinstance(block, dict) and block.get("type") == "thinking"
        ]
        assert thought == {"type": "thinking", "thinking": "Let me think about it.", "signature": SIGNATURE}


def test_a_refusal_is_marked_as_one(product: Product) -> None:
    if product.provider.wire is OLLAMA:
        pytest.skip("a local model refuses in words only")
    product.provider.plan(Reply("I cannot", refused=True))
    outcome = product.ask()
    assert outcome["run"]["status"] == "success"
    assert outcome["messages"][-1]["response_metadata"]["stepwell_end"] == "refused"
    assert len(product.provider.requests) == 1


def test_without_usage_tokens_are_estimated(product: Product) -> None:
    product.provider.plan(Reply("No usage was sent with this.", usage=False))
    used = product.ask()["usage"]
    assert used["calls"] == 1
    assert used["input_tokens"] > 100
    assert used["output_tokens"] > 3


def test_the_key_is_sent_to_the_provider_and_nowhere_else(product: Product) -> None:
    product.provider.plan(Reply("Hello."), *[Fault("wrong key")] * 3)
    outcomes = [product.ask(), product.ask()]
    if product.provider.wire is not OLLAMA:
        assert any(KEY in value for value in product.provider.headers[0].values())
    assert KEY not in str(outcomes)
    assert KEY not in product.server.output
    assert files_holding(product.server.folder / "data", KEY.encode()) == []
