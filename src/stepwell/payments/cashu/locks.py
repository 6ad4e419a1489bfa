"""Money that only the holder of a key can spend: secrets that say so (NUT-10) and signatures that open them (NUT-11).

If the payer gives a key, the refund is locked to it, so that nobody who intercepts the refund can spend it. We refuse payments that are
locked to a key, because we could not swap them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from stepwell.errors import TokenInvalidError
from stepwell.payments.cashu.curve import is_signed, parse_point, sign_message
from stepwell.payments.cashu.money import Proof


@dataclass(frozen=True)
class Condition:
    """What a spender must show besides the secret."""

    kind: str
    data: str
    tags: Mapping[str, Sequence[str]]


def read_condition(secret: str) -> Condition | None:
    """The condition in a secret, if any. A text that only looks like a condition is a plain secret, for mints too."""
    if not secret.startswith("["):
        return None
    try:
        kind, content = json.loads(secret)
        tags = {str(tag[0]): [str(value) for value in tag[1:]] for tag in content.get("tags") or []}
        return Condition(str(kind), str(content["data"]), tags)
    except (ValueError, TypeError, KeyError, AttributeError, IndexError):
        return None


def lock_secret(key: str, nonce: str) -> str:
    """A secret that only the holder of `key` can spend, at any time."""
    content: dict[str, Any] = {"nonce": nonce, "data": key, "tags": [["sigflag", "SIG_INPUTS"]]}
    return json.dumps(["P2PK", content], separators=(",", ":"))


def require_key(text: str) -> str:
    """A payer's public key; `TokenInvalidError` if it is invalid. Adds the first byte that Nostr keys lack."""
    key = text.strip().lower()
    key = "02" + key if len(key) == 64 else key
    try:
        parse_point(key)
    except TokenInvalidError:
        raise TokenInvalidError(
            "refund_pubkey is not a valid public key. Send 33 bytes in hexadecimal, as the wallet shows them.", "refund_pubkey"
        ) from None
    return key


def unlock(proof: Proof, private_key: bytes) -> Proof:
    """The same money with the signature that its lock needs."""
    witness = json.dumps({"signatures": [sign_message(proof.secret.encode(), private_key)]}, separators=(",", ":"))
    return replace(proof, witness=witness)


def is_unlocked(proof: Proof, now: float) -> bool:
    """Whether a mint would accept this P2PK money (signatures on inputs), because enough keys have signed or the lock has expired."""
    condition = read_condition(proof.secret)
    if condition is None:
        return True
    if condition.kind != "P2PK" or "SIG_ALL" in condition.tags.get("sigflag", ()):  # SIG_ALL signs our outputs too
        return False
    signatures = _signatures(proof)
    keys = {condition.data, *condition.tags.get("pubkeys", ())}
    if _count(signatures, keys, proof) >= _number(condition, "n_sigs", 1):
        return True
    locktime = _number(condition, "locktime", 0)
    if not locktime or now <= locktime:
        return False
    refund = set(condition.tags.get("refund", ()))
    return not refund or _count(signatures, refund, proof) >= _number(condition, "n_sigs_refund", 1)


def _number(condition: Condition, name: str, default: int) -> int:
    values = condition.tags.get(name, ())
    return int(values[0]) if values and values[0].isdecimal() else default


def _signatures(proof: Proof) -> list[str]:
    try:
        return [str(signature) for signature in json.loads(proof.witness or "{}").get("signatures", [])]
    except (ValueError, AttributeError):
        return []


def _count(signatures: Sequence[str], keys: set[str], proof: Proof) -> int:
    """How many of the keys have signed; a key counts once."""
    message = proof.secret.encode()
    return sum(any(is_signed(message, signature, key) for signature in signatures) for key in keys)
