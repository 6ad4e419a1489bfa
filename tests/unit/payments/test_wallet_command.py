"""`stepwell wallet` on a database's file: what can be told and done without asking a mint."""

from __future__ import annotations

import asyncio
import json
import stat
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from stepwell.cli import main
from stepwell.database.sqlite.database import Database
from stepwell.database.sqlite.process_lock import ProcessLock
from stepwell.payments.cashu.tokens import decode_token
from stepwell.payments.ledger.database import DatabaseLedger
from stepwell.payments.wallet.wallet import Wallet
from stepwell.testing import MemoryMint

SEED = "0f" * 32


class Said(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Said]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder and settings for payments, with nothing of the developer's."""
    monkeypatch.chdir(tmp_path)
    for name, value in {
        "STEPWELL_DATA_DIR": str(tmp_path),
        "STEPWELL_MINTS": "https://mint.test",
        "STEPWELL_SATS_PER_CALL": "5",
        "STEPWELL_WALLET_SEED": SEED,
    }.items():
        monkeypatch.setenv(name, value)
    return tmp_path


@pytest.fixture
def run(folder: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    def run(*arguments: str) -> Said:
        try:
            code = main(["wallet", *arguments])
        except SystemExit as left:  # argparse's own
            code = int(left.code or 0)
        return Said(code, *capsys.readouterr())

    return run


@pytest.fixture
def mint() -> MemoryMint:
    return MemoryMint(fee_ppk=100)


@pytest.fixture
def keep(folder: Path, mint: MemoryMint) -> Callable[[Callable[[Wallet], Awaitable[Any]]], Any]:
    """Do something with the wallet of the file, as a server would have done before."""

    def keep(work: Callable[[Wallet], Awaitable[Any]]) -> Any:
        database = Database(folder / "stepwell.db")

        async def begin() -> Any:
            return await work(Wallet(DatabaseLedger(database), [mint], bytes.fromhex(SEED), pause_s=0))

        try:
            return asyncio.run(begin())
        finally:
            database.close()

    return keep


Keep = Callable[[Callable[[Wallet], Awaitable[Any]]], Any]


@pytest.fixture
def story(keep: Keep, mint: MemoryMint) -> Story:
    """Alice has paid and is still there, Bob has had his rest made ready, Carol's token is untouched."""

    async def live(wallet: Wallet) -> Story:
        alice = (await wallet.fund("alice", mint.issue_token(100))).session_id
        bob = (await wallet.fund("bob", mint.issue_token(64), ceiling_sats=50)).session_id
        carol = (await wallet.fund("carol", mint.issue_token(32))).session_id
        for session_id in (alice, bob):
            await wallet.settle(await wallet.reserve(None, session_id, f"call of {session_id}", 10), 10)
        refund = await wallet.refund("bob", bob)
        return Story(alice, bob, carol, refund.token_id, refund.token)

    lived: Story = keep(live)
    return lived


class Story(NamedTuple):
    alice: str
    bob: str
    carol: str
    refund_id: str
    refund: str


def test_a_seed_is_the_only_thing_on_stdout_and_another_each_time(run: Run):
    first, second = run("seed"), run("seed")
    assert first.out != second.out
    assert (first.code, len(first.out), len(bytes.fromhex(first.out.strip()))) == (0, 65, 32)
    assert "STEPWELL_WALLET_SEED" in first.err
    assert "apart from the database" in first.err


def test_sessions_are_a_table_of_sats(run: Run, story: Story):
    said = run("sessions")
    head, *lines = said.out.splitlines()
    assert head.split("  ")[0] == "id"
    rows = {line.split()[0]: line.split()[1:8] for line in lines}
    assert rows[story.alice] == ["alice", "active", "100", "10", "89", "0", "0"]
    assert rows[story.bob][:2] == ["bob", "refund_ready"]
    assert rows[story.carol] == ["carol", "authorized", "0", "0", "0", "0", "0"]
    assert [line["owner"] for line in json.loads(run("sessions", "--owner", "bob", "--json").out)] == ["bob"]
    assert [line["owner"] for line in json.loads(run("sessions", "--state", "active", "--json").out)] == ["alice"]
    assert "most recently used" in run("sessions", "--limit", "1").err
    assert run("sessions", "--owner", "nobody").out == "No payment sessions.\n"


def test_a_session_is_shown_with_its_lines(run: Run, story: Story):
    said = run("show", story.bob)
    assert said.code == 0
    assert "ceiling       50 sats" in said.out
    assert "refund        52 sats, not fetched yet" in said.out
    assert [line.split()[3] for line in said.out.split("\n\n")[1].splitlines()[1:]] == [
        "credit",
        "fee",
        "charge",
        "fee",
        "refund",
    ]
    history = json.loads(run("show", story.bob, "--json").out)["history"]
    assert [entry["amount_sats"] for entry in history] == [64, 1, 10, 1, 52]


def test_a_long_history_is_shown_whole(run: Run, keep: Keep, mint: MemoryMint):
    async def live(wallet: Wallet) -> str:
        session_id = (await wallet.fund("alice", mint.issue_token(2048))).session_id
        await wallet.release(await wallet.reserve(None, session_id, "first", 1))
        held = await asyncio.gather(*(wallet.reserve(None, session_id, f"k{number}", 1) for number in range(1020)))
        await asyncio.gather(*(wallet.settle(reservation, 1) for reservation in held))
        return session_id

    history = json.loads(run("show", keep(live), "--json").out)["history"]
    assert len(history) == 1022
    assert [entry["seq"] for entry in history] == sorted({entry["seq"] for entry in history})


def test_what_is_owed_is_summed_up(run: Run, story: Story):
    said = run("owed")
    assert [line.split() for line in said.out.splitlines()][1] == [
        *("https://mint.test", "89", "in", "1", "32", "in", "1", "52", "in", "1", "173")
    ]
    assert story.refund_id in said.out
    assert json.loads(run("owed", "--json").out)["total_sats"] == 173


def test_nothing_owed_unknown_or_paid_out_is_said(run: Run, keep: Keep):
    async def nothing(wallet: Wallet) -> None:
        await wallet.ledger.totals()

    keep(nothing)
    assert run("owed").out == "Nobody is owed anything.\n"
    assert run("unknown").out == "Nothing to settle: the outcome of every swap is known.\n"
    assert run("payouts").out == "No unspent payouts.\n"
    assert run("recover").out == "No swaps are in progress.\n"
    assert [line.split()[-1] for line in run("sweep").out.splitlines()] == ["0", "0", "0", "0"]


def test_swaps_of_unknown_outcome_are_listed_with_the_reason(run: Run, keep: Keep, mint: MemoryMint):
    async def live(wallet: Wallet) -> str:
        session_id = (await wallet.fund("alice", mint.issue_token(100))).session_id
        mint.faults = ["before"] * 100  # more than it is asked
        with pytest.raises(Exception, match="nothing done"):
            await wallet.reserve("alice", session_id, "k", 5)
        mint.faults = []
        (operation,) = await wallet.ledger.operations()
        return operation.operation_id

    operation_id = keep(live)
    assert run("unknown").out.startswith("Nothing to settle")
    assert operation_id in run("unknown", "--pending").out

    async def doubt(wallet: Wallet) -> bool:
        return await wallet.ledger.mark_unknown(operation_id, "the mint signed a part of the outputs")

    assert keep(doubt)
    said = run("unknown")
    assert "the mint signed a part of the outputs" in said.out
    assert "wallet settle OPERATION" in said.out
    (line,) = json.loads(run("unknown", "--json").out)
    assert (line["operation_id"], line["state"], line["amount_sats"]) == (operation_id, "unknown", 100)


def test_a_payout_is_alone_on_stdout_and_is_listed(run: Run, story: Story, mint: MemoryMint):
    said = run("payout")
    assert said.code == 0
    assert decode_token(said.out).amount == 10
    assert "10 sats of https://mint.test" in said.err
    assert "cashu" not in said.err
    (line,) = json.loads(run("payouts", "--json").out)
    assert (line["amount_sats"], line["payout_id"] in said.err) == (10, True)
    again = run("payout", "https://mint.test")
    assert (again.code, again.out) == (2, "")
    assert "Nothing has been earned at https://mint.test that was not paid out." in again.err
    assert mint.spend(said.out) == 10


def test_a_payout_goes_to_a_new_file_that_only_its_owner_reads(run: Run, story: Story, folder: Path):
    (folder / "taken").write_text("something else")
    for name, reason in (("taken", "File exists"), ("no/folder/here", "No such file")):
        refused = run("payout", "--to", name)
        assert (refused.code, refused.out, reason in refused.err) == (2, "", True)
    assert run("payouts").out == "No unspent payouts.\n", "nothing was taken out"
    said = run("payout", "--to", "token")
    assert (said.code, said.out, "in token" in said.err) == (0, "", True)
    assert decode_token((folder / "token").read_text()).amount == 10
    assert stat.S_IMODE((folder / "token").stat().st_mode) == 0o600
    nothing_left = run("payout", "--to", "another")
    assert (nothing_left.code, (folder / "another").exists()) == (2, False)


def test_no_output_but_a_payout_holds_money(run: Run, story: Story):
    secrets = [proof.secret for proof in decode_token(story.refund).proofs]
    run("payout", "--to", "token")
    for arguments in (
        ["sessions"],
        ["show", story.bob],
        ["show", story.carol],
        ["owed"],
        ["unknown", "--pending"],
        ["payouts"],
    ):
        for form in ([], ["--json"]):
            said = run(*arguments, *form)
            shown = said.out + said.err
            assert said.code == 0
            assert "cashu" not in shown
            assert SEED not in shown
            assert not [secret for secret in secrets if secret in shown]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["show", "nothing"], "No payment session 'nothing'. List them with `stepwell wallet sessions`."),
        (["settle", "nothing"], "No payment operation 'nothing'. List them with `stepwell wallet unknown`."),
        (["payout", "--again", "nothing"], "No payout 'nothing'. List them with `stepwell wallet payouts`."),
        (["payout", "https://nowhere.test"], "No mint 'https://nowhere.test'. Accepted mints: https://mint.test."),
        (["payout", "nowhere"], "'nowhere' is not a valid mint address."),
        (["payout", "https://mint.test", "--again", "x"], "not both"),
        (["sessions", "--state", "rich"], "there is no 'rich'"),
        (["sessions", "--limit", "0"], "a whole number from 1 to 1000"),
        (["settle"], "OPERATION"),
        ([], "ACTION"),
    ],
)
def test_what_cannot_be_meant_is_refused(run: Run, story: Story, arguments: list[str], sentence: str):
    said = run(*arguments)
    assert (said.code, said.out, sentence in said.err) == (2, "", True), said.err


