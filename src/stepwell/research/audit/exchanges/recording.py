"""Makes every request once and records its answer, from which a resumed run continues and a replay answers.

```
intend   entry `request`, key K              before anything is sent
send     the caller's
store    entry `response` or `model_call`, key K:answer, with the hash of the body
```

A node that runs again finds K:answer and sends nothing. If only the intent is there, we cannot know whether the request arrived, so it is
sent again with an entry K:resend:1, which counts against the ceiling like any other request. Bodies are stored under their hash. Request
headers are not stored at all, and keys are redacted in addresses, in models' answers, and in response headers.

An answer whose data have `error: {"refused": true, ...}` says that a rule stopped the request after its intent was recorded: nothing
was sent. It still counts against the ceiling, and the receipt lists it as refused.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, Never
from urllib.parse import urlsplit

from stepwell.errors import EntryConflictError, EvidenceDamagedError, EvidenceError, RequestCeilingError
from stepwell.research.audit.canonical import canonical, sha256
from stepwell.research.audit.exchanges.redaction import without_secret_headers, without_secrets_in_url
from stepwell.research.audit.trail import Entry, NewEntry
from stepwell.research.audit.vault import EvidenceVault
from stepwell.secrets.text import hide_secrets


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A request to be made. `key` is the same when the same step runs again; `url` may be `model:name` for a model in this process."""

    key: str
    to: Literal["web", "model"]
    method: str
    url: str
    body: bytes = b""
    step: str = ""
    why: str = ""
    leaves_machine: bool = True
    host: str = ""
    """The host, if the address does not contain it."""
    model: str = ""
    """Which model is asked."""

    def fingerprint(self) -> str:
        """Equal for all requests that ask the same thing. A replay finds the answer to a request by its fingerprint."""
        asked = {
            "to": self.to,
            "method": self.method.upper(),
            "url": without_secrets_in_url(self.url),
            "body": sha256(self.body),
        }
        return sha256(canonical(asked))


@dataclass(frozen=True, slots=True)
class RecordedReply:
    """A reply: data that fit into the trail, and the body. A failure is a reply too, so that it can be replayed."""

    data: dict[str, Any] = field(default_factory=dict)
    body: bytes = b""


class Recorder:
    """Makes requests and records them. There is one per run. `max_requests` limits the web requests whose keys begin with `scope`;
    resends count too."""

    def __init__(self, vault: EvidenceVault, max_requests: int | None = None, scope: str = "") -> None:
        self._vault = vault
        self._scope = scope
        self._max_requests = max_requests
        self._one_at_a_time = asyncio.Lock()
        self._read_to = 0
        self._web_requests = 0
        self._times_sent: Counter[str] = Counter()

    async def once(self, outgoing: Outgoing, send: Callable[[], Awaitable[RecordedReply]]) -> RecordedReply:
        """The stored answer, or the one that `send` returns. Raises `RequestCeilingError`, before anything is sent, if the ceiling is
        reached.

        Exceptions of `send` pass through, and the next attempt is a resend. Return failures that a replay should repeat as a
        `RecordedReply`.
        """
        stored = await self._vault.find(f"{outgoing.key}:answer")
        if stored is not None:
            return await self._stored(outgoing, stored)
        if outgoing.leaves_machine:
            await self._intend(outgoing)
        return await self._store(outgoing, await send())

    async def _intend(self, outgoing: Outgoing) -> None:
        async with self._one_at_a_time:  # counting and writing belong together
            await self._catch_up()
            if outgoing.to == "web" and self._max_requests is not None and self._web_requests >= self._max_requests:
                raise RequestCeilingError(self._max_requests)
            resend = self._times_sent[outgoing.key]
            key = f"{outgoing.key}:resend:{resend}" if resend else outgoing.key
            body = await self._vault.put(outgoing.body)
            await self._vault.append(NewEntry("request", key, _intent(outgoing, body, resend)))

    async def _catch_up(self) -> None:
        """Count the trail's new entries, whether this recorder wrote them or another. Each entry is read once, however many requests
        there are."""
        for entry in await self._vault.entries(self._read_to):
            self._read_to = entry.seq
            if entry.kind == "request":
                self._web_requests += is_web_request(entry) and entry.key.startswith(self._scope)
                self._times_sent[entry.data.get("request", entry.key)] += 1

    async def _store(self, outgoing: Outgoing, answer: RecordedReply) -> RecordedReply:
        # A model may repeat a key that it was given. A page stays as received: it is the evidence.
        kept = _hide_in_words(answer.body) if outgoing.to == "model" else answer.body
        body = await self._vault.put(kept)
        data: dict[str, Any] = {
            "request": outgoing.key,
            "fingerprint": outgoing.fingerprint(),
            "answer": without_secret_headers(answer.data),
            "body_sha256": body,
            "bytes": len(kept),
        }
        kind: Literal["response", "model_call"] = "model_call" if outgoing.to == "model" else "response"
        if kind == "model_call":
            # Otherwise, removing a request from a trail would make its model look local.
            data["left"] = outgoing.leaves_machine
            data["asked_sha256"] = await self._vault.put(outgoing.body)
        key = f"{outgoing.key}:answer"
        try:
            entry = await self._vault.append(NewEntry(kind, key, data))
        except EntryConflictError:
            # The same request was made twice at once. The answer that was stored first counts for both.
            entry = await self._vault.find(key) or _gone(key)
        return await self._stored(outgoing, entry)

    async def _stored(self, outgoing: Outgoing, entry: Entry) -> RecordedReply:
        if entry.data.get("fingerprint") != outgoing.fingerprint():
            raise EvidenceError(f"The key '{outgoing.key}' was used for another request. Give each request its own key.")
        return RecordedReply(entry.data["answer"], await self._vault.get(entry.data["body_sha256"]))


def count_requests(entries: Iterable[Entry]) -> int:
    """How many web requests were about to be sent, including resends and refused requests. Ceilings apply to this number."""
    return sum(map(is_web_request, entries))


def is_web_request(entry: Entry) -> bool:
    return entry.kind == "request" and entry.data.get("to") == "web"


def _hide_in_words(body: bytes) -> bytes:
    try:
        return hide_secrets(body.decode()).encode()
    except UnicodeDecodeError:
        return body


def _gone(key: str) -> Never:
    raise EvidenceDamagedError(f"The trail refused the entry '{key}' as known and does not have it. Restore it from a copy.")


def recording_lines(entries: Iterable[Entry]) -> bytes:
    """The member `recording.jsonl` of a bundle: every answer, by its request."""
    lines = [
        canonical({"key": entry.key, "kind": entry.kind, **{name: entry.data.get(name) for name in _RECORDED}})
        for entry in entries
        if is_answer(entry)
    ]
    return b"".join(line + b"\n" for line in lines)


def is_answer(entry: Entry) -> bool:
    """Whether an entry contains an answer; calls by agents of deep research do not."""
    return entry.kind in ("response", "model_call") and "fingerprint" in entry.data


_RECORDED = ("fingerprint", "answer", "body_sha256")


def _intent(outgoing: Outgoing, body_sha256: str, resend: int) -> dict[str, Any]:
    url = without_secrets_in_url(outgoing.url)
    return {
        "to": outgoing.to,
        "method": outgoing.method.upper(),
        "url": url,
        "host": outgoing.host or urlsplit(url).hostname or "",
        "body_sha256": body_sha256,
        "bytes": len(url.encode()) + len(outgoing.body),
        "step": outgoing.step,
        "why": outgoing.why,
        "resend": resend,
        "request": outgoing.key,
        "model": outgoing.model,
    }
