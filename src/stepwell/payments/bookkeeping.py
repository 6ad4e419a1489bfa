"""What an operator can ask about money and do with it, shared by `stepwell wallet` on a database file and by the server's routes.

```
list_sessions   read_statement   list_debts   list_operations   list_payouts     read the ledger; need neither a mint nor a setting
try_again       pay_out          pay_out_again   audit   recover   sweep         need the wallet
```
They all return JSON without bearer data: ids, hashes and sums. The one exception is a payout, which returns its token.
Modules that need the extra `payments` are imported only where they are used, because a server without payments has these routes too.
"""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Any

from stepwell.errors import ConfigurationError, InvalidRequestError, NotFoundError, RefundUnavailableError
from stepwell.payments.states import OperationState, SessionState

if TYPE_CHECKING:
    from stepwell.payments.ledger.ledger import Entry, Funding, HandedOut, Ledger, Operation, Session
    from stepwell.payments.wallet.wallet import Wallet

Json = dict[str, Any]

MOST_LINES = 1000
_SEE_SESSIONS = "List them with `stepwell wallet sessions`."
_SEE_PAYOUTS = "List them with `stepwell wallet payouts`."


async def list_sessions(
    ledger: Ledger, *, owner: str | None = None, state: SessionState | None = None, limit: int = MOST_LINES
) -> list[Json]:
    """Sessions, the most recently used first."""
    found = await ledger.sessions(owner, (state,) if state else (), newest=limit)
    return [_session_json(session) for session in found]


async def read_statement(ledger: Ledger, session_id: str, *, after: int = 0, limit: int = MOST_LINES) -> Json:
    """A session with its tokens, its refund and a page of its lines; pass `next` as `after` to get the next page."""
    try:
        session = await ledger.session(None, session_id)
    except NotFoundError as error:
        raise NotFoundError("payment session", session_id, _SEE_SESSIONS) from error
    entries = await ledger.entries(None, session_id, after, limit + 1)
    refund = await ledger.refund_of(session_id)
    return {
        **_session_json(session),
        "tokens": [_token_json(funding) for funding in await ledger.fundings(session_id)],
        "refund": _handed_out_json(refund) if refund else None,
        "history": [_entry_json(entry) for entry in entries[:limit]],
        "next": entries[limit - 1].seq if len(entries) > limit else None,
    }


async def list_debts(ledger: Ledger) -> Json:
    """What we owe payers, by mint and in total, and the refunds that wait to be fetched."""
    debts = await ledger.owed()
    refunds = [_handed_out_json(refund) for refund in await ledger.unclaimed() if refund.kind == "refund"]
    return {
        "total_sats": sum(debt.total_sats for debt in debts),
        "mints": [{**asdict(debt), "total_sats": debt.total_sats} for debt in debts],
        "refunds": refunds,
    }


async def list_operations(ledger: Ledger, *, pending: bool = False) -> list[Json]:
    """Swaps with an unknown outcome; with `pending`, also those under way or waiting for their mint. The oldest comes first."""
    states: tuple[OperationState, ...] = ("unknown", "pending") if pending else ("unknown",)
    return [_operation_json(operation) for operation in await ledger.operations(states)]


async def try_again(wallet: Wallet, operation_id: str) -> Json:
    """Retry a swap whose outcome is unknown or that waits for its mint, and return the outcome. A swap that has ended stays as it is."""
    if (await wallet.ledger.operation(operation_id)).state in ("unknown", "pending"):
        await wallet.ledger.reopen(operation_id)
        await wallet.recover()
    return _operation_json(await wallet.ledger.operation(operation_id))


async def list_payouts(ledger: Ledger) -> list[Json]:
    """Payouts that no mint has reported as spent yet, the oldest first."""
    return [_handed_out_json(payout) for payout in await ledger.unclaimed() if payout.kind == "payout"]


