"""The research graph: a plan is audited and approved before anything runs, and every sentence of the report can be checked.

Read `routing.py` for the path through it and `state.py` for what it stores; each node is a module in `nodes/`.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.graph import START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from stepwell.control_flow import let_pass
from stepwell.research.evidence.equipment import Equipment, make_equipment
from stepwell.research.evidence.inquiry import Inquiry
from stepwell.research.graph import routing
from stepwell.research.graph.nodes.auditor import auditor
from stepwell.research.graph.nodes.follow_up import follow_up
from stepwell.research.graph.nodes.hitl_gate import hitl_gate
from stepwell.research.graph.nodes.intake import intake
from stepwell.research.graph.nodes.search_retry import search_retry
from stepwell.research.graph.nodes.source_review import source_review
from stepwell.research.graph.nodes.synthesizer import synthesizer
from stepwell.research.graph.nodes.thinker import thinker
from stepwell.research.graph.nodes.tool_executor import tool_executor
from stepwell.research.graph.schemas import Node, ReasoningEntry
from stepwell.research.graph.state import Done, ResearchInput, ResearchState
from stepwell.secrets.errors import words_of

logger = logging.getLogger(__name__)

Work = Callable[[Inquiry, ResearchState], Awaitable[Done]]
Graph = CompiledStateGraph[Any, Any, Any, Any]

_MAX_THOUGHT_CHARS = 8_000

NODES: dict[Node, Work] = {
    "intake": intake,
    "thinker": thinker,
    "auditor": auditor,
    "hitl_gate": hitl_gate,
    "tool_executor": tool_executor,
    "search_retry": search_retry,
    "follow_up": follow_up,
    "source_review": source_review,
    "synthesizer": synthesizer,
}


def make_graph() -> Graph:
    """The graph on the environment's settings."""
    return build_graph(make_equipment())


def build_graph(equipment: Equipment) -> Graph:
    """The graph on the caller's equipment. The caller also provides a saver for checkpoints."""
    builder = StateGraph(ResearchState, input_schema=ResearchInput)
    for name, work in NODES.items():
        builder.add_node(name, _make_node(name, work, equipment))
    builder.add_edge(START, "intake")
    builder.add_conditional_edges("intake", routing.after_intake)
    builder.add_conditional_edges("thinker", routing.after_thinker)
    builder.add_conditional_edges("auditor", routing.after_audit)
    builder.add_conditional_edges("hitl_gate", routing.after_gate)
    builder.add_conditional_edges("tool_executor", routing.after_tools)
    builder.add_conditional_edges("search_retry", routing.after_retry)
    builder.add_conditional_edges("follow_up", routing.after_follow_up)
    builder.add_conditional_edges("source_review", routing.after_review)
    return builder.compile(name="research")


def _make_node(name: Node, work: Work, equipment: Equipment) -> Any:
    """Wraps a node with what all nodes share: it opens the inquiry, runs the node, remembers its newest trail entry, and adds its line to
    the trace.

    A node that raises adds its error to the trace and ends the research with a message; exceptions that pause or move a run pass through.
    """

    async def node(state: ResearchState, config: RunnableConfig) -> dict[str, Any]:
        try:
            inquiry = await _open_inquiry(equipment, state, config)
            change, line = await work(inquiry, state)
        except Exception as error:
            let_pass(error)
            logger.info("a research node failed", extra={"node": name}, exc_info=error)
            message = words_of(error) or type(error).__name__
            return {"status": "failed", "error_message": message, "reasoning": say(f"Error: {message}")}
        told = {"newest_entry": inquiry.newest} if inquiry.newest != state.get("newest_entry", "") else {}
        thought = "\n\n".join(inquiry.thoughts)[:_MAX_THOUGHT_CHARS] or None
        return {**told, **change, **({"reasoning": say(line, thought)} if line else {})}

    def say(line: str, thought: str | None = None) -> list[ReasoningEntry]:
        return [ReasoningEntry(node=name, timestamp=equipment.clock.now(), summary=line, raw_thought=thought)]

    node.__name__ = name
    return node


async def _open_inquiry(equipment: Equipment, state: ResearchState, config: RunnableConfig) -> Inquiry:
    """The inquiry of the thread's current question."""
    return await Inquiry.open(
        equipment,
        config,
        number=state.get("question_number", 0),
        newest=state.get("newest_entry", ""),
        retries=state.get("retries", 0),
    )
