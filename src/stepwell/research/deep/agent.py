"""Deep research: an agent that plans by itself, sends out researchers, writes `/final_report.md` and has a critic review it.

```
lead ─┬─> researcher (several at once)   web_search, fetch_page; findings in /findings/
      ├─> critic                         reads the report and the findings
      └─> /final_report.md ──> at the end, by code: it cites only pages that were read, contains only their addresses, and every
                               sentence that its cited pages do not support is marked
```

The graph `research` asks a user to approve a plan; this one acts freely within the same policy: code checks tools, domains and outgoing
text, and counts requests, tokens, money and time. A thread stores its evidence in the same kind of vault; its bundle can be verified, but
not replayed. Deep research needs a model that can use tools; there is no mode without one.
"""

from __future__ import annotations

import logging
from typing import Any

from langchain.agents.middleware.types import AgentMiddleware
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.config import get_config
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from stepwell.agent import create_deep_agent
from stepwell.backends import changes
from stepwell.backends.text import version_of
from stepwell.clock import timestamp
from stepwell.errors import ConfigurationError
from stepwell.middleware.budget import CHANNEL, BudgetMiddleware
from stepwell.models import capabilities_of
from stepwell.models.connected import TASK_KINDS
from stepwell.models.pricing import ASSUMED, FREE, Price, describe_assumed, price_of
from stepwell.models.routing import ModelRoutes
from stepwell.models.usage import label_of
from stepwell.payments.paid_graphs import charge_for
from stepwell.research.audit.ledger import Evidence, read_evidence
from stepwell.research.audit.vault import EvidenceVault
from stepwell.research.deep.checking import check_report, is_kept, keep_report
from stepwell.research.deep.material import MaterialInTrail
from stepwell.research.deep.model_calls import ModelsInTrail
from stepwell.research.deep.report import finish_message
from stepwell.research.deep.web_tools import DeepWeb, record_question, thread_of
from stepwell.research.evidence.equipment import Equipment, make_equipment
from stepwell.research.evidence.prompting import prompt
from stepwell.research.evidence.recorded.models import is_on_this_machine

REPORT = "/final_report.md"
RESEARCHER_TIMEOUT_S = 600.0

Graph = CompiledStateGraph[Any, Any, Any, Any]
logger = logging.getLogger(__name__)


def make_graph() -> Graph:
    """The agent on the configured models. Raises `ConfigurationError` if none can use tools."""
    return build_agent(make_equipment())


def build_agent(equipment: Equipment, *, checkpointer: BaseCheckpointSaver[Any] | None = None) -> Graph:
    """The agent on the caller's equipment."""
    models = _require_capable_models(equipment)
    tools = DeepWeb(equipment).tools()
    if not tools:
        raise ConfigurationError("The policy allows neither web_search nor fetch_page, so there is nothing to research with.")
    researcher: Any = {
        "name": "researcher",
        "description": "researches one part of the question on the web and keeps its findings in a file",
        "system_prompt": prompt("stepwell.research.deep", "researcher"),
        "tools": tools,
        "model": models["files"],
        "middleware": [ModelsInTrail(equipment, "researcher"), MaterialInTrail(equipment)],
        "timeout_s": RESEARCHER_TIMEOUT_S,
    }
    critic: Any = {
        "name": "critic",
        "description": "reads /final_report.md and lists what to mend",
        "system_prompt": prompt("stepwell.research.deep", "critic"),
        "tools": tools,
        "model": models["audit"],
        "middleware": [ModelsInTrail(equipment, "critic"), MaterialInTrail(equipment)],
    }
    limits = equipment.policy.limits
    prices = assume_prices(models)
    if assumed := [name for name, price in prices.items() if price is ASSUMED]:
        logger.warning("%s", describe_assumed(assumed))
    ceilings = BudgetMiddleware(
        max_tokens=limits.tokens, max_cost_usd=limits.cost_usd, max_seconds=limits.seconds, prices=prices
    )
    return create_deep_agent(
        models["write"],
        tools,
        system_prompt=prompt("stepwell.research.deep", "lead"),
        subagents=[researcher, critic],
        middleware=[
            *charge_for("deep_research"),
            ceilings,
            ModelsInTrail(equipment, "lead"),
            MaterialInTrail(equipment),
            CheckedReport(equipment),
        ],
        checkpointer=checkpointer,
        name="deep_research",
    )


