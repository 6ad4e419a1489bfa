"""The routes of connections."""

from __future__ import annotations

from stepwell.connections.http import connections

ROUTERS = (connections.router,)
