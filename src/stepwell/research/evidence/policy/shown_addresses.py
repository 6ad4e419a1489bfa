"""Which addresses an agent has been shown: by the user, a search, or a page it read. For agents that fetch freely.

A page can tell a model to send what it knows to an address of the page's choosing, as part of that address. Such an address is new. So
once a model has read foreign text, it may fetch what it was shown; for an address that it makes up, the rule `addresses.after_reading` of
the policy decides whether it is refused, allowed, or left to the user. What was shown is stored in the trail, so that it outlives the
process.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import urljoin, urlsplit

from stepwell.errors import WebError
from stepwell.research.audit.canonical import sha256
from stepwell.research.audit.trail import NewEntry
from stepwell.research.audit.vault import EvidenceVault, append_beside
from stepwell.research.evidence.policy.rules import AfterReading, Violation
from stepwell.secrets.text import hide_secrets
from stepwell.tools.documents.robots_rules import LONGEST_URL
from stepwell.tools.web.addresses import read_url
from stepwell.tools.web.fetch import FetchedPage

RULE = "addresses.after_reading"
MOST_LINKS = 5_000
_LINK = re.compile(r"""\bhref\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'<>]+))""", re.IGNORECASE)
_ADDRESS = re.compile(r"https?://[^\s<>\"'`|\\^{}]+", re.IGNORECASE)
_TRAILING = ".,;:!?)]}*_"


class ShownAddresses:
    """The shown addresses of one thread. It reads each entry of the trail once."""

    def __init__(self, vault: EvidenceVault) -> None:
        self._vault = vault
        self._read_to = 0
        self._known: set[str] = set()
        self._hosts: set[str] = set()
        self._strangers = False

    async def add(self, key: str, addresses: Iterable[str], *, by: str) -> None:
        """Store what was shown. `by` is `question`, `search`, `page` or `device` (material that the user brought). Only a question is
        surely the user's own words; the others may hold instructions of strangers."""
        found = sorted({known for known in map(_plain, addresses) if known})
        stored = await self._vault.put("\n".join(found).encode())
        await append_beside(self._vault, NewEntry("shown", key, {"by": by, "addresses": len(found), "body_sha256": stored}))

    async def check(self, url: str, rule: AfterReading) -> Violation | None:
        """The violation if an address breaks the rule, else `None`."""
        await self._catch_up()
        asked = _plain(url)
        if rule == "any" or not self._strangers or asked is None or asked in self._known:
            return None
        host, _, target = asked.partition("/")
        if rule == "shown":
            fact = "neither a search, nor a page that was read, nor the person who asked has shown this address"
            return Violation(rule=RULE, reason=fact)
        if host in self._hosts or "?" not in target:
            return None
        return Violation(rule=RULE, reason=f"'{host}' is a new host, and the address carries a query that nobody has shown")

    async def _catch_up(self) -> None:
        for entry in await self._vault.entries(self._read_to):
            if entry.seq <= self._read_to:
                continue
            self._read_to = entry.seq
            if entry.kind == "shown" and entry.data.get("by") != "agent":
                self._take((await self._vault.get(str(entry.data["body_sha256"]))).decode().split("\n"))
                self._strangers = self._strangers or entry.data.get("by") != "question"
            elif entry.kind == "source":
                self._take(filter(None, (_plain(str(entry.data.get(name) or "")) for name in ("url", "final_url"))))

    def _take(self, addresses: Iterable[str]) -> None:
        for address in filter(None, addresses):
            self._known.add(address)
            self._hosts.add(address.partition("/")[0])


def find_addresses(text: str) -> list[str]:
    """Addresses in a text."""
    found = (match[0].rstrip(_TRAILING) for match in _ADDRESS.finditer(text))
    return list(dict.fromkeys(found))[:MOST_LINKS]


def find_links(page: FetchedPage) -> list[str]:
    """The links of a page, and addresses in its text. Slow for large pages; call it outside the event loop."""
    source = page.content.decode("utf-8", "replace") if "html" in page.media_type else ""
    links = []
    for match in _LINK.finditer(source):
        named = (match[1] or match[2] or match[3] or "").strip().replace("&amp;", "&")
        if len(named) <= LONGEST_URL:
            try:
                links.append(urljoin(page.final_url, named))
            except ValueError:
                continue  # not a valid address, so nobody can fetch it
        if len(links) >= MOST_LINKS:
            break
    return [page.url, page.final_url, *page.redirects, *links, *find_addresses(page.text)]


def _plain(url: str) -> str | None:
    """An address in one form, without scheme and fragment: a link may say http where we fetch https."""
    try:
        read = read_url(url.strip().split("#")[0])
    except WebError:
        return None
    plain = str(read).removeprefix(f"{read.scheme}://")
    if hide_secrets(f"https://{plain}") == f"https://{plain}":
        return plain
    # An address that contains a key is stored as a hash: it can be compared with others without being written down.
    return f"{plain.partition('/')[0]}/?sha256={sha256(plain.encode())}"


def origin_of(url: str) -> str | None:
    """The scheme and host of an address, without what it carries. A refused address is stored in this form."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    return f"{parts.scheme}://{parts.hostname}/" if parts.hostname else None
