"""What calls through connections cost, per user, connection and day (UTC), and the limits on it.

```
a call begins ─> before ─┬─ no limit, or below every limit ─────> what it will probably cost is counted, and the provider asked
                         ├─ a limit is reached ─────────────────> SpendLimitError, the provider is not asked
                         └─ a limit, and a model without a price > SpendLimitError: the limit could not be kept
a call ends ───> settle ─> the estimate is replaced by what it used
```
A limit is checked before every call, of subagents too, whichever worker makes it. The check and the estimate are one transaction, so calls
that begin at once count for each other. A limit can be passed by the last call that it let through, and by what calls under way cost more
than estimated. The estimate of a call whose process died stays: it is the best guess at what the provider charges.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, replace
from typing import Any

from stepwell.clock import Clock
from stepwell.connections.tables import read_connection
from stepwell.database.database import SqlDatabase
from stepwell.errors import ModelAccessError
from stepwell.models.connected import ConnectedModel, Settle
from stepwell.models.pricing import price_of
from stepwell.models.usage import CallUsage
from stepwell.sql import Connection

MICRO = 1_000_000
_NOBODY = ""
MAX_ROWS = 10_000


class SpendLimitError(ModelAccessError):
    """A limit on what a connection may cost is reached."""


@dataclass(frozen=True)
class _Spent:
    """Microdollars."""

    users_day: int
    users_month: int
    month: int
    usual: int
    """What one call of the user has cost on average this month."""


@dataclass(frozen=True)
class SpendLog:
    """Counts calls, and refuses those above a limit."""

    database: SqlDatabase
    clock: Clock

    async def before(self, model: ConnectedModel, user: str | None, expected: CallUsage) -> Settle:
        row = {"user_id": user or _NOBODY, "connection_id": model.connection_id, "day": self._today()}
        counted = _Counted.of(expected)

        def reserve(connection: Connection) -> _Counted | SpendLimitError:
            reserved = counted
            stored = read_connection(connection, model.connection_id)
            limits = {name: limit for name, limit in stored.limits.items() if limit is not None} if stored else {}
            if limits:
                spent = _read_spent(connection, everyones="month_usd" in limits, **row)
                if refusal := _refusal(model, limits, spent, own=stored is not None and stored.owner == user):
                    return refusal
                reserved = replace(counted, microusd=max(counted.microusd, spent.usual))
            connection.execute(_COUNT, {**row, "label": model.label, **asdict(reserved)})
            return reserved

        found = await self.database.write(reserve)
        if isinstance(found, SpendLimitError):
            raise found
        reserved = found

        async def settle(usage: CallUsage) -> None:
            more = {**row, **asdict(_Counted.of(usage) - reserved)}
            await self.database.write(lambda connection: connection.execute(_ADD, more))

        return settle

    async def spent(self, caller: str | None, connection_ids: Sequence[str]) -> Mapping[str, Mapping[str, float]]:
        """Connection -> `today_usd`, `month_usd` and `calls_month`: the caller's, or everyone's for None."""
        today = self._today()

        def read(connection: Connection) -> dict[str, Mapping[str, float]]:
            rows = connection.execute(
                "SELECT connection_id, SUM(calls) AS calls, SUM(microusd) AS month,"
                " SUM(CASE WHEN day = ? THEN microusd ELSE 0 END) AS today"
                " FROM model_spend WHERE day >= ? AND user_id = COALESCE(?, user_id) GROUP BY connection_id",
                (today, today[:7], caller),
            )
            return {
                row["connection_id"]: {
                    "today_usd": int(row["today"]) / MICRO,
                    "month_usd": int(row["month"]) / MICRO,
                    "calls_month": int(row["calls"]),
                }
                for row in rows
            }

        known = await self.database.read(read)
        return {each: known[each] for each in connection_ids if each in known}

    async def rows(self, user: str | None) -> list[dict[str, Any]]:
        """What one user, or everybody, spent by connection and day; newest first."""

        def read(connection: Connection) -> list[dict[str, Any]]:
            rows = connection.execute(
                "SELECT * FROM model_spend WHERE user_id = COALESCE(?, user_id) ORDER BY day DESC, user_id, connection_id LIMIT ?",
                (user, MAX_ROWS),
            )
            return [
                {
                    "user": row["user_id"],
                    "connection": row["connection_id"],
                    "label": row["label"],
                    "day": row["day"],
                    "calls": row["calls"],
                    "input_tokens": row["input_tokens"],
                    "output_tokens": row["output_tokens"],
                    "usd": None if row["unpriced"] and not row["microusd"] else row["microusd"] / MICRO,
                }
                for row in rows
            ]

        return await self.database.read(read)

    def _today(self) -> str:
        return f"{self.clock.now():%Y-%m-%d}"


@dataclass(frozen=True)
class _Counted:
    """What a call adds to its row."""

    input_tokens: int
    output_tokens: int
    microusd: int
    unpriced: int

    @classmethod
    def of(cls, usage: CallUsage) -> _Counted:
        cost = usage.cost_usd
        return cls(usage.tokens.input, usage.tokens.output, round((cost or 0.0) * MICRO), int(cost is None))

    def __sub__(self, less: _Counted) -> _Counted:
        return _Counted(*(a - b for a, b in zip(astuple(self), astuple(less), strict=True)))


_COUNT = (
    "INSERT INTO model_spend (user_id, connection_id, day, label, calls, input_tokens, output_tokens, microusd, unpriced)"
    " VALUES (:user_id, :connection_id, :day, :label, 1, :input_tokens, :output_tokens, :microusd, :unpriced)"
    " ON CONFLICT (user_id, connection_id, day) DO UPDATE SET calls = model_spend.calls + 1,"
    " input_tokens = model_spend.input_tokens + excluded.input_tokens, output_tokens = model_spend.output_tokens + excluded.output_tokens,"
    " microusd = model_spend.microusd + excluded.microusd, unpriced = model_spend.unpriced + excluded.unpriced, label = excluded.label"
)
_ADD = (
    "UPDATE model_spend SET input_tokens = input_tokens + :input_tokens, output_tokens = output_tokens + :output_tokens,"
    " microusd = microusd + :microusd, unpriced = unpriced + :unpriced"
    " WHERE user_id = :user_id AND connection_id = :connection_id AND day = :day"
)


def _refusal(model: ConnectedModel, limits: Mapping[str, float], spent: _Spent, *, own: bool) -> SpendLimitError | None:
    if price_of(str(model)) is None:
        way_out = "Remove the limit under Settings > Limits." if own else "Ask the owner of the connection to remove the limit."
        return SpendLimitError(
            f"'{model.label}' has a spending limit, but the price of {model.name} is not known, so the limit could not be kept. "
            f"Choose another model. {way_out}"
        )
    for name, used, whose, period in (
        ("per_user_day_usd", spent.users_day, "Your limit", "today"),
        ("per_user_month_usd", spent.users_month, "Your limit", "this month"),
        ("month_usd", spent.month, "The limit for everyone", "this month"),
    ):
        limit = limits.get(name)
        if limit is not None and used >= limit * MICRO:
            again = "tomorrow (UTC)" if period == "today" else "next month"
            return SpendLimitError(
                f"{whose} on '{model.label}' is reached: ${used / MICRO:,.2f} of ${limit:,.2f} {period}, with the calls under way. "
                f"Nothing was sent. Choose another model, continue {again}, or have the limit raised under Settings > Limits."
            )
    return None


def _read_spent(connection: Connection, *, user_id: str, connection_id: str, day: str, everyones: bool) -> _Spent:
    """What the user has spent, and what everyone has: a sum over all users, so only if a limit needs it."""
    mine = connection.execute(
        "SELECT COALESCE(SUM(CASE WHEN day = ? THEN microusd END), 0) AS today, COALESCE(SUM(microusd), 0) AS month,"
        " COALESCE(SUM(calls), 0) AS calls FROM model_spend WHERE user_id = ? AND connection_id = ? AND day >= ?",
        (day, user_id, connection_id, day[:7]),
    ).fetchone()
    total = (
        everyones
        and connection.execute(
            "SELECT COALESCE(SUM(microusd), 0) AS month FROM model_spend WHERE connection_id = ? AND day >= ?",
            (connection_id, day[:7]),
        ).fetchone()
    )
    today, month, calls = (int(mine[name]) for name in ("today", "month", "calls")) if mine else (0, 0, 0)
    return _Spent(today, month, int(total["month"]) if total else 0, month // calls if calls else 0)
