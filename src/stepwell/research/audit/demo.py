"""Whether a trail is that of a demo, whose requests are answered inside the server.

A demo is known by what no real research can have: pages at names that no network has, and a script as the only model.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from stepwell.research.audit.trail import Entry

SCRIPT: Final = "script"
"""The name of a demo's model, which plays a script on this machine."""
_UNREACHABLE: Final = ".example"
"""Names that are reserved for examples (RFC 2606)."""


def is_demo(entries: Iterable[Entry]) -> bool:
    """Whether every request went to a name that no network has, and only a script wrote and judged."""
    entries = list(entries)
    requests = [entry for entry in entries if entry.kind == "request"]
    models = {str(entry.data["answer"].get("model")) for entry in entries if entry.kind == "model_call"}
    modes = {entry.data.get("mode") for entry in entries if entry.kind == "question"}
    is_apart = all(str(request.data.get("host")).endswith(_UNREACHABLE) for request in requests)
    return bool(requests) and is_apart and models <= {f"local:{SCRIPT}"} and modes == {"written"}
