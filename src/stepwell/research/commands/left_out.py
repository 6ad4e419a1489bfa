"""The sentences of a draft that are not in its report, each with the reason, for the end of `stepwell research`."""

from __future__ import annotations

from stepwell.research.audit.evidence import KEPT, Claim
from stepwell.research.audit.ledger import read_evidence
from stepwell.research.audit.levels import name_level, spell_reason
from stepwell.research.audit.vault import EvidenceVault


async def list_left_out(vault: EvidenceVault) -> list[str]:
    """The lines to show for the thread's last report; none if the report has every sentence."""
    entries = await vault.entries()
    report = next((entry for entry in reversed(entries) if entry.kind == "report"), None)
    if report is None:
        return []
    claims = read_evidence(entries).claims
    out = [claims[name] for name in report.data["claims"] if claims[name].verdict not in KEPT]
    return ["Left out of the report:", *(line for claim in out for line in _describe(claim)), ""] if out else []


def _describe(claim: Claim) -> tuple[str, str]:
    reason = f": {spell_reason(claim.reasons[0])}" if claim.reasons else ""
    return f"  “{claim.text}”", f"    {name_level(claim.verdict)}{reason}"
