"""What an agent remembers within a thread, and how it is stored."""

from stepwell.state.compact import CompactReport, acompact, compact
from stepwell.state.schema import DeepAgentState, Summary

__all__ = ["CompactReport", "DeepAgentState", "Summary", "acompact", "compact"]
