"""Files and conversation go back together to where a turn began (ADR 0047)."""

from stepwell.middleware.rewind.middleware import RewindMiddleware
from stepwell.middleware.rewind.reports import RewindReport

__all__ = ["RewindMiddleware", "RewindReport"]
