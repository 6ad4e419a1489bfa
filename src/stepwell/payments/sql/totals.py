"""All of the ledger at once, for whoever checks it: sums over lines, over sessions and over the money itself."""

from __future__ import annotations

import sqlite3

from stepwell.payments.ledger import Totals


def sum_up(connection: sqlite3.Connection) -> Totals:
    kinds = {
        row["kind"]: row["total"]
        for row in connection.execute("SELECT kind, SUM(amount) AS total FROM payment_entries GROUP BY kind")
    }
    holders = {
        row["holder"]: row["total"]
        for row in connection.execute("SELECT holder, SUM(amount) AS total FROM payment_proofs GROUP BY holder")
    }
    balances = connection.execute(
        "SELECT COALESCE(SUM(credits - spent - refunded - fees), 0) AS balances FROM payment_sessions"
    ).fetchone()["balances"]
    paid_out = connection.execute(
        "SELECT COALESCE(SUM(amount), 0) AS paid_out FROM payment_tokens WHERE kind = 'payout'"
    ).fetchone()["paid_out"]
    return Totals(
        credits=kinds.get("credit", 0),
        charges=kinds.get("charge", 0) - kinds.get("void", 0),
        refunds=kinds.get("refund", 0),
        fees=kinds.get("fee", 0),
        balances=balances,
        session_proofs=holders.get("session", 0),
        earned_proofs=holders.get("earnings", 0),
        paid_out=paid_out,
    )
