"""Whether we accept a token, and what it is worth here. Checking changes nothing, neither here nor at the mint.

```
a mint on the list? -> sats? -> a keyset it has? -> not locked to a key? -> signed by the mint? -> not spent? -> worth its fee?
```
Even if a token passes, the payer can still spend it until we redeem it. Only the swap, before the first call, is final.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from stepwell.errors import MintUnavailableError, TokenInvalidError, TokenSpentError
from stepwell.payments.cashu.curve import proves_money
from stepwell.payments.cashu.keysets import Keyset, full_id
from stepwell.payments.cashu.locks import is_unlocked
from stepwell.payments.cashu.money import Proof, swap_fee
from stepwell.payments.cashu.tokens import Token
from stepwell.payments.wallet.mint import Mint, normalize_url

UNIT = "sat"


@dataclass(frozen=True)
class Valuation:
    """A valid token, with full keyset ids. The mint keeps `fee_sats` when the token is redeemed."""

    mint: str
    amount_sats: int
    fee_sats: int
    fingerprint: str
    token: Token = field(repr=False)

    @property
    def net_sats(self) -> int:
        return self.amount_sats - self.fee_sats


def find_mint(token: Token, mints: Mapping[str, Mint]) -> Mint:
    """The mint of a token, if we accept it. Sends no request."""
    try:
        mint = mints.get(normalize_url(token.mint))
    except ValueError:  # the port isn't a number
        mint = None
    if mint is None:
        raise TokenInvalidError(
            f"Tokens of this mint are not taken here. Pay with one of: {', '.join(sorted(mints)) or '(none is configured)'}.",
            "mint_unknown",
        )
    if token.unit != UNIT:
        raise TokenInvalidError(f"The token is in '{token.unit[:20]}'; only sats are taken.", "unit_unknown")
    return mint


async def value_token(token: Token, mint: Mint, now: float) -> Valuation:
    """What a token of this mint is worth. Raises a `PaymentError` that says why we refuse it."""
    token = await resolve_keysets(replace(token, mint=mint.url), mint)
    for proof in token.proofs:
        _check_proof(proof, await mint.keyset(proof.keyset_id), now)
    await _check_unspent(token, mint)
    fee = await fee_of(token.proofs, mint)
    if token.amount <= fee:
        raise TokenInvalidError(
            f"The token is worth {token.amount} sats, and redeeming it costs {fee}. Send a larger one.", "token_below_fee"
        )
    return Valuation(mint.url, token.amount, fee, token.fingerprint, token)


async def resolve_keysets(token: Token, mint: Mint) -> Token:
    """The token with the full ids of its keysets."""
    known = await mint.keysets()
    if any(proof.keyset_id not in known for proof in token.proofs):
        try:
            return _with_full_ids(token, known)
        except TokenInvalidError:  # the mint may have added a keyset since we asked
            known = await mint.keysets(fresh=True)
    return _with_full_ids(token, known)


async def fee_of(proofs: tuple[Proof, ...], mint: Mint) -> int:
    return swap_fee(proofs, {keyset_id: info.fee_ppk for keyset_id, info in (await mint.keysets()).items()})


def _with_full_ids(token: Token, known: Mapping[str, object]) -> Token:
    return replace(token, proofs=tuple(replace(proof, keyset_id=full_id(proof.keyset_id, known)) for proof in token.proofs))


def _check_proof(proof: Proof, keyset: Keyset, now: float) -> None:
    if keyset.info.unit != UNIT:
        raise TokenInvalidError("The token says sats, and its keyset is of another unit.", "unit_unknown")
    key, dleq = keyset.key(proof.amount), proof.dleq
    if dleq is not None and not proves_money(proof.secret, proof.signature, key, dleq.e, dleq.s, dleq.r):
        raise TokenInvalidError("The mint has not signed this token: its proof does not hold (NUT-12).", "token_forged")
    if not is_unlocked(proof, now):
        raise TokenInvalidError("The token is locked to a key. Have the wallet unlock it, then send it again.", "token_locked")


async def _check_unspent(token: Token, mint: Mint) -> None:
    states = set((await mint.states([proof.point for proof in token.proofs])).values())
    if "SPENT" in states:
        raise TokenSpentError("The token, or a part of it, was spent before. Ask the wallet for a new one.")
    if "PENDING" in states:
        raise MintUnavailableError("The token is being spent somewhere else right now. Try again in a moment.", "token_pending")
