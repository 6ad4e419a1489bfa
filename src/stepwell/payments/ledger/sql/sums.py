"""Sums over the whole ledger for the operator, each at one moment, whatever happens meanwhile."""

from __future__ import annotations

from collections import defaultdict

import orjson

from stepwell.payments.cashu.money import Proof
from stepwell.payments.ledger.ledger import Debt, Holding, Totals
from stepwell.payments.ledger.sql.rows import proof_from
from stepwell.sql import Connection

_DEBTS = """
SELECT mint, 'sessions' AS what, COUNT(*) AS count, SUM(credits - spent - refunded - fees) AS sats
FROM payment_sessions WHERE credits - spent - refunded - fees > 0 GROUP BY mint
UNION ALL
SELECT session.mint, 'tokens', COUNT(*), SUM(funding.amount)
FROM payment_fundings AS funding JOIN payment_sessions AS session USING (session_id)
WHERE funding.state IN ('pending', 'authorized', 'redeeming') GROUP BY session.mint
UNION ALL
SELECT mint, 'refunds', COUNT(*), SUM(amount) FROM payment_tokens WHERE kind = 'refund' AND claimed = 0 GROUP BY mint
"""
_HELD = """
SELECT proof.mint, proof.holder, proof.proof FROM payment_proofs AS proof JOIN payment_sessions AS session USING (session_id)
WHERE proof.holder = 'earnings' OR (proof.holder = 'session' AND session.state IN ('active', 'exhausted'))
ORDER BY proof.mint, proof.point
"""
_SATS = {"sessions": "balances_sats", "tokens": "tokens_sats", "refunds": "refunds_sats"}


def sum_up(connection: Connection) -> Totals:
    """The whole ledger at one moment: sums over lines, over sessions and over proofs."""
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


def list_debts(connection: Connection) -> list[Debt]:
    found: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for row in connection.execute(_DEBTS):
        found[row["mint"]] |= {row["what"]: row["count"], _SATS[row["what"]]: row["sats"]}
    return [Debt(mint, **found[mint]) for mint in sorted(found)]


def list_holdings(connection: Connection) -> list[Holding]:
    found: defaultdict[str, dict[str, list[Proof]]] = defaultdict(lambda: {"session": [], "earnings": []})
    for row in connection.execute(_HELD):
        found[row["mint"]][row["holder"]].append(proof_from(orjson.loads(row["proof"])))
    return [Holding(mint, tuple(kinds["session"]), tuple(kinds["earnings"])) for mint, kinds in found.items()]