def assume_prices(models: ModelRoutes) -> dict[str, Price]:
    """Assumed prices for models whose price we do not know, so that the ceiling of money holds. A model on this machine costs nothing."""
    used = {label_of(models[kind]): models[kind] for kind in TASK_KINDS}
    unknown = {name: model for name, model in used.items() if price_of(name) is None}
    return {name: FREE if is_on_this_machine(model) else ASSUMED for name, model in unknown.items()}


def _require_capable_models(equipment: Equipment) -> ModelRoutes:
    weak = equipment.models is None or not all(
        capabilities_of(equipment.models[kind]).tools for kind in ("write", "files", "audit")
    )
    if equipment.models is None or weak:
        raise ConfigurationError(
            "Deep research needs a model that can use tools, and none is configured. Set STEPWELL_MODEL (such as "
            "anthropic:claude-sonnet-4-5, with its key) or name a model of Ollama or LM Studio. Without one, the graph 'research' "
            "works too: it answers with quotes."
        )
    return equipment.models


class CheckedReport(AgentMiddleware[Any, Any, Any]):
    """Stores the question at the start, and at the end removes from report and answer what no source supports.

    Only for the main agent, because a subagent's answer goes to the main agent, not to a reader.
    """

    def __init__(self, equipment: Equipment) -> None:
        super().__init__()
        self._equipment = equipment

    async def abefore_agent(self, state: Any, runtime: Runtime[Any]) -> None:
        config = get_config()
        if _is_subagent(config):
            return
        if not thread_of(config):
            raise ConfigurationError(
                "Deep research keeps its evidence by thread, and this run has none. Pass config={'configurable': {'thread_id': ...}}."
            )
        asked = next((each for each in reversed(state["messages"]) if isinstance(each, HumanMessage)), None)
        if asked is not None:
            await record_question(
                self._equipment.vault_for(config), asked.id or "first", asked.text, self._equipment.policy.text
            )

    async def aafter_agent(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        config = get_config()
        if _is_subagent(config):
            return None
        vault = self._equipment.vault_for(config)
        evidence = read_evidence(await vault.entries())
        update = {**await self._report(state, vault, config), **_answer(state, evidence)}
        return update or None

    async def _report(self, state: Any, vault: EvidenceVault, config: RunnableConfig) -> dict[str, Any]:
        file = (state.get("files") or {}).get(REPORT)
        if file is None:
            return {}
        written = changes.text_of(file)
        if await is_kept(vault, written):
            return {}  # another turn of the thread, which did not change the report
        spent = (state.get(CHANNEL) or {}).get("tokens", 0)
        finished, rests_on = await check_report(self._equipment, vault, written, spent)
        await keep_report(config, vault, finished, rests_on)
        put = changes.put(finished.text, base=version_of(written), at=timestamp(self._equipment.clock))
        return {"files": {REPORT: put}}


def _answer(state: Any, evidence: Evidence) -> dict[str, Any]:
    last = state["messages"][-1] if state["messages"] else None
    if not isinstance(last, AIMessage) or last.tool_calls:
        return {}
    finished = finish_message(last.text, evidence.sources)
    # The copy has the same id, so it replaces the message.
    return {"messages": [last.model_copy(update={"content": finished.text})]} if finished.text != last.text else {}


def _is_subagent(config: Any) -> bool:
    return bool((config.get("metadata") or {}).get("subagent"))
