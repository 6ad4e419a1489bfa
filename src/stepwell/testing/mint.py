"""A mint in memory: real keys, real signatures, real accounting, and faults on request. `Wallet` cannot tell it from a network mint.

```python
mint = MemoryMint(fee_ppk=100)
text = mint.issue(1000)                                 # a payer's token, as a wallet sends it; `issue_token` gives it parsed
mint.faults = [None, "after", "before"]                 # for the next swaps: none; done, answer lost; not done, no answer
```
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Literal

from stepwell.errors import MintRejectedError, MintUnavailableError, TokenInvalidError
from stepwell.payments.cashu.curve import prove_signature, sign
from stepwell.payments.cashu.keysets import Keyset, KeysetInfo, derive_id
from stepwell.payments.cashu.locks import is_unlocked
from stepwell.payments.cashu.money import BlindedMessage, BlindSignature, Dleq, Proof, swap_fee, total
from stepwell.payments.cashu.outputs import Share, make_outputs, make_proofs
from stepwell.payments.cashu.tokens import Token, decode_token, encode_token
from stepwell.payments.wallet.mint import ProofState

Fault = Literal["before", "after", "pending"]
"""What goes wrong with one swap: not done and no answer; done, but the answer is lost; refused because the money is pending."""

_G = "0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"
_LARGEST_POWER = 24


@lru_cache(maxsize=64)
def _make_keys(seed: bytes) -> tuple[dict[int, bytes], dict[int, str]]:
    """Private and public keys by amount. Cached, because tests make many mints, and keys are the most expensive part."""
    private = {2**n: hmac.digest(seed, n.to_bytes(2, "big"), "sha256") for n in range(_LARGEST_POWER)}
    return private, {amount: sign(_G, key) for amount, key in private.items()}


class MemoryMint:
    """`Mint` without a network. `swaps` counts its swaps, `outstanding` is what it owes to holders of its money."""

    def __init__(self, url: str = "https://mint.test", *, fee_ppk: int = 0, seed: bytes = b"mint", version: str = "01") -> None:
        self.url = url
        self.faults: list[Fault | None] = []
        self.down = False
        self.swaps = 0
        self._seed = seed
        self._version = version
        self._private: dict[str, dict[int, bytes]] = {}
        self._keysets: dict[str, Keyset] = {}
        self._active = ""
        self._spent: dict[str, int] = {}
        self._signed: dict[str, BlindSignature] = {}
        self._issued = 0
        self._payers = 0
        self.rotate(fee_ppk)

    @property
    def outstanding(self) -> int:
        """All money that was issued and not spent."""
        return self._issued

    def rotate(self, fee_ppk: int = 0) -> str:
        """Sign with a new keyset from now on. Money of the old keysets can still be spent."""
        private, keys = _make_keys(self._seed + f"{len(self._keysets)}".encode())
        keyset_id = derive_id(keys, KeysetInfo(self._version, "sat", True, fee_ppk))
        self._private[keyset_id] = private
        self._keysets[keyset_id] = Keyset(KeysetInfo(keyset_id, "sat", True, fee_ppk), keys)
        self._active = keyset_id
        return keyset_id

    def issue(self, amount: int, *, lock_key: str | None = None) -> str:
        """A token for a payer, out of nothing, as if it had been paid for by Lightning."""
        return encode_token(self.issue_token(amount, lock_key=lock_key))

    def issue_token(self, amount: int, *, lock_key: str | None = None) -> Token:
        """Like `issue`, but returns the parsed token, for a wallet to take."""
        keyset = self._keysets[self._active]
        self._payers += 1
        seed = b"payer" + self._payers.to_bytes(4, "big") + self._seed
        outputs = make_outputs([Share("session", amount, lock_key)], keyset, seed, 0)
        signatures = [self._sign(output.message) for output in outputs]
        self._issued += amount
        return Token(self.url, "sat", tuple(make_proofs(outputs, signatures, self._keysets)))

    def spend(self, text: str) -> int:
        """Swap a token as if someone spent it elsewhere. Returns its value; raises `TokenInvalidError` if it was spent or is locked."""
        token = decode_token(text)
        for proof in token.proofs:
            if proof.point in self._spent or not is_unlocked(proof, 0.0) or not self._is_ours(proof):
                raise TokenInvalidError("spent, locked or forged")
        for proof in token.proofs:
            self._spent[proof.point] = proof.amount
        self._issued -= token.amount
        return token.amount

    async def keysets(self, *, fresh: bool = False) -> Mapping[str, KeysetInfo]:
        self._require_up()
        return {
            keyset_id: KeysetInfo(keyset_id, "sat", keyset_id == self._active, keyset.info.fee_ppk)
            for keyset_id, keyset in self._keysets.items()
        }

    async def keyset(self, keyset_id: str) -> Keyset:
        self._require_up()
        if keyset_id not in self._keysets:
            raise TokenInvalidError("The mint does not know this keyset.", "keyset_unknown")
        return self._keysets[keyset_id]

    async def swap(self, inputs: Sequence[Proof], outputs: Sequence[BlindedMessage]) -> list[BlindSignature]:
        self._require_up()
        fault = self.faults.pop(0) if self.faults else None
        if fault == "before":
            raise MintUnavailableError("no answer, and nothing done")
        if fault == "pending":
            raise MintRejectedError("pending", 11002)
        self._check(inputs, outputs)
        for proof in inputs:
            self._spent[proof.point] = proof.amount
        self._issued -= total(inputs) - sum(output.amount for output in outputs)
        self.swaps += 1
        signatures = [self._sign(output) for output in outputs]
        if fault == "after":
            raise MintUnavailableError("no answer, but done")
        return signatures

    async def restore(self, outputs: Sequence[BlindedMessage]) -> Mapping[str, BlindSignature]:
        self._require_up()
        return {output.blinded: self._signed[output.blinded] for output in outputs if output.blinded in self._signed}

    async def states(self, points: Sequence[str]) -> Mapping[str, ProofState]:
        self._require_up()
        return {point: "SPENT" if point in self._spent else "UNSPENT" for point in points}

    def _require_up(self) -> None:
        if self.down:
            raise MintUnavailableError("the mint is down")

    def _check(self, inputs: Sequence[Proof], outputs: Sequence[BlindedMessage]) -> None:
        """Checks a swap in the same order and with the same error codes as real mints."""
        if any(proof.point in self._spent for proof in inputs):
            raise MintRejectedError("spent", 11001)
        if any(output.blinded in self._signed for output in outputs):
            raise MintRejectedError("signed", 11003)
        if not all(self._is_ours(proof) and is_unlocked(proof, 0.0) for proof in inputs):
            raise MintRejectedError("not valid", 10001)
        if any(output.keyset_id != self._active for output in outputs):
            raise MintRejectedError("inactive", 12002)
        fees = {keyset_id: keyset.info.fee_ppk for keyset_id, keyset in self._keysets.items()}
        if total(inputs) - swap_fee(inputs, fees) != sum(output.amount for output in outputs):
            raise MintRejectedError("not balanced", 11005)

    def _is_ours(self, proof: Proof) -> bool:
        for keyset_id, private in self._private.items():
            if keyset_id.startswith(proof.keyset_id) and proof.amount in private:
                return sign(proof.point, private[proof.amount]) == proof.signature
        return False

    def _sign(self, output: BlindedMessage) -> BlindSignature:
        key = self._private[output.keyset_id][output.amount]
        nonce = hashlib.sha256(self._seed + output.blinded.encode()).digest()
        signature = BlindSignature(
            output.amount, output.keyset_id, sign(output.blinded, key), Dleq(*prove_signature(output.blinded, key, nonce))
        )
        self._signed[output.blinded] = signature
        return signature
