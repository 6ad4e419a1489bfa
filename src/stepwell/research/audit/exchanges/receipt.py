"""The egress receipt: what was sent, and separately what was refused and why. Derived from the trail alone.

```
entry `request`                                      sent, unless the entry that answers it says that it was refused
entry `response` whose error is `refused`            not sent: this concerns the newest request under its key
entry `refusal` (`refusals.py`)                      a rule stopped it before it became a request
```

In doubt, a request counts as sent: one without an answer, or one that failed on its way, is listed as sent. For a refused request, a host
name may have been looked up; nothing else of the request was sent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from stepwell.research.audit.canonical import canonical
from stepwell.research.audit.trail import Entry

_SHOWN = ("to", "method", "url", "host", "bytes", "body_sha256", "step", "why", "resend", "model")
_REFUSED = ("url", "host", "step", "rule", "reason")


def egress_receipt(entries: Iterable[Entry]) -> dict[str, Any]:
    """Each request that was sent, with its time, place, size and reason, whether it was a resend, and whether it was answered; each
    refused one, with the rule; and totals."""
    entries = list(entries)
    refused = _refused_requests(entries)
    answered = {
        entry.data.get("request") for entry in entries if entry.kind in ("response", "model_call") and not _error(entry)
    }
    left = [_request(entry, answered) for entry in entries if entry.kind == "request" and entry.seq not in refused]
    stopped = [_describe_stopped(entry, refused.get(entry.seq, entry.data)) for entry in _stops(entries, refused)]
    return {"requests": left, "refused": stopped, "totals": {**_totals(left), "refused": len(stopped)}}


def receipt_bytes(entries: Iterable[Entry]) -> bytes:
    """The member `receipt.json` of a bundle."""
    return canonical(egress_receipt(entries)) + b"\n"


def _request(entry: Entry, answered: set[Any]) -> dict[str, Any]:
    told = {"seq": entry.seq, "at": entry.at, **{name: entry.data.get(name) for name in _SHOWN}}
    return told | {"answered": entry.data.get("request", entry.key) in answered}


def _totals(requests: list[dict[str, Any]]) -> dict[str, Any]:
    hosts = Counter(str(request["host"]) for request in requests)
    return {
        "requests": len(requests),
        "resends": sum(bool(request["resend"]) for request in requests),
        "bytes": sum(int(request["bytes"] or 0) for request in requests),
        "hosts": dict(sorted(hosts.items())),
    }


def _refused_requests(entries: list[Entry]) -> dict[int, dict[str, Any]]:
    """Maps the place in the trail of each request that was recorded but then not sent to the rule and reason. If several requests share a
    key, a refusal concerns the newest; the outcome of earlier ones is unknown."""
    newest: dict[Any, int] = {}
    found: dict[int, dict[str, Any]] = {}
    for entry in entries:
        if entry.kind == "request":
            newest[entry.data.get("request", entry.key)] = entry.seq
        elif entry.kind == "response" and _error(entry).get("refused") and entry.data.get("request") in newest:
            error = _error(entry)
            found[newest[entry.data["request"]]] = {"rule": error.get("reason"), "reason": error.get("message")}
    return found


def _stops(entries: list[Entry], refused: Mapping[int, Any]) -> list[Entry]:
    """The entries that record a refusal. Leaves out a step's own note about a request that is already listed as refused."""
    requests = [entry for entry in entries if entry.seq in refused]
    told = {(entry.data.get("step"), entry.data.get("url")) for entry in requests}
    notes = [entry for entry in entries if entry.kind == "refusal"]
    return sorted(
        [*requests, *(entry for entry in notes if (entry.data.get("step"), entry.data.get("url")) not in told)],
        key=lambda entry: entry.seq,
    )


def _describe_stopped(entry: Entry, why: Mapping[str, Any]) -> dict[str, Any]:
    data = {**entry.data, **why}
    return {"seq": entry.seq, "at": entry.at, **{name: data.get(name) for name in _REFUSED}}


def _error(entry: Entry) -> dict[str, Any]:
    answer = entry.data.get("answer")
    error = answer.get("error") if isinstance(answer, Mapping) else None
    return dict(error) if isinstance(error, Mapping) else {}
