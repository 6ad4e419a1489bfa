"""Records what a rule stopped, so that the receipt can list it next to what was sent.

Only refusals before a request was recorded belong here. A refusal by the transport is the answer to its request (`recording.py`), and
the receipt finds it there. An address that was refused for what it contains is not stored.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from stepwell.errors import EvidenceError
from stepwell.research.audit.exchanges.redaction import without_secrets_in_url
from stepwell.research.audit.trail import NewEntry
from stepwell.research.audit.vault import EvidenceVault, append_beside
from stepwell.secrets.text import hide_secrets


async def record_refusal(vault: EvidenceVault, key: str, *, url: str | None, step: str, rule: str, reason: str) -> None:
    """Record that something was not sent. `rule` is the rule id or a word that says why, `reason` the same as a sentence; `url` is `None`
    if there is no address, or if it must not be repeated."""
    address, host = _place(url)
    data = {"url": address, "host": host, "step": step, "rule": rule, "reason": hide_secrets(reason)}
    await append_beside(vault, NewEntry("refusal", key, data))


def _place(url: str | None) -> tuple[str | None, str]:
    """The address and its host; empty if it is not an address."""
    if url is None:
        return None, ""
    try:
        address = without_secrets_in_url(url.strip()[:2048])
        return address, urlsplit(address).hostname or ""
    except (EvidenceError, ValueError):
        return None, ""
