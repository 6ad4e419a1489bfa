"""The egress receipt: everything that left the machine, derived from the trail and from nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from stepwell.audit.canonical import canonical
from stepwell.audit.trail import Entry

_SHOWN = ("to", "method", "url", "host", "bytes", "body_sha256", "step", "why", "resend")


def egress_receipt(entries: Iterable[Entry]) -> dict[str, Any]:
    """Each request with its time, place, size and reason, whether it was a resend, and whether an answer came; and totals."""
    entries = list(entries)
    answered = {entry.data.get("request") for entry in entries if entry.kind in ("response", "model_call")}
    requests = [
        {"seq": entry.seq, "at": entry.at, **{name: entry.data.get(name) for name in _SHOWN}}
        | {"answered": entry.data.get("request", entry.key) in answered}
        for entry in entries
        if entry.kind == "request"
    ]
    hosts = Counter(str(request["host"]) for request in requests)
    totals = {
        "requests": len(requests),
        "resends": sum(bool(request["resend"]) for request in requests),
        "bytes": sum(int(request["bytes"] or 0) for request in requests),
        "hosts": dict(sorted(hosts.items())),
    }
    return {"requests": requests, "totals": totals}


def receipt_bytes(entries: Iterable[Entry]) -> bytes:
    """The member `receipt.json` of a bundle."""
    return canonical(egress_receipt(entries)) + b"\n"
