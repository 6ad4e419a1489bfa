"""Finds out which model judged a report, and how well it judges as far as that was measured here."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from stepwell.research.audit.judged import Figures, JudgedBy, judging_model
from stepwell.research.audit.trail import Entry

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

JUDGES = "__stepwell_judges"
"""The key in `config["configurable"]` under which an engine passes `FindFigures` to a graph."""
FindFigures = Callable[[str], Awaitable[Figures | None]]
"""The figures of a model, by its label `provider:name`, as they hold for today's rules and prompt."""


async def describe_judge(config: RunnableConfig, entries: Sequence[Entry], scope: str) -> dict[str, Any] | None:
    """What the report's entry says about its judge; None if no model was asked to judge."""
    model = judging_model(entries, scope)
    if model is None:
        return None
    find: FindFigures | None = (config.get("configurable") or {}).get(JUDGES)
    return JudgedBy(model, await find(model) if find else None).to_data()
