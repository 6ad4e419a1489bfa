"""An operator's payment settings: which mints we accept, what a call costs, and which graphs charge.

```
STEPWELL_MINTS=https://mint.example.com     accepted mints, separated by commas
STEPWELL_SATS_PER_CALL=5                    the price of each model call, or
STEPWELL_TOKEN_PRICES={"*": [1000, 4000]}   sats for a million tokens in and out, by model
STEPWELL_WALLET_SEED=...                    64 hexadecimal digits; make them with `stepwell wallet seed`
```
Without a mint and a price, every agent is free.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from stepwell.clock import Clock
from stepwell.errors import ConfigurationError
from stepwell.payments.pricing import FlatPrice, Price, Rate, TokenPrice
from stepwell.settings import Secret
from stepwell.variables import Variables, is_loopback

if TYPE_CHECKING:
    from stepwell.payments.ledger.ledger import Ledger
    from stepwell.payments.wallet.wallet import Wallet

_SEED_DIGITS = 64
_USUAL_DEPOSIT_CALLS = 20
_USUAL_DEPOSIT_SATS = 100


@dataclass(frozen=True)
class Charging:
    """How agents are paid."""

    mints: tuple[str, ...]
    price: Price
    seed: Secret
    paid_graphs: tuple[str, ...] | None = None
    """None means every graph that declares itself payable."""
    deposit_sats: int = _USUAL_DEPOSIT_SATS
    """The deposit we ask of a payer without a token. It covers several calls, so that work does not stop at once; the rest is refunded."""
    idle_hours: int = 24

    def graphs(self, payable: Collection[str]) -> tuple[str, ...]:
        """The graphs that charge: those the operator names, or else all that can charge."""
        return self.paid_graphs or tuple(payable)


def load_charging(variables: Mapping[str, str]) -> Charging | None:
    """The value of `Settings.payments`. None if neither a mint nor a price is set, so that every agent is free."""
    read = Variables(variables)
    mints = tuple(_check_mint(mint) for mint in read.listing("STEPWELL_MINTS"))
    price = _price(read)
    if not mints and price is None:
        return None
    if not mints or price is None:
        raise ConfigurationError(
            "Payments need both a mint (STEPWELL_MINTS) and a price (STEPWELL_SATS_PER_CALL or STEPWELL_TOKEN_PRICES)."
        )
    usual = price.sats_per_call * _USUAL_DEPOSIT_CALLS if isinstance(price, FlatPrice) else _USUAL_DEPOSIT_SATS
    return Charging(
        mints,
        price,
        _seed(read),
        read.listing("STEPWELL_PAID_GRAPHS") or None,
        read.whole("STEPWELL_DEPOSIT_SATS", max(usual, 1)),
        read.whole("STEPWELL_PAYMENT_IDLE_HOURS", 24, most=24 * 365),
    )


@asynccontextmanager
async def open_wallet(charging: Charging, ledger: Ledger, clock: Clock | None = None) -> AsyncIterator[Wallet]:
    """The operator's wallet over a ledger. Closes its connections to mints at the end."""
    from stepwell.payments.wallet.mint import HttpMint  # needs the extra, which a server without payments lacks
    from stepwell.payments.wallet.wallet import Wallet

    async with AsyncExitStack() as stack:
        mints = [await stack.enter_async_context(HttpMint(mint)) for mint in charging.mints]
        seed = bytes.fromhex(charging.seed.reveal())
        yield Wallet(ledger, mints, seed, clock=clock, idle_s=charging.idle_hours * 3600)


def _check_mint(text: str) -> str:
    from stepwell.payments.wallet.mint import check_mint_url

    url = check_mint_url(text)
    if not url.startswith("https://") and not is_loopback(urlsplit(url).hostname or ""):
        raise ConfigurationError(
            f"STEPWELL_MINTS names '{text}'. Money goes over https:// only (http:// only on this machine)."
        )
    return url


def _price(read: Variables) -> Price | None:
    flat, table = read.whole("STEPWELL_SATS_PER_CALL", None, least=0, most=10**9), read.text("STEPWELL_TOKEN_PRICES")
    if flat is not None and table is not None:
        raise ConfigurationError(
            "STEPWELL_SATS_PER_CALL and STEPWELL_TOKEN_PRICES are both set. A call has one price: remove one."
        )
    if table is None:
        return None if flat is None else FlatPrice(flat)
    try:
        rates = {str(model): Rate(*pair) for model, pair in json.loads(table).items()}
    except (ValueError, TypeError, AttributeError) as error:
        raise ConfigurationError(
            'STEPWELL_TOKEN_PRICES must be JSON with sats for a million tokens in and out: {"provider:model": [3000, 15000], '
            '"*": [1000, 4000]}.'
        ) from error
    return TokenPrice(rates)


def _seed(read: Variables) -> Secret:
    text = read.text("STEPWELL_WALLET_SEED") or ""
    if len(text) != _SEED_DIGITS or not all(digit in "0123456789abcdefABCDEF" for digit in text):
        raise ConfigurationError(
            "STEPWELL_WALLET_SEED must be 64 hexadecimal digits. Make some with `stepwell wallet seed`, and keep a copy away from the "
            "database: it brings the money back if the database is lost."
        )
    return Secret(text)
