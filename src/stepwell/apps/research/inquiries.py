"""What stands between the graph's state and an inquiry: a node opens the one its state speaks of, and says a line about what it did."""

from __future__ import annotations

from langchain_core.runnables import RunnableConfig

from stepwell.apps.research.schemas import Node, ReasoningEntry
from stepwell.apps.research.state import ResearchState
from stepwell.evidence.equipment import Equipment
from stepwell.evidence.inquiry import Inquiry


async def open_inquiry(equipment: Equipment, state: ResearchState, config: RunnableConfig) -> Inquiry:
    """The question that the thread is at."""
    return await Inquiry.open(
        equipment,
        config,
        number=state.get("question_number", 0),
        newest=state.get("newest_entry", ""),
        retries=state.get("retries", 0),
    )


def reasoning(inquiry: Inquiry, node: Node, summary: str, raw_thought: str | None = None) -> list[ReasoningEntry]:
    """One line for the trace that people see."""
    return [ReasoningEntry(node=node, timestamp=inquiry.equipment.clock.now(), summary=summary, raw_thought=raw_thought)]
