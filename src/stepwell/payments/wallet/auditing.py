"""Whether all the money is there: compares ledger lines, sums and proofs with each other, and the proofs with what their mints say.

The report names mints that cannot be reached and covers the others. Calls go on during the audit, so we check again what a mint reports
as spent: only what the ledger still counts as held by then was spent elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from stepwell.errors import PaymentError
from stepwell.payments.cashu.money import Proof, total
from stepwell.payments.ledger.ledger import Holding, Ledger, Totals
from stepwell.payments.wallet.mint import Mint


@dataclass(frozen=True)
class MintAudit:
    """The money at one mint."""

    mint: str
    for_payers_sats: int
    """Money held for payers, not yet separated from what they have spent."""
    earned_sats: int
    """Money earned and not paid out."""
    spent_elsewhere_sats: int | None
    """What we count as held and the mint as spent; None if we could not ask the mint."""
    trouble: str | None = None
    """Why we could not ask the mint."""


@dataclass(frozen=True)
class Audit:
    """The ledger compared with itself and with the mints."""

    totals: Totals
    mints: tuple[MintAudit, ...]

    @property
    def adds_up(self) -> bool:
        """Whether the ledger lines add up to the sums, and the proofs do too."""
        totals = self.totals
        lines = totals.credits == totals.charges + totals.balances + totals.refunds + totals.fees
        money = totals.session_proofs + totals.earned_proofs + totals.paid_out == totals.charges + totals.balances
        return lines and money

    @property
    def spent_elsewhere(self) -> int:
        """What was spent elsewhere, over all mints that answered."""
        return sum(mint.spent_elsewhere_sats or 0 for mint in self.mints)

    def as_json(self) -> dict[str, Any]:
        return {
            "adds_up": self.adds_up,
            "spent_elsewhere_sats": self.spent_elsewhere,
            "totals": asdict(self.totals),
            "mints": [asdict(mint) for mint in self.mints],
        }


async def audit_money(ledger: Ledger, mints: Mapping[str, Mint]) -> Audit:
    """Check everything in the ledger, including money of mints that are no longer accepted."""
    totals = await ledger.totals()
    holdings = {holding.mint: holding for holding in await ledger.holdings()}
    urls = sorted({*mints, *holdings})
    return Audit(totals, tuple([await _audit_mint(ledger, mints.get(url), holdings.get(url, Holding(url))) for url in urls]))


async def _audit_mint(ledger: Ledger, mint: Mint | None, holding: Holding) -> MintAudit:
    spent: int | None = None
    trouble: str | None = None
    if mint is None:
        trouble = "We did not ask this mint, because it is no longer accepted. Put it back on the list."
    else:
        try:
            spent = await _count_spent(ledger, mint, (*holding.for_payers, *holding.earned))
        except PaymentError as error:
            trouble = str(error)
    return MintAudit(holding.mint, total(holding.for_payers), total(holding.earned), spent, trouble)


async def _count_spent(ledger: Ledger, mint: Mint, proofs: Sequence[Proof]) -> int:
    states = await mint.states([proof.point for proof in proofs]) if proofs else {}
    spent = {point for point, state in states.items() if state == "SPENT"}
    if not spent:
        return 0
    now = next((holding for holding in await ledger.holdings() if holding.mint == mint.url), Holding(mint.url))
    return sum(proof.amount for proof in (*now.for_payers, *now.earned) if proof.point in spent)
