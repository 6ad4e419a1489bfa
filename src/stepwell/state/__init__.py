"""What an agent remembers within a thread, and how it is stored.

The schema is imported on first use, because it loads LangChain's agents, which a server that only stores threads does not need.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stepwell.state.compact import CompactReport, acompact, compact

if TYPE_CHECKING:
    from stepwell.state.schema import DeepAgentState, Summary

__all__ = ["CompactReport", "DeepAgentState", "Summary", "acompact", "compact"]


def __getattr__(name: str) -> Any:
    if name in ("DeepAgentState", "Summary"):
        from stepwell.state import schema

        return getattr(schema, name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