async def pay_out(wallet: Wallet, mint: str | None = None) -> Json:
    """Pay the earnings out as a token. `mint` is optional when only one is accepted."""
    url = _choose_mint(wallet, mint)
    try:
        payout = await wallet.payout(url)
    except RefundUnavailableError as error:
        if url in wallet.accepted_mints:
            raise
        raise NotFoundError("mint", url, f"Accepted mints: {', '.join(wallet.accepted_mints)}.") from error
    left = sum(proof.amount for proof in await wallet.ledger.earnings(url))
    return {**_handed_out_json(payout), "token": payout.token, "left_sats": left}


async def pay_out_again(wallet: Wallet, payout_id: str) -> Json:
    """The token of an earlier payout, until the mint says that it is spent. Payers' refunds are not available here."""
    try:
        payout = await wallet.ledger.handed_out(None, payout_id)
    except NotFoundError as error:
        raise NotFoundError("payout", payout_id, _SEE_PAYOUTS) from error
    if payout.kind != "payout":
        raise NotFoundError("payout", payout_id, _SEE_PAYOUTS)
    try:
        token = await wallet.claim(None, payout_id)
    except RefundUnavailableError as error:
        raise RefundUnavailableError(f"Payout '{payout_id}' was spent: its mint says so.", "payout_spent") from error
    left = sum(proof.amount for proof in await wallet.ledger.earnings(payout.mint))
    return {**_handed_out_json(payout), "token": token, "left_sats": left}


async def recover(wallet: Wallet) -> Json:
    """Finish the swaps that are under way."""
    waiting = await wallet.recover()
    return {"waiting": waiting, "unknown": len(await wallet.ledger.operations(("unknown",)))}


async def sweep(wallet: Wallet) -> Json:
    """Pay back idle sessions, and record which tokens were spent."""
    return asdict(await wallet.sweep())


async def audit(wallet: Wallet) -> Json:
    """Whether all the money is there."""
    return (await wallet.audit()).as_json()


def _choose_mint(wallet: Wallet, mint: str | None) -> str:
    from stepwell.payments.wallet.mint import check_mint_url

    if mint is None and len(wallet.accepted_mints) != 1:
        raise InvalidRequestError(f"Several mints are accepted. Name one of: {', '.join(wallet.accepted_mints)}.")
    try:
        return check_mint_url(mint) if mint is not None else wallet.accepted_mints[0]
    except ConfigurationError as error:
        raise InvalidRequestError(str(error)) from error


def _session_json(session: Session) -> Json:
    return {
        "funding_id": session.session_id,
        "owner": session.owner,
        "state": session.state,
        "mint": session.mint,
        "funded": session.credits,
        "spent": session.spent,
        "balance": session.balance,
        "reserved": session.reserved,
        "refunded": session.refunded,
        "fees": session.fees,
        "ceiling": session.ceiling,
        "lost_answers": session.lost_answers,
        "ending": session.ending,
        "reason": session.reason,
        "created_at": _when(session.created_at),
        "touched_at": _when(session.touched_at),
    }


def _token_json(funding: Funding) -> Json:
    return {
        "fingerprint": funding.fingerprint,
        "state": funding.state,
        "amount_sats": funding.amount,
        "fee_sats": funding.fee,
        "reason": funding.reason,
    }


def _entry_json(entry: Entry) -> Json:
    return {"seq": entry.seq, "kind": entry.kind, "amount_sats": entry.amount, "key": entry.key, "at": _when(entry.at)}


def _operation_json(operation: Operation) -> Json:
    return {
        "operation_id": operation.operation_id,
        "kind": operation.kind,
        "state": operation.state,
        "reason": operation.reason,
        "funding_id": operation.session_id,
        "owner": operation.owner,
        "mint": operation.mint,
        "amount_sats": operation.amount,
        "fee_sats": operation.fee,
        "begun_at": _when(operation.created_at),
    }


def _handed_out_json(handed_out: HandedOut) -> Json:
    whose = {} if handed_out.kind == "payout" else {"funding_id": handed_out.session_id, "owner": handed_out.owner}
    return {
        f"{handed_out.kind}_id": handed_out.token_id,
        **whose,
        "mint": handed_out.mint,
        "amount_sats": handed_out.amount,
        "spent": handed_out.claimed,
        "made_at": _when(handed_out.created_at),
    }


def _when(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None