def test_a_refund_of_a_payer_is_not_shown_to_the_operator(run: Run, story: Story):
    said = run("payout", "--again", story.refund_id)
    assert (said.code, said.out, said.err.startswith(f"No payout '{story.refund_id}'")) == (2, "", True)


def test_without_settings_money_can_be_looked_at_and_not_be_moved(run: Run, story: Story, monkeypatch: pytest.MonkeyPatch):
    for name in ("STEPWELL_MINTS", "STEPWELL_SATS_PER_CALL", "STEPWELL_WALLET_SEED"):
        monkeypatch.delenv(name)
    assert "89" in run("owed").out
    assert run("show", story.alice).code == run("payouts").code == 0
    for arguments in (["audit"], ["payout"], ["recover"], ["sweep"], ["settle", "x"]):
        said = run(*arguments)
        assert (said.code, "Payments are not configured here. Set STEPWELL_MINTS" in said.err) == (2, True)


def test_beside_a_server_money_can_be_looked_at_and_not_be_moved(run: Run, story: Story, folder: Path):
    lock = ProcessLock(folder / "stepwell.db.lock")
    lock.acquire()
    try:
        assert run("sessions").code == run("owed").code == run("unknown").code == 0
        for arguments in (["payout"], ["recover"], ["sweep"], ["settle", "x"]):
            said = run(*arguments)
            assert (said.code, "A server is using the database 'stepwell.db'" in said.err, "--url" in said.err) == (
                2,
                True,
                True,
            )
    finally:
        lock.release()
    assert run("payout").code == 0


def test_a_database_that_is_not_there_is_said(run: Run, folder: Path):
    for arguments in (["sessions"], ["payout"], ["sessions", "--database-url", "sqlite:///other.db"]):
        said = run(*arguments)
        assert (said.code, f"There is no database '{folder.resolve()}" in said.err) == (2, True), said.err
    assert list(folder.glob("*.db")) == []
