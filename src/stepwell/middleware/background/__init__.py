"""Subagents that work in the background while their parent goes on: how to describe one (`specs`), the parent's tools and state
(`tools`, `middleware`), and the hosts that run tasks without a server: in this process (`here`) and on other people's (`remote`). On a
server, its own queue is the host (`stepwell.runs.background`).
"""

from stepwell.middleware.background.middleware import AsyncSubAgentMiddleware, AsyncSubAgentState
from stepwell.middleware.background.specs import AsyncSubAgent
from stepwell.tools.background import AsyncTask

__all__ = ["AsyncSubAgent", "AsyncSubAgentMiddleware", "AsyncSubAgentState", "AsyncTask"]
