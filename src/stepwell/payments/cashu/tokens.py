"""Tokens: money as text that one wallet writes and another reads (NUT-00). `cashuA` is JSON, `cashuB` is CBOR; both in base64url.

We parse foreign tokens here. Anything that is not exactly a token of one mint is rejected with its own error code, and the error
message repeats no part of the text.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from stepwell.errors import TokenInvalidError, needs_extra
from stepwell.payments.cashu.curve import parse_point, parse_scalar
from stepwell.payments.cashu.keysets import short_id
from stepwell.payments.cashu.money import Dleq, Proof, require_amount, total

with needs_extra("Payments", "payments"):
    import cbor2

MOST_CHARACTERS = 200_000
MOST_PROOFS = 500
_MAX_SECRET = _MAX_WITNESS = 1024
"""The limit that mints set. They refuse longer secrets and witnesses with codes that older mints use for something else (11003, 11004)."""
_AGAIN = "Ask the wallet for a new token."


@dataclass(frozen=True)
class Token:
    """Money of one mint in one unit. The keyset ids of its proofs may be short ones."""

    mint: str
    unit: str
    proofs: tuple[Proof, ...] = field(repr=False)
    memo: str | None = None

    @property
    def amount(self) -> int:
        return total(self.proofs)

    @property
    def fingerprint(self) -> str:
        """Identifies the money without revealing it, and is the same for every spelling of the same token."""
        return hashlib.sha256("".join(sorted(proof.point for proof in self.proofs)).encode()).hexdigest()


def encode_token(token: Token) -> str:
    """The token as `cashuB`, the form that wallets write."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for proof in token.proofs:
        groups.setdefault(short_id(proof.keyset_id), []).append(_pack(proof))
    content: dict[str, Any] = {"t": [{"i": bytes.fromhex(keyset), "p": packed} for keyset, packed in groups.items()]}
    if token.memo is not None:
        content["d"] = token.memo
    content |= {"m": token.mint, "u": token.unit}
    return "cashuB" + base64.urlsafe_b64encode(cbor2.dumps(content)).decode().rstrip("=")


def decode_token(text: str) -> Token:
    """Parses a token. Does not ask its mint. `TokenInvalidError` for everything that is not a token."""
    text = text.strip().removeprefix("cashu:").removeprefix("//")
    if len(text) > MOST_CHARACTERS:
        raise TokenInvalidError(
            f"The token is longer than {MOST_CHARACTERS} characters. Send several smaller ones.", "token_too_large"
        )
    readers = {"cashuA": _read_json, "cashuB": _read_cbor}
    reader = readers.get(text[:6])
    if reader is None:
        raise TokenInvalidError("This is not a Cashu token: it begins with neither cashuA nor cashuB.", "token_malformed")
    try:
        token = reader(_from_base64(text[6:]))
        _check(token)
    except (KeyError, TypeError, AttributeError, ValueError, IndexError, RecursionError, cbor2.CBORError) as error:
        raise TokenInvalidError(f"The token is damaged or cut off. {_AGAIN}", "token_damaged") from error
    return token


def _from_base64(text: str) -> bytes:
    plain = text.rstrip("=").replace("+", "-").replace("/", "_")
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4), altchars=b"-_", validate=True)
    except binascii.Error as error:
        raise TokenInvalidError(f"The token is damaged or cut off. {_AGAIN}", "token_damaged") from error


def _read_json(content: bytes) -> Token:
    data = json.loads(content)
    entries = [entry for entry in data["token"] if entry["proofs"]]
    mints = {entry["mint"].rstrip("/") for entry in entries}
    if len(mints) > 1:
        raise TokenInvalidError("The token holds money from several mints. Send one token per mint.", "token_several_mints")
    proofs = tuple(
        Proof(
            amount=require_amount(proof["amount"]),
            keyset_id=proof["id"],
            secret=proof["secret"],
            signature=proof["C"],
            dleq=_dleq(proof.get("dleq")),
            witness=proof.get("witness"),
        )
        for entry in entries
        for proof in entry["proofs"]
    )
    return Token(mint=next(iter(mints), ""), unit=data.get("unit") or "sat", proofs=proofs, memo=data.get("memo"))


def _read_cbor(content: bytes) -> Token:
    data = cbor2.loads(content)
    proofs = tuple(_unpack(proof, group["i"].hex()) for group in data["t"] for proof in group["p"])
    return Token(mint=data["m"].rstrip("/"), unit=data["u"], proofs=proofs, memo=data.get("d"))


def _unpack(packed: Mapping[str, Any], keyset_id: str) -> Proof:
    dleq = packed.get("d")
    return Proof(
        amount=require_amount(packed["a"]),
        keyset_id=keyset_id,
        secret=packed["s"],
        signature=packed["c"].hex(),
        dleq=_dleq({name: value.hex() for name, value in dleq.items()} if dleq else None),
        witness=packed.get("w"),
    )


def _pack(proof: Proof) -> dict[str, Any]:
    packed: dict[str, Any] = {"a": proof.amount, "s": proof.secret, "c": bytes.fromhex(proof.signature)}
    if proof.dleq is not None and proof.dleq.r:
        packed["d"] = {name: bytes.fromhex(getattr(proof.dleq, name)) for name in ("e", "s", "r")}
    if proof.witness is not None:
        packed["w"] = proof.witness
    return packed


def _dleq(data: Mapping[str, Any] | None) -> Dleq | None:
    if not data:
        return None
    for name in ("e", "s", "r"):
        parse_scalar(data[name])
    return Dleq(data["e"], data["s"], data["r"])


def _check(token: Token) -> None:
    if not _text(token.mint) or not _text(token.unit) or not token.proofs:
        raise TokenInvalidError(f"The token holds no money, or names no mint. {_AGAIN}", "token_malformed")
    if len(token.proofs) > MOST_PROOFS:
        raise TokenInvalidError(
            f"The token has more than {MOST_PROOFS} pieces. Have the wallet swap it first.", "token_too_large"
        )
    _check_proofs(token.proofs)


def _check_proofs(proofs: Sequence[Proof]) -> None:
    for proof in proofs:
        if not 0 < len(_text(proof.secret)) <= _MAX_SECRET:
            raise TokenInvalidError(f"A piece of the token has no usable secret. {_AGAIN}", "token_malformed")
        if len(_text(proof.witness or "")) > _MAX_WITNESS:
            raise TokenInvalidError(
                f"A piece of the token has a witness that is too long for mints. {_AGAIN}", "token_malformed"
            )
        bytes.fromhex(proof.keyset_id)
        parse_point(proof.signature)
    if len({proof.secret for proof in proofs}) != len(proofs):
        raise TokenInvalidError("The token holds the same piece twice.", "token_malformed")


def _text(value: Any) -> str:
    """Checks that a foreign field is a string that can be encoded."""
    if not isinstance(value, str):
        raise TypeError("not a text")
    value.encode()
    return value
