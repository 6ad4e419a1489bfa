"""Model calls of research: recorded in the trail by key, with the tokens that each used, and summed up from the trail for the ceilings of
tokens and money. `stepwell.models.usage` counts what a call used.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Self
from urllib.parse import urlsplit

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables.config import ensure_config, merge_configs
from langgraph.constants import TAG_NOSTREAM

from stepwell.models import describe
from stepwell.models.pricing import ASSUMED, TokenUse, describe_assumed
from stepwell.models.usage import UNNAMED, UsageMeter, UsageSum, label_of, price_call
from stepwell.research.audit.canonical import canonical
from stepwell.research.audit.exchanges.recording import Outgoing, RecordedReply, Recorder
from stepwell.research.audit.exchanges.replay import Replay
from stepwell.research.audit.trail import Entry
from stepwell.research.audit.vault import EvidenceVault
from stepwell.variables import is_loopback

_EMBEDDED = "local"
_SERVERS = ("base_url", "openai_api_base", "anthropic_api_url", "azure_endpoint", "endpoint_url")
"""Attributes in which integrations store their server's address."""


class RecordedModels:
    """`asking.ModelCalls` on a recorder."""

    def __init__(self, recorder: Recorder, scope: str, replay: Replay | None = None, thoughts: list[str] | None = None) -> None:
        """`thoughts` collects the models' reasoning, which is only for the view: the trail stores answers."""
        self._recorder = recorder
        self._scope = scope
        self._replay = replay
        self._thoughts = thoughts if thoughts is not None else []

    async def call(self, key: str, role: str, messages: list[BaseMessage], model: BaseChatModel) -> str:
        outgoing = replace(self._outgoing(key, role, messages), **locate_model(model))

        async def send() -> RecordedReply:
            return await self._replay.answer(outgoing) if self._replay else await _ask(model, messages, self._thoughts)

        return (await self._recorder.once(outgoing, send)).body.decode()

    def name_answer(self, key: str, role: str, messages: list[BaseMessage]) -> str:
        """The key in the trail of the answer to such a call."""
        return f"{self._outgoing(key, role, messages).key}:answer"

    def _outgoing(self, key: str, role: str, messages: list[BaseMessage]) -> Outgoing:
        body = canonical([{"type": message.type, "content": message.text} for message in messages])
        # The address names the role, because a replay has the answers but need not have the model. The key includes what is asked,
        # because another branch of the thread may ask something else at the same place.
        address = f"model:{role}"
        asked = Outgoing("", "model", "ASK", address, body).fingerprint()[:12]
        return Outgoing(f"{self._scope}:{key}:{asked}", "model", "ASK", address, body, step=key, why=role)


def locate_model(model: Any) -> dict[str, Any]:
    """A model's server and name, for the receipt. Unless a model is certainly on this machine, calling it counts as sending something
    out."""
    while not isinstance(model, BaseChatModel):
        inner = getattr(model, "first", None) or getattr(model, "bound", None)  # constrained to a schema
        if inner is None:
            return {}
        model = inner
    facts = describe(model)
    server = next((value for name in _SERVERS if isinstance(value := getattr(model, name, None), str) and value), "")
    host = urlsplit(server).hostname or ""
    here = facts.provider == _EMBEDDED or is_loopback(host)
    return {"host": host or facts.provider or "", "model": label_of(model), "leaves_machine": not here}


def is_on_this_machine(model: BaseChatModel) -> bool:
    """Whether a model is certainly on this machine."""
    return locate_model(model).get("leaves_machine") is False


async def _ask(model: Any, messages: list[BaseMessage], thoughts: list[str]) -> RecordedReply:
    meter = UsageMeter()
    # We add our callback to those of the surrounding run, which must see the call as well. Clients do not: nobody has checked it yet.
    config = merge_configs(ensure_config(), {"callbacks": [meter], "tags": [TAG_NOSTREAM]})
    answer = await model.ainvoke(messages, config)
    tokens = sum((used.tokens for used in meter.sums().values()), TokenUse())
    used: dict[str, Any] = {"input_tokens": tokens.input, "output_tokens": tokens.output}
    used["usage"] = "estimated" if any(each.estimated for each in meter.sums().values()) else "reported"
    place = locate_model(model)
    if place.get("leaves_machine") is False:
        used["here"] = True
    if isinstance(answer, AIMessage):
        thoughts.extend(_thoughts_of(answer))
    # A model constrained to a schema returns the value itself.
    text = answer.text if isinstance(answer, AIMessage) else json.dumps(answer)
    return RecordedReply({"model": place.get("model", UNNAMED), **used}, text.encode())


def _thoughts_of(answer: AIMessage) -> Iterator[str]:
    """A model's reasoning before its answer, in whichever form its provider sends it."""
    for block in answer.content_blocks:
        if block["type"] == "reasoning" and (text := block.get("reasoning", "").strip()):
            yield text


class TrailSpending:
    """What models have used since an entry of the trail. Each entry is read once, however often `catch_up` is called."""

    def __init__(self, vault: EvidenceVault, since: int, scope: str = "") -> None:
        """Counts entries after number `since` whose keys begin with `scope`."""
        self._vault = vault
        self._scope = scope
        self._read_to = since
        self.used = UsageSum()
        self.assumed_usd = 0.0
        """The assumed cost of calls to models elsewhere whose price is unknown."""
        self.assumed: set[str] = set()
        """The models whose cost is assumed."""

    async def catch_up(self) -> Self:
        """Count the new entries of the trail."""
        for entry in await self._vault.entries(self._read_to):
            if entry.seq > self._read_to:  # a concurrent call may have counted this entry already
                self._read_to = entry.seq
                if entry.key.startswith(self._scope):
                    self._count(entry)
        return self

    def _count(self, entry: Entry) -> None:
        call = entry.data["answer"] if entry.kind == "model_call" else {}
        if "model" not in call:
            return
        tokens = TokenUse(input=call["input_tokens"], output=call["output_tokens"])
        usage = replace(price_call(call["model"] or UNNAMED, tokens), estimated=call.get("usage") == "estimated")
        if usage.cost_usd is None and call.get("here"):
            usage = replace(usage, cost_usd=0.0)  # a model on this machine costs nothing
        self.used.add(usage)
        if usage.cost_usd is None:
            self.assumed_usd += ASSUMED.of(tokens)
            self.assumed.add(usage.model)

    def describe_guesses(self) -> str:
        """Which parts of the sums are estimates, as sentences; empty if none are."""
        many, calls = self.used.estimated, self.used.calls
        told = [f"{many} of {calls} calls reported no tokens, so theirs were estimated from their length."] if many else []
        return " ".join([*told, *([describe_assumed(self.assumed)] if self.assumed else [])])
