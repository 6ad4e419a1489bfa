"""Whether an agent has read the user's own material, and which searches it may still make. For agents that choose their queries.

A document can tell a model to search for what other documents say: in base64, spelled out, a word at a time. No pattern sees that. So once
an agent of a thread has read a file that the user brought, the rule `searches.after_private` applies: a query is a choice of words of the
user's questions, in their order, and what is sent are the question's words in the question's spelling. Case, endings, punctuation and
invisible letters of the agent's query are gone, and words from elsewhere are refused.

Words of pages are not allowed either, not even of pages that were read before: a page may hold a code book. What is left is which of the
question's words a search uses.

What agents write themselves before they read such material is not private. Both facts are stored in the trail as entries of kind `shown`,
so that they outlive the process: `device` for material that was read, `agent` for a file that an agent has written.
"""

from __future__ import annotations

from collections.abc import Sequence

from stepwell.research.audit.trail import NewEntry
from stepwell.research.audit.vault import EvidenceVault, append_beside
from stepwell.research.evidence.policy.rules import AfterPrivate, Violation
from stepwell.research.evidence.policy.shown_addresses import ShownAddresses, find_addresses
from stepwell.tools.web.search.chain import PAPERS
from stepwell.words import stem, words

RULE = "searches.after_private"
_MOST_NAMED = 60


class PrivateMaterial:
    """The private material of one thread. It reads each entry of the trail once."""

    def __init__(self, vault: EvidenceVault) -> None:
        self._vault = vault
        self._read_to = 0
        self._was_read = False
        self._own: set[str] = set()
        self._questions: list[str] = []

    async def note_read(self, key: str, text: str) -> None:
        """Store that an agent has read `text`, which the user brought. The text itself is not stored, only the addresses in it."""
        await ShownAddresses(self._vault).add(key, find_addresses(text), by="device")

    async def note_written(self, key: str, path: str) -> None:
        """Store that an agent has written a file, unless it has read private material before."""
        if not await self.was_read() and path not in self._own:
            stored = await self._vault.put(path.encode())
            await append_beside(self._vault, NewEntry("shown", key, {"by": "agent", "addresses": 0, "body_sha256": stored}))

    async def was_read(self) -> bool:
        await self._catch_up()
        return self._was_read

    async def is_own(self, path: str) -> bool:
        """Whether an agent wrote this file without knowing private material."""
        await self._catch_up()
        return path in self._own

    async def check(self, query: str, rule: AfterPrivate) -> tuple[str, Violation | None]:
        """The query as it may be sent, or the violation."""
        if rule == "any" or not await self.was_read():
            return query, None
        marked = query[: len(PAPERS)] if query.lower().startswith(PAPERS) else ""
        asked = [word.text for question in self._questions for word in words(question)]
        kept = choose_words(query[len(marked) :], asked)
        if kept:
            return f"{PAPERS} {' '.join(kept)}" if marked else " ".join(kept), None
        known = ", ".join(list(dict.fromkeys(asked))[:_MOST_NAMED])
        return query, Violation(
            rule=RULE,
            reason=f"private material was read, so a search may use only words of the question, in their order: {known}",
        )

    async def _catch_up(self) -> None:
        for entry in await self._vault.entries(self._read_to):
            if entry.seq <= self._read_to:
                continue
            self._read_to = entry.seq
            if entry.kind == "question":
                self._questions.append(str(entry.data.get("query", "")))
            elif entry.kind == "shown" and entry.data.get("by") == "device":
                self._was_read = True
            elif entry.kind == "shown" and entry.data.get("by") == "agent":
                self._own.add((await self._vault.get(str(entry.data["body_sha256"]))).decode())


def choose_words(query: str, asked: Sequence[str]) -> list[str]:
    """The words of `asked` that a query means, in the spelling of `asked`; empty if it has others, or others' order."""
    found: list[str] = []
    place = 0
    for word in words(query):
        wanted = stem(word.text)
        place = next((at for at in range(place, len(asked)) if stem(asked[at]) == wanted), -1) + 1
        if not place:
            return []
        found.append(asked[place - 1])
    return found
