"""The routes of the wallet."""

from __future__ import annotations

from stepwell.payments.http import operator, wallet

ROUTERS = (wallet.router, operator.router)
