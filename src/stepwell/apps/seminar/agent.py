"""The older seminar agent, kept for clients that know the graph `seminar_agent`. The tutor has taken its place.

```
with a purse   validate ─> redeem ─> agent over one versioned artifact ─> settle ─> refund
without one    agent over one versioned artifact                                              free
```
A run is paid for in one piece: the price is set aside before the agent begins and charged when it has ended, and what is left of the
session goes back. Money never enters the graph: the state names a session (`funding_id`) and, at the end, the refund that can be claimed
(`payment_refund_id`). A run that fails keeps its reservation, which goes on being held when the run is resumed; whoever keeps the purse
frees what nobody resumes. Each step has a node of its own, and naming an effect by its step makes it happen once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import resources
from typing import Any, NamedTuple, Protocol

from langchain.agents.middleware.types import AgentMiddleware, hook_config
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.config import get_config
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from stepwell.agent import compile_agent
from stepwell.apps.seminar.artifact import artifact_tools
from stepwell.apps.seminar.state import SeminarState
from stepwell.errors import ConfigurationError, PaymentError
from stepwell.middleware.charging import charge_for
from stepwell.middleware.patch_tool_calls import PatchToolCallsMiddleware
from stepwell.middleware.robust_calls import RobustCallsMiddleware
from stepwell.middleware.stubborn import StubbornModelMiddleware
from stepwell.middleware.summarization import SummarizationMiddleware
from stepwell.models import capabilities_of, resolve_model
from stepwell.tools.effect_journal import effect_key

Graph = CompiledStateGraph[Any, Any, Any, Any]
Owner = Callable[[RunnableConfig], str | None]

NAME = "seminar_agent"


class Held(NamedTuple):
    """A reservation as it is named to the purse. No dataclass, here and below: graph servers load this file by its path, and a dataclass
    needs its module to be known."""

    key: str
    attempt: int


class Purse(Protocol):
    """Where the money is. `stepwell.payments.wallet.Wallet` is one."""

    async def session(self, owner: str | None, session_id: str) -> Any:
        """The payer's session; a `PaymentError` or a `NotFoundError` if there is none."""
        ...

    async def reserve(self, owner: str | None, session_id: str, key: str, amount_sats: int) -> Any:
        """Set money aside, redeeming the session's token if that has not been done. Gives what has `key` and `attempt`."""
        ...

    async def settle(self, reservation: Any, cost_sats: int) -> Any: ...

    async def confirm(self, session_id: str, keys: Any = None) -> int: ...

    async def refund(self, owner: str | None, session_id: str) -> Any:
        """End the session. Gives what has `token_id`, by which the rest is claimed, and `amount`."""
        ...


class Price(NamedTuple):
    """What a run costs, and who is asked for it. `owner` says whose sessions may be drawn on; None trusts whoever names one."""

    purse: Purse
    sats: int
    owner: Owner | None = None


def make_graph() -> Graph:
    """On the configured model. A server charges for each model call, unless the operator says it is free; a purse, by which a run is paid
    for in one piece, is handed in by whoever has one."""
    return build(resolve_model(None, embedded_fallback=True), stack=charge_for(NAME, required=True))


def build(
    model: BaseChatModel,
    *,
    price: Price | None = None,
    stack: Sequence[AgentMiddleware[Any, Any, Any]] = (),
    checkpointer: BaseCheckpointSaver[Any] | None = None,
) -> Graph:
    """The agent on a model of the caller's. `ConfigurationError` for a model that cannot use tools."""
    if not capabilities_of(model).tools:
        raise ConfigurationError(
            "The seminar agent needs a model that can use tools, and none is configured. Set STEPWELL_MODEL (such as "
            "anthropic:claude-sonnet-4-5, with its key). Without one, the graph 'deeptutor' works too: it asks from the method alone."
        )
    paid = [] if price is None else [Refunding(price), Settling(price), Validating(price), Redeeming(price)]
    prompt = (resources.files("stepwell.apps.seminar") / "prompts" / "seminar.md").read_text(encoding="utf-8").strip()
    return compile_agent(
        [
            *stack,
            *paid,
            StubbornModelMiddleware(),
            SummarizationMiddleware(model),
            PatchToolCallsMiddleware(),
            RobustCallsMiddleware(),
        ],
        model=model,
        tools=artifact_tools(),
        system_prompt=prompt,
        state_schema=SeminarState,
        checkpointer=checkpointer,
        name=NAME,
    )


class _Step(AgentMiddleware[Any, Any, Any]):
    """One step of the payment. What comes before the agent runs first to last, what comes after it last to first."""

    def __init__(self, price: Price) -> None:
        super().__init__()
        self._price = price

    def _owner(self) -> str | None:
        return self._price.owner(get_config()) if self._price.owner else None


class Validating(_Step):
    """Nothing is taken: only whether there is a session to pay with."""

    @hook_config(can_jump_to=["end"])
    async def abefore_agent(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        session_id = state.get("funding_id")
        if not session_id:
            return _stop(f"This seminar costs {self._price.sats} sats. Fund it first and send the funding_id.")
        try:
            await self._price.purse.session(self._owner(), session_id)
        except PaymentError as error:
            return _stop(str(error))
        return None


class Redeeming(_Step):
    """The token is redeemed and the price set aside, before the first model call."""

    @hook_config(can_jump_to=["end"])
    async def abefore_agent(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any]:
        key = f"seminar:{effect_key(get_config(), 'run')}"
        try:
            held = await self._price.purse.reserve(self._owner(), state["funding_id"], key, self._price.sats)
        except PaymentError as error:
            return _stop(str(error))
        return {"payment_status": "active", "payment_held": {"key": held.key, "attempt": held.attempt}}


class Settling(_Step):
    """The work is done: the price is charged."""

    async def aafter_agent(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        held = state.get("payment_held")
        if not held:
            return None
        charged = await self._price.purse.settle(Held(**held), self._price.sats)
        return {"payment_spent_sats": state.get("payment_spent_sats", 0) + charged.charged}


class Refunding(_Step):
    """The charge stands, now that the answer is checkpointed; what is left goes back."""

    async def aafter_agent(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        held = state.get("payment_held")
        if not held:
            return None
        await self._price.purse.confirm(state["funding_id"], [held["key"]])
        refund = await self._price.purse.refund(self._owner(), state["funding_id"])
        return {
            "payment_status": "refunded",
            "payment_refund_id": refund.token_id,
            "payment_held": None,
            "funding_id": None,
        }


def _stop(why: str) -> dict[str, Any]:
    return {"payment_status": "exhausted", "messages": [AIMessage(why)], "jump_to": "end"}
