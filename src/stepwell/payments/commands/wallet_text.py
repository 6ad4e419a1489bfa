"""What `stepwell wallet` prints for people: JSON from the ledger or a server, as tables and sentences. Amounts are in sats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from stepwell.terminal.own_command import spell_command
from stepwell.terminal.tables import align, short_time

Line = Mapping[str, Any]

_SUMS = ("funded", "spent", "balance", "reserved")
_OUTCOMES = {
    "done": "The mint had completed it. The money is in the ledger.",
    "failed": "The mint did not carry it out, and no money was taken.",
    "pending": "The mint could not be reached. A server retries automatically; so does `{recover}`.",
    "unknown": "The outcome is still unknown. Ask the mint's operator, then try again.",
}


def describe_sessions(lines: Sequence[Line]) -> list[str]:
    if not lines:
        return ["No payment sessions."]
    heads = ["id", "owner", "state", *_SUMS, "lost answers", "last touched"]
    rows = [
        [
            line["funding_id"],
            line["owner"],
            line["state"],
            *(str(line[name]) for name in _SUMS),
            str(line["lost_answers"]),
            short_time(line["touched_at"]),
        ]
        for line in lines
    ]
    return align([heads, *rows], numbers=range(3, 8))


def describe_statement(statement: Line) -> list[str]:
    facts = {
        "session": statement["funding_id"],
        "owner": statement["owner"],
        "state": statement["state"] + (f" ({statement['reason']})" if statement["reason"] else ""),
        "mint": statement["mint"],
        **{name: f"{statement[name]} sats" for name in (*_SUMS, "refunded", "fees")},
        "ceiling": "none" if statement["ceiling"] is None else f"{statement['ceiling']} sats",
        "lost answers": f"{statement['lost_answers']}, not charged",
        "begun": short_time(statement["created_at"]),
        "last touched": short_time(statement["touched_at"]) + (", ends at the next sweep" if statement["ending"] else ""),
    }
    refund = statement["refund"]
    if refund:
        facts["refund"] = f"{refund['amount_sats']} sats, {'spent' if refund['spent'] else 'not fetched yet'}"
    lines = align([[name, fact] for name, fact in facts.items()])
    for token in statement["tokens"]:
        reason = f" ({token['reason']})" if token["reason"] else ""
        lines.append(f"token {token['fingerprint'][:16]}: {token['amount_sats']} sats, {token['state']}{reason}")
    history = [
        [str(entry["seq"]), short_time(entry["at"]), entry["kind"], str(entry["amount_sats"]), entry["key"]]
        for entry in statement["history"]
    ]
    return [*lines, *(["", *align([["line", "at", "kind", "sats", "for"], *history], numbers=(0, 3))] if history else [])]


def describe_debts(owed: Line) -> list[str]:
    if not owed["mints"]:
        return ["Nobody is owed anything."]
    heads = ["mint", "balances", "tokens not redeemed", "refunds not fetched", "sats in all"]
    rows = [
        [
            debt["mint"],
            f"{debt['balances_sats']} in {debt['sessions']}",
            f"{debt['tokens_sats']} in {debt['tokens']}",
            f"{debt['refunds_sats']} in {debt['refunds']}",
            str(debt["total_sats"]),
        ]
        for debt in owed["mints"]
    ]
    last = ["in all", "", "", "", str(owed["total_sats"])]
    lines = align([heads, *rows, *([last] if len(rows) > 1 else [])], numbers=range(1, 5))
    waiting = [
        [refund["refund_id"], refund["owner"], str(refund["amount_sats"]), refund["mint"], short_time(refund["made_at"])]
        for refund in owed["refunds"]
    ]
    return [*lines, *(["", *align([["refund", "owner", "sats", "mint", "since"], *waiting], numbers=(2,))] if waiting else [])]


def describe_operations(lines: Sequence[Line]) -> list[str]:
    if not lines:
        return ["Nothing to settle: the outcome of every swap is known."]
    heads = ["operation", "kind", "state", "sats", "session", "mint", "begun", "reason"]
    rows = [
        [
            line["operation_id"],
            line["kind"],
            line["state"],
            str(line["amount_sats"]),
            line["funding_id"],
            line["mint"],
            short_time(line["begun_at"]),
            line["reason"] or "",
        ]
        for line in lines
    ]
    table = align([heads, *rows], numbers=(3,))
    if any(line["state"] == "unknown" for line in lines):
        table.append(f"Ask the mint's operator what happened, then retry: {spell_command('wallet settle OPERATION')}")
    return table


def describe_outcome(operation: Line) -> list[str]:
    sentence = _OUTCOMES[operation["state"]].format(recover=spell_command("wallet recover"))
    reason = f" ({operation['reason']})" if operation["reason"] and operation["state"] != "pending" else ""
    kind = "redemption" if operation["kind"] == "redeem" else "settlement"
    return [
        f"Operation '{operation['operation_id']}', the {kind} of {operation['amount_sats']} sats of session '{operation['funding_id']}', "
        f"is {operation['state']}{reason}. {sentence}"
    ]


def describe_audit(audit: Line) -> list[str]:
    totals = audit["totals"]
    named = {
        "came in": "credits",
        "charged": "charges",
        "still the payers'": "balances",
        "paid back": "refunds",
        "kept by mints": "fees",
        "earned, to be paid out": "earned_proofs",
        "paid out": "paid_out",
    }
    sums = align([[name, str(totals[key])] for name, key in named.items()], numbers=(1,))
    verdict = (
        "The books add up." if audit["adds_up"] else "The books do NOT add up. Stop the server and keep a copy of the database."
    )
    heads = ["mint", "in sessions", "earned", "spent elsewhere"]
    rows = [
        [mint["mint"], str(mint["for_payers_sats"]), str(mint["earned_sats"]), _spent(mint["spent_elsewhere_sats"])]
        for mint in audit["mints"]
    ]
    troubles = [f"{mint['mint']}: {mint['trouble']}" for mint in audit["mints"] if mint["trouble"]]
    missing = audit["spent_elsewhere_sats"]
    alarm = [
        f"{missing} sats that the ledger counts as held were spent elsewhere. Does somebody else have the database or the seed?"
    ]
    return [*sums, verdict, "", *align([heads, *rows], numbers=(1, 2, 3)), *(alarm if missing else []), *troubles]


def describe_payout(payout: Line, to: Path | None) -> str:
    again = spell_command(f"wallet payout --again {payout['payout_id']}")
    left = f" {payout['left_sats']} sats did not fit in and are left for the next payout." if payout["left_sats"] else ""
    return (
        f"Payout '{payout['payout_id']}': {payout['amount_sats']} sats of {payout['mint']}, {'above' if to is None else f'in {to}'}. "
        f"Anybody who has this token can spend it. Until its mint reports it as spent, you can show it again: {again}.{left}"
    )


def describe_payouts(lines: Sequence[Line]) -> list[str]:
    if not lines:
        return ["No unspent payouts."]
    rows = [[line["payout_id"], str(line["amount_sats"]), line["mint"], short_time(line["made_at"])] for line in lines]
    again = spell_command("wallet payout --again PAYOUT")
    return [*align([["payout", "sats", "mint", "made"], *rows], numbers=(1,)), f"Show one as a token: {again}"]


def describe_recovery(found: Line) -> list[str]:
    waiting = f"Swaps waiting for a mint that could not be reached: {found['waiting']}." if found["waiting"] else ""
    unknown = (
        f"Swaps of unknown outcome: {found['unknown']}. See: {spell_command('wallet unknown')}" if found["unknown"] else ""
    )
    return [line for line in (waiting, unknown) if line] or ["No swaps are in progress."]


def describe_sweep(found: Line) -> list[str]:
    named = {
        "sessions ended, their refunds ready": "refunded",
        "reservations released whose call never returned": "released",
        "refunds and payouts found to be spent": "claimed",
        "failed; the next sweep retries": "failed",
    }
    return align([[name, str(found[key])] for name, key in named.items()], numbers=(1,))


def _spent(sats: int | None) -> str:
    return "not asked" if sats is None else str(sats)
