"""What an operator is told about money, and does with it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from tests.unit.payments.conftest import SEED, SetClock

from stepwell.errors import InvalidRequestError, MintAnswerError, MintUnavailableError, NotFoundError, RefundUnavailableError
from stepwell.payments import bookkeeping
from stepwell.payments.cashu.tokens import Token, decode_token, encode_token
from stepwell.payments.ledger.memory import MemoryLedger
from stepwell.payments.wallet.mint import ProofState
from stepwell.payments.wallet.wallet import Wallet
from stepwell.testing import MemoryMint

OTHER = "https://other.test"


async def pay(wallet: Wallet, session_id: str, key: str, sats: int) -> None:
    await wallet.settle(await wallet.reserve(None, session_id, key, sats), sats)


async def fund_and_pay(wallet: Wallet, mint: MemoryMint, owner: str, sats: int, cost: int) -> str:
    session_id = (await wallet.fund(owner, mint.issue_token(sats))).session_id
    await pay(wallet, session_id, f"call of {session_id}", cost)
    return session_id


async def contradict(wallet: Wallet, mint: MemoryMint, ledger: MemoryLedger) -> tuple[str, str]:
    """A session whose refund has an unknown outcome: the mint calls our money spent. The session and the operation."""
    session_id = await fund_and_pay(wallet, mint, "alice", 100, 10)
    mint.spend(encode_token(Token(mint.url, "sat", tuple(await ledger.session_proofs(session_id)))))
    with pytest.raises(MintAnswerError):
        await wallet.refund("alice", session_id)
    (operation,) = await ledger.operations(("unknown",))
    return session_id, operation.operation_id


async def test_sessions_are_listed_by_owner_and_state_those_touched_last_first(
    wallet: Wallet, mint: MemoryMint, ledger: MemoryLedger, clock: SetClock
):
    first = await fund_and_pay(wallet, mint, "alice", 100, 10)
    clock.move(minutes=1)
    second = (await wallet.fund("bob", mint.issue_token(50))).session_id
    clock.move(minutes=1)
    await pay(wallet, first, "later", 5)
    lines = await bookkeeping.list_sessions(ledger)
    assert [line["funding_id"] for line in lines] == [first, second]
    sums = ("funded", "spent", "balance", "reserved", "fees", "lost_answers")
    assert [lines[0][name] for name in sums] == [100, 15, 84, 0, 1, 0]
    assert [line["owner"] for line in await bookkeeping.list_sessions(ledger, owner="bob")] == ["bob"]
    assert [line["state"] for line in await bookkeeping.list_sessions(ledger, state="active")] == ["active"]
    assert [line["funding_id"] for line in await bookkeeping.list_sessions(ledger, limit=1)] == [first]


async def test_a_statement_has_every_line_page_by_page_and_no_bearer_data(
    wallet: Wallet, mint: MemoryMint, ledger: MemoryLedger
):
    token = mint.issue(100)
    session_id = (await wallet.fund("alice", decode_token(token))).session_id
    for number in range(3):
        await pay(wallet, session_id, f"k{number}", 7)
    await wallet.refund("alice", session_id)
    page = await bookkeeping.read_statement(ledger, session_id, limit=2)
    assert [entry["kind"] for entry in page["history"]] == ["credit", "fee"]
    rest = await bookkeeping.read_statement(ledger, session_id, after=page["next"])
    assert [(entry["kind"], entry["amount_sats"]) for entry in rest["history"]] == [
        ("charge", 7),
        ("charge", 7),
        ("charge", 7),
        ("fee", 1),
        ("refund", 77),
    ]
    assert rest["next"] is None
    assert (rest["refund"]["amount_sats"], rest["refund"]["spent"], rest["tokens"][0]["state"]) == (77, False, "redeemed")
    refund = await ledger.refund_of(session_id)
    assert refund is not None
    assert_no_bearer_data(rest, token, refund.token)


async def test_a_page_that_ends_with_the_last_line_is_the_last_one(wallet: Wallet, mint: MemoryMint, ledger: MemoryLedger):
    session_id = await fund_and_pay(wallet, mint, "alice", 100, 10)
    assert (await bookkeeping.read_statement(ledger, session_id, limit=3))["next"] is None
    assert (await bookkeeping.read_statement(ledger, session_id, limit=2))["next"] is not None


async def test_what_is_owed_is_balances_and_tokens_and_refunds_by_mint(ledger: MemoryLedger, mint: MemoryMint, clock: SetClock):
    other = MemoryMint(OTHER, seed=b"other")
    wallet = Wallet(ledger, [mint, other], SEED, clock=clock, pause_s=0)
    assert await bookkeeping.list_debts(ledger) == {"total_sats": 0, "mints": [], "refunds": []}
    await fund_and_pay(wallet, mint, "alice", 100, 10)
    await wallet.fund("alice", mint.issue_token(30))
    returned = await fund_and_pay(wallet, other, "bob", 64, 4)
    refund = await wallet.refund("bob", returned)
    owed = await bookkeeping.list_debts(ledger)
    known, foreign = owed["mints"]
    assert (known["mint"], known["balances_sats"], known["tokens_sats"], known["refunds_sats"]) == (mint.url, 89, 30, 0)
    assert (foreign["mint"], foreign["balances_sats"], foreign["refunds_sats"], foreign["total_sats"]) == (OTHER, 0, 60, 60)
    assert owed["total_sats"] == 89 + 30 + 60
    assert [(line["refund_id"], line["owner"], line["amount_sats"]) for line in owed["refunds"]] == [
        (refund.token_id, "bob", 60)
    ]
    other.spend(await wallet.claim("bob", refund.token_id))
    await wallet.sweep()
    assert (await bookkeeping.list_debts(ledger))["total_sats"] == 119


async def test_a_swap_of_unknown_outcome_is_listed_and_stays_unknown_while_the_mint_contradicts_itself(
    wallet: Wallet, mint: MemoryMint, ledger: MemoryLedger
):
    session_id, operation_id = await contradict(wallet, mint, ledger)
    (line,) = await bookkeeping.list_operations(ledger)
    assert (line["operation_id"], line["funding_id"], line["kind"], line["state"]) == (
        operation_id,
        session_id,
        "settle",
        "unknown",
    )
    assert "calls our own money spent" in line["reason"]
    assert (await bookkeeping.try_again(wallet, operation_id))["state"] == "unknown"
    assert_no_bearer_data(line)


async def test_a_swap_that_the_mint_had_done_is_settled_and_stays_so(wallet: Wallet, mint: MemoryMint, ledger: MemoryLedger):
    session_id = (await wallet.fund("alice", mint.issue_token(100))).session_id
    mint.faults = ["after", "after", "after"]
    mint_knows = mint.restore

    async def silent(outputs: Any) -> Mapping[str, Any]:
        raise MintUnavailableError("no answer")

    mint.restore = silent  # type: ignore[method-assign]  # a mint that answers some questions and others not
    with pytest.raises(MintUnavailableError):
        await wallet.reserve("alice", session_id, "k", 5)
    (operation,) = await ledger.operations()
    assert (await bookkeeping.list_operations(ledger), len(await bookkeeping.list_operations(ledger, pending=True))) == ([], 1)
    await ledger.mark_unknown(operation.operation_id, "an operator should look")
    assert (await bookkeeping.try_again(wallet, operation.operation_id))["state"] == "pending"
    assert await bookkeeping.recover(wallet) == {"waiting": 1, "unknown": 0}
    mint.restore = mint_knows  # type: ignore[method-assign]
    assert (await bookkeeping.try_again(wallet, operation.operation_id))["state"] == "done"
    assert (await bookkeeping.try_again(wallet, operation.operation_id))["state"] == "done"
    assert (await wallet.session("alice", session_id)).balance == 99
    with pytest.raises(NotFoundError, match=r"No payment operation 'nothing'\. .*stepwell wallet unknown"):
        await bookkeeping.try_again(wallet, "nothing")


async def test_an_audit_names_a_mint_that_is_down_and_shows_the_rest(ledger: MemoryLedger, mint: MemoryMint, clock: SetClock):
    other = MemoryMint(OTHER, seed=b"other")
    wallet = Wallet(ledger, [mint, other], SEED, clock=clock, pause_s=0)
    stolen = await fund_and_pay(wallet, mint, "alice", 100, 10)
    await fund_and_pay(wallet, other, "bob", 64, 4)
    mint.spend(encode_token(Token(mint.url, "sat", tuple(await ledger.session_proofs(stolen)))))
    other.down = True
    audit = await bookkeeping.audit(wallet)
    asked, silent = audit["mints"]
    assert (asked["mint"], asked["for_payers_sats"], asked["spent_elsewhere_sats"], asked["trouble"]) == (
        mint.url,
        99,
        99,
        None,
    )
    assert (silent["mint"], silent["for_payers_sats"], silent["spent_elsewhere_sats"]) == (OTHER, 64, None)
    assert silent["trouble"] == "the mint is down"
    assert (audit["adds_up"], audit["spent_elsewhere_sats"], audit["totals"]["credits"]) == (True, 99, 164)


async def test_an_audit_names_money_of_a_mint_that_is_no_longer_accepted(
    ledger: MemoryLedger, mint: MemoryMint, clock: SetClock
):
    other = MemoryMint(OTHER, seed=b"other")
    await fund_and_pay(Wallet(ledger, [other], SEED, clock=clock, pause_s=0), other, "bob", 64, 4)
    audit = await Wallet(ledger, [mint], SEED, clock=clock, pause_s=0).audit()
    assert [(found.mint, found.for_payers_sats, found.spent_elsewhere_sats) for found in audit.mints] == [
        (mint.url, 0, 0),
        (OTHER, 64, None),
    ]
    assert "no longer accepted" in (audit.mints[1].trouble or "")


async def test_an_audit_beside_a_refund_does_not_take_it_for_a_theft(
    wallet: Wallet, mint: MemoryMint, ledger: MemoryLedger, monkeypatch: pytest.MonkeyPatch
):
    """The session is settled after its money was listed and before the mint is asked."""
    session_id = await fund_and_pay(wallet, mint, "alice", 100, 10)
    ask = mint.states

    async def settle_first(points: Sequence[str]) -> Mapping[str, ProofState]:
        monkeypatch.undo()
        await wallet.refund("alice", session_id)
        return await ask(points)

    monkeypatch.setattr(mint, "states", settle_first)
    audit = await wallet.audit()
    assert (audit.mints[0].for_payers_sats, audit.spent_elsewhere) == (99, 0)


async def test_books_that_do_not_add_up_are_said(wallet: Wallet, mint: MemoryMint):
    await fund_and_pay(wallet, mint, "alice", 100, 10)
    audit = await wallet.audit()
    assert audit.adds_up
    assert not replace(audit, totals=replace(audit.totals, credits=101)).adds_up
    assert not replace(audit, totals=replace(audit.totals, earned_proofs=1)).adds_up


async def test_earnings_are_paid_out_and_shown_again_until_they_are_spent(
    wallet: Wallet, mint: MemoryMint, ledger: MemoryLedger
):
    with pytest.raises(RefundUnavailableError, match=f"Nothing has been earned at {mint.url}"):
        await bookkeeping.pay_out(wallet, mint.url)
    await wallet.refund("alice", await fund_and_pay(wallet, mint, "alice", 100, 10))
    made = await bookkeeping.pay_out(wallet, f"{mint.url}/")
    assert (made["amount_sats"], made["left_sats"], made["mint"]) == (10, 0, mint.url)
    (listed,) = await bookkeeping.list_payouts(ledger)
    assert (listed["payout_id"], listed["amount_sats"]) == (made["payout_id"], 10)
    assert_no_bearer_data(listed, made["token"])
    assert (await bookkeeping.pay_out_again(wallet, made["payout_id"]))["token"] == made["token"]
    assert mint.spend(made["token"]) == 10
    with pytest.raises(RefundUnavailableError, match=f"Payout '{made['payout_id']}' was spent"):
        await bookkeeping.pay_out_again(wallet, made["payout_id"])
    assert await bookkeeping.list_payouts(ledger) == []


async def test_a_payers_refund_is_not_shown_as_a_payout(wallet: Wallet, mint: MemoryMint, ledger: MemoryLedger):
    refund = await wallet.refund("alice", await fund_and_pay(wallet, mint, "alice", 100, 10))
    for unknown in (refund.token_id, "nothing"):
        with pytest.raises(NotFoundError, match=f"No payout '{unknown}'"):
            await bookkeeping.pay_out_again(wallet, unknown)


async def test_a_mint_must_be_named_where_there_are_several_and_be_one_of_them(
    wallet: Wallet, ledger: MemoryLedger, mint: MemoryMint
):
    with pytest.raises(NotFoundError, match=f"No mint 'https://nowhere.test'. Accepted mints: {mint.url}"):
        await bookkeeping.pay_out(wallet, "https://nowhere.test")
    with pytest.raises(InvalidRequestError, match="not a valid mint address"):
        await bookkeeping.pay_out(wallet, "nowhere")
    several = Wallet(ledger, [mint, MemoryMint(OTHER)], SEED)
    with pytest.raises(InvalidRequestError, match=f"Name one of: {mint.url}, {OTHER}"):
        await bookkeeping.pay_out(several)
    await wallet.refund("alice", await fund_and_pay(wallet, mint, "alice", 100, 10))
    assert (await bookkeeping.pay_out(wallet))["amount_sats"] == 10


async def test_a_payout_is_a_token_that_wallets_take_however_much_was_earned(
    wallet: Wallet, mint: MemoryMint, ledger: MemoryLedger
):
    """Sessions that are spent to the last sat leave their pieces as they are."""
    pieces = 0
    while pieces <= 100:
        session_id = (await wallet.fund("alice", mint.issue_token(1024))).session_id
        await pay(wallet, session_id, session_id, 1023)
        await wallet.refund("alice", session_id)
        pieces = len(await ledger.earnings(mint.url))
    earned = sum(proof.amount for proof in await ledger.earnings(mint.url))
    first = await bookkeeping.pay_out(wallet)
    assert len(decode_token(first["token"]).proofs) == 100
    assert first["left_sats"] > 0
    second = await bookkeeping.pay_out(wallet)
    assert (first["amount_sats"] + second["amount_sats"], second["left_sats"]) == (earned, 0)
    assert (await wallet.audit()).adds_up


async def test_a_sweep_and_an_unknown_session_are_said(wallet: Wallet, mint: MemoryMint, clock: SetClock, ledger: MemoryLedger):
    await fund_and_pay(wallet, mint, "alice", 100, 10)
    clock.move(days=2)
    assert await bookkeeping.sweep(wallet) == {"refunded": 1, "released": 0, "claimed": 0, "failed": 0}
    with pytest.raises(NotFoundError, match=r"No payment session 'nothing'\. List them with `stepwell wallet sessions`"):
        await bookkeeping.read_statement(ledger, "nothing")


def assert_no_bearer_data(shown: Any, *tokens: str) -> None:
    text = json.dumps(shown)
    secrets = [proof.secret for token in tokens for proof in decode_token(token).proofs]
    assert "cashu" not in text
    assert not [secret for secret in secrets if secret in text]
