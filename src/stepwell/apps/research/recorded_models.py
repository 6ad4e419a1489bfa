"""Model calls as research makes them: recorded by key, and counted against the ceilings of tokens and money."""

from __future__ import annotations

import json
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage

from stepwell.audit.canonical import canonical
from stepwell.audit.recording import Answer, Outgoing, Recorder
from stepwell.audit.replay import Replay
from stepwell.audit.trail import Entry
from stepwell.models import describe
from stepwell.models.pricing import TokenUse, price_of

_EMBEDDED = "local"
_SERVERS = ("base_url", "openai_api_base", "anthropic_api_url", "azure_endpoint", "endpoint_url")
"""Attributes in which integrations keep their server's address."""


class RecordedModels:
    """`asking.ModelCalls` on a recorder."""

    def __init__(self, recorder: Recorder, scope: str, replay: Replay | None = None) -> None:
        self._recorder = recorder
        self._scope = scope
        self._replay = replay

    async def call(self, key: str, role: str, messages: list[BaseMessage], model: BaseChatModel) -> str:
        body = canonical([{"type": message.type, "content": message.text} for message in messages])
        # Known by its role: a replay has the answers, and need not have the model.
        outgoing = Outgoing(
            f"{self._scope}:{key}", "model", "ASK", f"model:{role}", body, step=key, why=role, **where_asked(model)
        )

        async def send() -> Answer:
            return await self._replay.answer(outgoing) if self._replay else await _ask(model, messages)

        return (await self._recorder.once(outgoing, send)).body.decode()


def where_asked(model: Any) -> dict[str, Any]:
    """Where a model is and what it is called, for the receipt. Only one that is surely on this machine does not leave it."""
    while not isinstance(model, BaseChatModel):
        inner = getattr(model, "first", None) or getattr(model, "bound", None)  # held to a schema
        if inner is None:
            return {}
        model = inner
    facts = describe(model)
    server = next((value for name in _SERVERS if isinstance(value := getattr(model, name, None), str) and value), "")
    host = urlsplit(server).hostname or ""
    here = facts.provider == _EMBEDDED or host == "localhost" or _is_loopback(host)
    name = ":".join(filter(None, (facts.provider, facts.name)))
    return {"host": host or facts.provider or "", "model": name, "leaves_machine": not here}


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


async def _ask(model: Any, messages: list[BaseMessage]) -> Answer:
    answer = await model.ainvoke(messages)
    if not isinstance(answer, AIMessage):
        # A model that is held to a schema gives the value itself.
        return Answer({"model": "", "input_tokens": 0, "output_tokens": 0}, json.dumps(answer).encode())
    usage: Any = answer.usage_metadata or {}
    facts = describe(model) if isinstance(model, BaseChatModel) else None
    name = f"{facts.provider}:{facts.name}" if facts else ""
    used = {"input_tokens": usage.get("input_tokens", 0), "output_tokens": usage.get("output_tokens", 0)}
    return Answer({"model": name, **used}, answer.text.encode())


def tokens_used(entries: list[Entry], since: int) -> int:
    """Tokens of all model calls after an entry of the trail."""
    return sum(use.input + use.output for _, use in _uses(entries, since))


def cost_usd(entries: list[Entry], since: int) -> float | None:
    """What those calls cost; `None` when the price of one is not known."""
    total = 0.0
    for model, use in _uses(entries, since):
        price = price_of(model)
        if price is None:
            return None
        total += price.of(use)
    return total


def _uses(entries: list[Entry], since: int) -> list[tuple[str, TokenUse]]:
    calls = [entry.data["answer"] for entry in entries if entry.kind == "model_call" and entry.seq > since]
    return [
        (call["model"], TokenUse(input=call["input_tokens"], output=call["output_tokens"])) for call in calls if "model" in call
    ]
