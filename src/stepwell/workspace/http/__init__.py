"""The routes of workspaces: files, and the agent."""

from __future__ import annotations

from stepwell.workspace.http import agent, files

ROUTERS = (agent.router, files.router)
