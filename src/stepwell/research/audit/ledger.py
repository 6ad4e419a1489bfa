"""How evidence is stored in a trail, and how to read it back.

| entry | key | data |
|---|---|---|
| `source`, `quote`, `claim` | `source:s1`, `quote:e1`, `claim:c1` | the fields of `Source`, `Quote`, `Claim` |
| `plan` | the caller's | the plan; the last one counts |
| `report` | the caller's | `sha256` of the stored Markdown; the last one counts; `claims`, `quotes`, `sources`: the ids it rests on |
| those of `story.KINDS` | the caller's | `after`: the key of the one before it in its branch |
| any | the caller's | `policy_sha256` of the stored policy text, where the policy was applied; the last one counts |

Ids are unique in a vault. Nothing that names a place on a machine is stored: bundles go to strangers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from stepwell.errors import EntryConflictError, EvidenceDamagedError, EvidenceError
from stepwell.research.audit.canonical import canonical
from stepwell.research.audit.evidence import (
    ADDRESSES,
    Claim,
    Quote,
    Source,
    claim_from,
    fit_parts,
    quote_from,
    source_from,
    to_data,
)
from stepwell.research.audit.exchanges.redaction import without_secrets_in_url
from stepwell.research.audit.trail import Entry, NewEntry
from stepwell.research.audit.vault import EvidenceVault
from stepwell.secrets.text import hide_secrets

_SHA256 = re.compile(r"[0-9a-f]{64}")
_PATH = re.compile(r"^(?:file:|[A-Za-z]:[\\/]|[~/\\])")


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything a trail says about a report."""

    sources: dict[str, Source] = field(default_factory=dict)
    quotes: dict[str, Quote] = field(default_factory=dict)
    claims: dict[str, Claim] = field(default_factory=dict)
    plan: dict[str, Any] | None = None
    report_sha256: str | None = None
    policy_sha256: str | None = None

    def to_bytes(self) -> bytes:
        """The member `claims.json` of a bundle."""
        lists: dict[str, Iterable[Source | Quote | Claim]] = {
            "claims": self.claims.values(),
            "quotes": self.quotes.values(),
            "sources": self.sources.values(),
        }
        return canonical({name: [to_data(item) for item in items] for name, items in lists.items()}) + b"\n"


async def record_source(vault: EvidenceVault, source: Source) -> Entry:
    """Store a source. Of a title from the device only the last part is stored, and keys are removed from an address."""
    _check_address(source)
    url, final_url = (each and without_secrets_in_url(each) for each in (source.url, source.final_url))
    kept = replace(source, title=plain_title(source.title), url=url, final_url=final_url, parts=fit_parts(source.parts))
    return await vault.append(NewEntry("source", f"source:{source.source_id}", to_data(kept)))


def plain_title(title: str) -> str:
    """A title without a key and, if it is a path, without its folders."""
    return hide_secrets(re.split(r"[\\/]", title.rstrip("\\/"))[-1] if _PATH.match(title) else title)


def _check_address(source: Source) -> None:
    addresses = (source.url, source.final_url)
    if source.kind == "device":
        if any(url is not None for url in addresses):
            raise EvidenceError(
                f"Source {source.source_id} came from a device and has an address on the web. Leave the address out."
            )
    elif not all(url is not None and url.lower().startswith(ADDRESSES) for url in addresses):
        raise EvidenceError(f"Source {source.source_id} is a page, and its address does not begin with http:// or https://.")


async def record_quote(vault: EvidenceVault, quote: Quote) -> Entry:
    return await vault.append(NewEntry("quote", f"quote:{quote.quote_id}", to_data(quote)))


async def record_claim(vault: EvidenceVault, claim: Claim) -> Entry:
    return await vault.append(NewEntry("claim", f"claim:{claim.claim_id}", to_data(claim)))


async def record_claims(vault: EvidenceVault, claims: Sequence[Claim], prefixes: Iterable[str]) -> list[str]:
    """Store all claims of a report under the first id prefix that no other claims use; returns the ids.

    A thread may have several reports and unfinished checks, whose claims keep their ids.
    """
    for prefix in prefixes:
        named = [replace(claim, claim_id=prefix + claim.claim_id) for claim in claims]
        try:
            for claim in named:
                await record_claim(vault, claim)
        except EntryConflictError:
            continue
        return [claim.claim_id for claim in named]
    raise EvidenceError("Every name for the claims of this report is taken. Give more prefixes.")


def read_evidence(entries: Iterable[Entry]) -> Evidence:
    """The evidence in a trail; `EvidenceDamagedError` names the first entry that does not have the form above."""
    found = Evidence()
    for entry in entries:
        try:
            found = _with(found, entry)
        except (TypeError, KeyError, ValueError) as error:
            raise EvidenceDamagedError(f"entry {entry.seq} ({entry.kind}) does not have the form of one: {error}") from error
    return found


def _with(found: Evidence, entry: Entry) -> Evidence:
    if "policy_sha256" in entry.data:
        found = replace(found, policy_sha256=_hash(entry.data["policy_sha256"]))
    if entry.kind == "source":
        source = source_from(entry.data)
        _hash(source.bytes_sha256), _hash(source.text_sha256)
        found.sources[source.source_id] = source
    elif entry.kind == "quote":
        quote = quote_from(entry.data)
        found.quotes[quote.quote_id] = quote
    elif entry.kind == "claim":
        claim = claim_from(entry.data)
        found.claims[claim.claim_id] = claim
    elif entry.kind == "plan":
        return replace(found, plan=entry.data)
    elif entry.kind == "report":
        return replace(found, report_sha256=_hash(entry.data["sha256"]))
    return found


def _hash(value: object) -> str:
    if not isinstance(value, str) or not _SHA256.fullmatch(value):
        raise ValueError("a sha256 has 64 lower-case hexadecimal digits")
    return value
