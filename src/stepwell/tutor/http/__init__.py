"""The routes of the tutor."""

from __future__ import annotations

from stepwell.tutor.http import argument

ROUTERS = (argument.router,)
