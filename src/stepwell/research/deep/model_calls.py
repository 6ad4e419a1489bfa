"""Records in the trail which models the agents called, for the receipt. Their words are in the thread and are not stored again.

Each call is recorded before it is made. If its answer is lost, the entry stays without one, and the retry gets its own entry. The entries
cannot be used for a replay, because an agent's work cannot be repeated.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from langchain.agents.middleware.types import AgentMiddleware, ModelRequest
from langchain_core.messages import AIMessage
from langgraph.config import get_config

from stepwell.middleware.request import AsyncHandler, Response
from stepwell.models.usage import UNNAMED, usage_of
from stepwell.research.audit.trail import NewEntry
from stepwell.research.audit.vault import EvidenceVault
from stepwell.research.deep.web_tools import question_key
from stepwell.research.evidence.equipment import Equipment
from stepwell.research.evidence.recorded.models import locate_model


class ModelsInTrail(AgentMiddleware[Any, Any, Any]):
    """Middleware for the lead and for each subagent; `agent` is the name of the one it belongs to."""

    def __init__(self, equipment: Equipment, agent: str) -> None:
        super().__init__()
        self._equipment = equipment
        self._agent = agent

    def awrap_model_call(self, request: ModelRequest[Any], handler: AsyncHandler) -> Coroutine[Any, Any, Response]:
        # Not `async def`: LangChain's tracing wrapper would cost a thread hop per call.
        return self._awrap_model_call(request, handler)

    async def _awrap_model_call(self, request: ModelRequest[Any], handler: AsyncHandler) -> Response:
        vault, place = self._equipment.vault_for(get_config()), locate_model(request.model)
        key = await self._intend(vault, request, place) if place.pop("leaves_machine", True) else None
        response = await handler(request)
        if key is not None:
            await vault.append(
                NewEntry(
                    "model_call",
                    f"{key}:answer",
                    {"request": key, "answer": _count_used(request, response, place), "left": True},
                )
            )
        return response

    async def _intend(self, vault: EvidenceVault, request: ModelRequest[Any], place: dict[str, Any]) -> str:
        entries = await vault.entries()
        scope = question_key(entries)
        # An agent's calls are sequential, each with another last message. The same last message again means that the first call was lost.
        last = request.messages[-1].id if request.messages else None
        key = f"{scope}:model:{self._agent}:{last or 'first'}"
        again = sum(entry.key == key or entry.key.startswith(f"{key}:resend:") for entry in entries if entry.kind == "request")
        key = f"{key}:resend:{again}" if again else key
        data = {
            "to": "model",
            "method": "ASK",
            "url": f"model:{self._agent}",
            "host": place.get("host", ""),
            "model": place.get("model", ""),
            "body_sha256": None,
            "bytes": _size(request),
            "step": scope,
            "why": self._agent,
            "resend": again,
            "request": key,
        }
        await vault.append(NewEntry("request", key, data))
        return key


def _size(request: ModelRequest[Any]) -> int:
    """The bytes of the messages sent, without the descriptions of tools."""
    said = [request.system_prompt or "", *(message.text for message in request.messages)]
    return sum(len(text.encode()) for text in said)


def _count_used(request: ModelRequest[Any], response: Any, place: dict[str, Any]) -> dict[str, Any]:
    messages = getattr(getattr(response, "model_response", response), "result", None) or [response]
    answer = next((each for each in messages if isinstance(each, AIMessage)), None)
    asked = [*([request.system_message] if request.system_message else []), *request.messages]
    used = usage_of(place.get("model", UNNAMED), asked, answer)
    counted = {"input_tokens": used.tokens.input, "output_tokens": used.tokens.output}
    return {"model": used.model, **counted, "usage": "estimated" if used.estimated else "reported"}
