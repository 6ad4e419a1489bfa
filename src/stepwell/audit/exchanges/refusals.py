"""What a rule kept from leaving the machine, written down: for the receipt, beside what left.

Only refusals before a request was written down belong here. A refusal by the transport is the answer to its request (`recording.py`), and
the receipt finds it there. An address that was refused because of what it holds is not written down with it.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from stepwell.audit.exchanges.redaction import without_secrets
from stepwell.audit.trail import NewEntry
from stepwell.audit.vault import EvidenceVault, append_beside
from stepwell.errors import EvidenceError
from stepwell.secrets.text import hide_secrets


async def record_refusal(vault: EvidenceVault, key: str, *, url: str | None, step: str, rule: str, reason: str) -> None:
    """Note that something was not sent. `rule` is the one word or rule id that says why, `reason` the sentence; `url` is `None` where
    there is none, or where it must not be repeated."""
    address, host = _place(url)
    data = {"url": address, "host": host, "step": step, "rule": rule, "reason": hide_secrets(reason)}
    await append_beside(vault, NewEntry("refusal", key, data))


def _place(url: str | None) -> tuple[str | None, str]:
    """The address and its host; nothing for what is no address."""
    if url is None:
        return None, ""
    try:
        address = without_secrets(url.strip()[:2048])
        return address, urlsplit(address).hostname or ""
    except (EvidenceError, ValueError):
        return None, ""
