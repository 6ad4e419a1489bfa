"""A real mint (nutshell) as a process with fake Lightning, and a payer who buys tokens of it."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
from tests.support.missing import MissingProgramError

from stepwell.payments.cashu.keysets import Keyset
from stepwell.payments.cashu.money import BlindSignature, Dleq, Proof
from stepwell.payments.cashu.outputs import Output, Share, make_outputs, make_proofs
from stepwell.payments.cashu.tokens import Token, encode_token
from stepwell.payments.wallet.mint import HttpMint

ROOT = Path(__file__).parents[3]
NEWEST, OLDER = "0.21.0", "0.19.2"
FEE_PPK = 100
_STARTS_WITHIN_S = 120
_AT_ONCE = 100


@dataclass(frozen=True)
class MintProcess:
    """A mint that answers."""

    url: str
    port: int


@contextmanager
def run_mint(folder: Path, version: str = NEWEST) -> Iterator[MintProcess]:
    """A mint with an empty database in `folder`, until the end of the block."""
    port = _free_port()
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "MINT_BACKEND_BOLT11_SAT": "FakeWallet",
        "FAKEWALLET_BRR": "TRUE",
        "FAKEWALLET_DELAY_INCOMING_PAYMENT": "0",
        "FAKEWALLET_DELAY_OUTGOING_PAYMENT": "0",
        "FAKEWALLET_STOCHASTIC_INVOICE": "FALSE",
        "MINT_RATE_LIMIT": "FALSE",
        "MINT_PRIVATE_KEY": "a key of the tests",
        "MINT_DATABASE": str(folder / "mint"),
        "MINT_LISTEN_HOST": "127.0.0.1",
        "MINT_LISTEN_PORT": str(port),
        "MINT_INPUT_FEE_PPK": str(FEE_PPK),
        "MINT_RPC_SERVER_ENABLE": "FALSE",
        "TOR": "FALSE",
    }
    program = _program(version)
    with (folder / "mint.log").open("wb") as log:
        process = subprocess.Popen([program], cwd=folder, env=environment, stdout=log, stderr=log)
        try:
            _wait(process, f"http://127.0.0.1:{port}", folder / "mint.log")
            yield MintProcess(f"http://127.0.0.1:{port}", port)
        finally:
            process.kill()
            process.wait()


async def buy(mint: HttpMint, process: MintProcess, amount: int) -> str:
    """A payer's token, paid for with Lightning that pays itself."""
    keyset = await _active(mint)
    outputs = make_outputs([Share("session", amount)], keyset, os.urandom(32), 0)
    return encode_token(Token(mint.url, "sat", tuple(await _issue(process, outputs, keyset))))


async def buy_many(mint: HttpMint, process: MintProcess, amount: int, count: int) -> list[str]:
    """Many tokens of one piece each, bought in few steps; `amount` is a power of two."""
    keyset, seed = await _active(mint), os.urandom(32)
    outputs = [output for number in range(count) for output in make_outputs([Share("session", amount)], keyset, seed, number)]
    proofs = [
        proof
        for start in range(0, count, _AT_ONCE)
        for proof in await _issue(process, outputs[start : start + _AT_ONCE], keyset)
    ]
    return [encode_token(Token(mint.url, "sat", (proof,))) for proof in proofs]


async def _issue(process: MintProcess, outputs: list[Output], keyset: Keyset) -> list[Proof]:
    async with httpx.AsyncClient(base_url=process.url, timeout=60) as client:
        wanted = {"amount": sum(output.amount for output in outputs), "unit": "sat"}
        quote = (await client.post("/v1/mint/quote/bolt11", json=wanted)).json()["quote"]
        while (await client.get(f"/v1/mint/quote/bolt11/{quote}")).json()["state"] != "PAID":
            pass  # each question takes a while, and has the mint look
        body = {"quote": quote, "outputs": [output.message.to_wire() for output in outputs]}
        answer = (await client.post("/v1/mint/bolt11", json=body)).raise_for_status().json()
    signatures = [
        BlindSignature(
            signature["amount"], signature["id"], signature["C_"], Dleq(signature["dleq"]["e"], signature["dleq"]["s"])
        )
        for signature in answer["signatures"]
    ]
    return make_proofs(outputs, signatures, {keyset.keyset_id: keyset})


async def _active(mint: HttpMint) -> Keyset:
    (info,) = (info for info in (await mint.keysets()).values() if info.active and info.unit == "sat")
    return await mint.keyset(info.keyset_id)


def _program(version: str) -> Path:
    """Made once on a machine; several test processes may want it at the same time."""
    with (Path(sys.prefix) / f"mint-{version}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        made = subprocess.run([ROOT / "scripts" / "mint", version], capture_output=True, text=True, check=False)
    if made.returncode:
        raise MissingProgramError(f"The mint cannot be installed. `scripts/mint {version}` says why: {made.stderr[-300:]}")
    return ROOT / made.stdout.strip()


def _free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    end = time.monotonic() + _STARTS_WITHIN_S
    while time.monotonic() < end:
        assert process.poll() is None, f"the mint has ended: {log.read_text()[-2000:]}"
        try:
            if httpx.get(f"{url}/v1/info", timeout=5).is_success:
                return
        except httpx.HTTPError:
            time.sleep(0.1)
    raise AssertionError(f"the mint does not answer: {log.read_text()[-2000:]}")
