"""`stepwell wallet` with a real mint: on a database's file, and against a server that charges."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import httpx
import pytest
from tests.integration.payments.mints import MintProcess, buy
from tests.integration.payments.test_paid_server import make_paid
from tests.integration.server.conftest import serve

from stepwell.cli import main
from stepwell.database.sqlite.database import Database
from stepwell.errors import MintUnavailableError
from stepwell.payments.cashu.money import BlindedMessage, BlindSignature, Proof
from stepwell.payments.cashu.tokens import Token, decode_token, encode_token
from stepwell.payments.configuration import load_charging
from stepwell.payments.http import operator_schemas as schemas
from stepwell.payments.ledger.database import DatabaseLedger
from stepwell.payments.ledger.memory import MemoryLedger
from stepwell.payments.wallet.mint import HttpMint
from stepwell.payments.wallet.wallet import Wallet
from stepwell.server.settings import ServerSettings
from stepwell.testing import MemoryMint

T = TypeVar("T")
DOWN = "http://127.0.0.1:9"


class ForgetfulMint(HttpMint):
    """Does what it is asked, and its answer is lost."""

    async def swap(self, inputs: Sequence[Proof], outputs: Sequence[BlindedMessage]) -> list[BlindSignature]:
        await super().swap(inputs, outputs)
        raise MintUnavailableError("the answer was lost")

    async def restore(self, outputs: Sequence[BlindedMessage]) -> Any:
        raise MintUnavailableError("the answer was lost")


class Said(NamedTuple):
    code: int
    out: str
    err: str


class Till:
    """A database with money in it, and `stepwell wallet` on it."""

    def __init__(self, folder: Path, mint: MintProcess, capsys: pytest.CaptureFixture[str]) -> None:
        self.file = folder / "server.db"
        self._capsys = capsys
        self.seed = secrets.token_hex(32)  # one seed belongs to one database: it says which outputs were used
        self.process = mint

    def settings(self, *more_mints: str) -> dict[str, str]:
        mints = ",".join((self.process.url, *more_mints))
        return {"STEPWELL_MINTS": mints, "STEPWELL_SATS_PER_CALL": "5", "STEPWELL_WALLET_SEED": self.seed}

    def run(self, *arguments: str, **variables: str) -> Said:
        """`stepwell wallet`, on the file unless it names a server."""
        return self.command("wallet", *arguments, **{**self.settings(), **variables})

    def command(self, *arguments: str, **variables: str) -> Said:
        where = [] if "--url" in arguments else ["--database-url", f"sqlite:///{self.file}"]
        with pytest.MonkeyPatch.context() as patch:
            for name, value in variables.items():
                patch.setenv(name, value)
            code = main([*arguments, *where])
        said = Said(code, *self._capsys.readouterr())
        assert "cashu" not in said.err
        assert "payout" in arguments or "cashu" not in said.out
        assert self.seed not in said.out + said.err
        return said

    async def keep(self, work: Callable[[Wallet], Awaitable[T]], kind: type[HttpMint] = HttpMint) -> T:
        """Something that a server has done before."""
        database = Database(self.file)
        try:
            async with kind(self.process.url) as mint:
                return await work(Wallet(DatabaseLedger(database), [mint], bytes.fromhex(self.seed), pause_s=0.01))
        finally:
            database.close()

    async def fund(self, owner: str, sats: int, cost: int) -> str:
        """A session that has paid for one call."""
        async with HttpMint(self.process.url) as mint:
            token = await buy(mint, self.process, sats)

        async def pay(wallet: Wallet) -> str:
            session_id = (await wallet.fund(owner, decode_token(token))).session_id
            await wallet.settle(await wallet.reserve(owner, session_id, f"call of {session_id}", cost), cost)
            return session_id

        return await self.keep(pay)

    async def leave_swap(self, owner: str, sats: int) -> str:
        """A redemption that the mint has done, with an answer that never came: the operation."""
        async with HttpMint(self.process.url) as mint:
            token = await buy(mint, self.process, sats)

        async def begin(wallet: Wallet) -> str:
            session_id = (await wallet.fund(owner, decode_token(token))).session_id
            with pytest.raises(MintUnavailableError):
                await wallet.reserve(owner, session_id, f"call of {session_id}", 5)
            (operation,) = await wallet.ledger.operations()
            return operation.operation_id

        return await self.keep(begin, ForgetfulMint)

    async def spend(self, text: str) -> int:
        """Somebody swaps a token elsewhere."""
        ledger = MemoryLedger()
        async with HttpMint(self.process.url) as mint:
            other = Wallet(ledger, [mint], secrets.token_bytes(32))
            session_id = (await other.fund("somebody", decode_token(text))).session_id
            await other.reserve("somebody", session_id, "redeem", 1)
        worth = (await ledger.session(None, session_id)).credits
        ledger.close()
        return worth


def numbers(said: Said) -> list[int]:
    """What stands at the ends of the lines."""
    return [int(line.split()[-1]) for line in said.out.splitlines()]


@pytest.fixture
def till(
    tmp_path: Path, mint_process: MintProcess, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Till:
    monkeypatch.chdir(tmp_path)  # away from a developer's `.env`
    return Till(tmp_path, mint_process, capsys)


def test_what_a_crash_left_is_recovered_or_settled(till: Till):
    asyncio.run(till.leave_swap("alice", 64))
    assert json.loads(till.run("sessions", "--json").out)[0]["state"] == "redeeming"
    recovered = till.run("recover")
    assert (recovered.code, recovered.out) == (0, "No swaps are in progress.\n"), recovered.err
    assert json.loads(till.run("owed", "--json").out)["mints"][0]["balances_sats"] == 63

    operation_id = asyncio.run(till.leave_swap("bob", 32))
    asyncio.run(till.keep(lambda wallet: wallet.ledger.mark_unknown(operation_id, "the mint signed a part of the outputs")))
    listed = till.run("unknown")
    assert (operation_id in listed.out, "signed a part" in listed.out) == (True, True)
    settled = till.run("settle", operation_id)
    assert (settled.code, "is done. The mint had completed it." in settled.out) == (0, True), settled
    again = till.run("settle", operation_id, "--json")
    assert (again.code, json.loads(again.out)["state"]) == (0, "done")
    assert json.loads(till.run("owed", "--json").out)["total_sats"] == 63 + 31


def test_money_that_was_stolen_is_found_and_cannot_be_settled_away(till: Till):
    session_id = asyncio.run(till.fund("alice", 100, 10))
    honest = till.run("audit")
    assert (honest.code, "The books add up." in honest.out) == (0, True), honest

    async def steal(wallet: Wallet) -> None:
        proofs = tuple(await wallet.ledger.session_proofs(session_id))
        await till.spend(encode_token(Token(till.process.url, "sat", proofs)))

    asyncio.run(till.keep(steal))
    robbed = till.run("audit")
    assert robbed.code == 1
    assert "99 sats that the ledger counts as held were spent elsewhere" in robbed.out

    swept = till.run("sweep", STEPWELL_PAYMENT_IDLE_HOURS="1")
    assert (swept.code, numbers(swept)) == (0, [0, 0, 0, 0]), "it is not idle yet"

    async def end(wallet: Wallet) -> str:
        with pytest.raises(MintUnavailableError):
            await wallet.refund("alice", session_id)
        (operation,) = await wallet.ledger.operations(("unknown",))
        return operation.operation_id

    stuck = till.run("settle", asyncio.run(till.keep(end)))
    assert (stuck.code, "The outcome is still unknown." in stuck.out) == (1, True)


def test_a_mint_that_is_down_is_named_and_hides_nothing(till: Till):
    asyncio.run(till.fund("alice", 100, 10))
    asyncio.run(fund_elsewhere(till, MemoryMint(DOWN)))
    said = till.run("audit", **till.settings(DOWN))
    assert said.code == 0, said.err
    rows = {line.split()[0]: line.split()[1:] for line in said.out.splitlines() if line.startswith("http")}
    assert rows[till.process.url] == ["99", "0", "0"]
    assert rows[DOWN] == ["32", "0", "not", "asked"]
    assert f"{DOWN}: The mint does not answer" in said.out
    left = json.loads(till.run("audit", "--json").out)["mints"]
    assert [(mint["mint"], mint["spent_elsewhere_sats"]) for mint in left] == [(till.process.url, 0), (DOWN, None)]
    assert "no longer accepted" in left[1]["trouble"]


async def fund_elsewhere(till: Till, mint: MemoryMint) -> None:
    """Money of a mint that was there once."""
    database = Database(till.file)
    wallet = Wallet(DatabaseLedger(database), [mint], bytes.fromhex(till.seed))
    session_id = (await wallet.fund("bob", mint.issue_token(32))).session_id
    await wallet.release(await wallet.reserve("bob", session_id, "look", 1))
    database.close()


def test_earnings_are_paid_out_and_had_again_until_they_are_spent(till: Till, tmp_path: Path):
    async def earn() -> None:
        session_id = await till.fund("alice", 100, 10)
        await till.keep(lambda wallet: wallet.refund("alice", session_id))

    asyncio.run(earn())
    first = till.run("payout", till.process.url, "--to", str(tmp_path / "token"))
    assert (first.code, first.out) == (0, ""), first.err
    (line,) = json.loads(till.run("payouts", "--json").out)
    again = till.run("payout", "--again", line["payout_id"])
    assert again.out == (tmp_path / "token").read_text()
    assert decode_token(again.out).amount == 10
    assert asyncio.run(till.spend(again.out)) == 10
    assert numbers(till.run("sweep")) == [0, 0, 1, 0]
    assert till.run("payouts").out == "No unspent payouts.\n"
    spent = till.run("payout", "--again", line["payout_id"])
    assert (spent.code, spent.out, f"Payout '{line['payout_id']}' was spent" in spent.err) == (2, "", True)


async def test_a_server_is_asked_by_its_operators_only(till: Till, tmp_path: Path):
    alice = await till.fund("alice", 100, 10)
    bob = await till.fund("bob", 64, 4)
    operation_id = await till.leave_swap("carol", 32)
    await till.keep(lambda wallet: wallet.ledger.mark_unknown(operation_id, "an operator should look"))
    user = (await asyncio.to_thread(till.command, "keys", "create", "--user", "alice")).out.strip()
    root = (await asyncio.to_thread(till.command, "keys", "create", "--user", "root", "--operator")).out.strip()
    charging = load_charging({**till.settings(), "STEPWELL_PAID_GRAPHS": "paid"})
    settings = ServerSettings.load({"STEPWELL_AUTH": "required"})
    async with serve(tmp_path, settings, {"paid": make_paid()}, charging=charging) as server:

        async def ask(*arguments: str, key: str = root) -> Said:
            return await asyncio.to_thread(till.run, *arguments, "--url", server.url, STEPWELL_API_KEY=key)

        beside = await asyncio.to_thread(till.run, "payout")
        assert (beside.code, "A server is using the database 'server.db'" in beside.err) == (2, True)
        refused = await ask("sessions", key=user)
        assert (refused.code, "'wallet:all' is only for operators" in refused.err) == (2, True)

        sessions = json.loads((await ask("sessions", "--state", "active", "--json")).out)
        assert sessions == json.loads((await asyncio.to_thread(till.run, "sessions", "--state", "active", "--json")).out)
        assert {line["funding_id"] for line in sessions} == {alice, bob}
        assert "call of" in (await ask("show", alice)).out
        assert (await ask("show", "nothing")).err.startswith("No payment session 'nothing'.")
        assert operation_id in (await ask("unknown")).out
        assert (await ask("settle", operation_id)).code == 0
        assert (await ask("recover")).out == "No swaps are in progress.\n"
        assert (await ask("audit")).code == 0

        headers = {"x-api-key": root}
        await server.http.post("/api/wallet/all/sweep", headers=headers)
        await till.keep(lambda wallet: wallet.refund("bob", bob))
        owed = json.loads((await ask("owed", "--json")).out)
        assert owed["total_sats"] == 89 + 58 + 31
        made = await ask("payout")
        assert decode_token(made.out).amount == 4
        (line,) = json.loads((await ask("payouts", "--json")).out)
        assert (await ask("payout", "--again", line["payout_id"])).out == made.out
        assert numbers(await ask("sweep")) == [0, 0, 0, 0]
        await check_routes(server.http, headers, alice, operation_id)


async def check_routes(http: httpx.AsyncClient, headers: dict[str, str], session_id: str, operation_id: str) -> None:
    """Every route gives what the API's document says of it, and money leaves by a payout only."""
    shapes: dict[str, Any] = {
        "GET /sessions": schemas.SessionOfAll,
        f"GET /sessions/{session_id}": schemas.StatementResponse,
        "GET /owed": schemas.OwedResponse,
        "GET /operations?pending=true": schemas.OperationResponse,
        f"POST /operations/{operation_id}/reopen": schemas.OperationResponse,
        "GET /audit": schemas.AuditResponse,
        "GET /payouts": schemas.PayoutLine,
        "POST /recover": schemas.RecoveryResponse,
        "POST /sweep": schemas.SweepResponse,
    }
    for route, shape in shapes.items():
        method, path = route.split()
        response = await http.request(method, f"/api/wallet/all{path}", headers=headers)
        assert response.status_code == 200, response.text
        assert "cashu" not in response.text
        found = response.json()
        for item in found if isinstance(found, list) else [found]:
            assert set(shape.model_validate(item).model_fields_set) == set(item) == set(shape.model_fields)
    for body, status in (
        ({"mint": "https://nowhere.test"}, 404),
        ({"mint": "nowhere"}, 422),
        ({"payout_id": "nothing"}, 404),
        ({"mint": "https://nowhere.test", "payout_id": "nothing"}, 422),
        ({}, 409),
    ):
        refused = await http.post("/api/wallet/all/payout", json=body, headers=headers)
        assert (refused.status_code, refused.json()["status"]) == (status, status), refused.text


async def test_a_server_that_charges_nothing_says_so(till: Till, tmp_path: Path):
    async with serve(tmp_path) as server:
        for arguments in (["sessions"], ["audit"], ["payout"], ["sweep"]):
            said = await asyncio.to_thread(till.run, *arguments, "--url", server.url)
            assert (said.code, "This server is free" in said.err) == (2, True)
