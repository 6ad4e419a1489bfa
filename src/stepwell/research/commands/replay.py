"""`stepwell replay`: run a whole research again from its bundle, without network or models, and compare the reports."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from stepwell.errors import needs_extra
from stepwell.research.audit.verify import verify_bundle
from stepwell.research.commands.progress import NAMES
from stepwell.settings import prefer_in_environment


def run(bundle: Path) -> int:
    """0 if the report is byte-for-byte the same, 1 if not."""
    checked = verify_bundle(bundle)
    if not checked.ok:
        print(f"{bundle.name} failed verification, so it is not replayed: {checked.problems[0]}", file=sys.stderr)
        return 1
    prefer_in_environment("LANGGRAPH_STRICT_MSGPACK", "true")
    with needs_extra("Replaying a research", "research"):
        from stepwell.research.graph.replaying import replay_bundle
    replayed = asyncio.run(replay_bundle(bundle, show=lambda node: print(f"{NAMES.get(node, node):9} again", file=sys.stderr)))
    if not replayed.equal:
        print("\n".join(replayed.differences), file=sys.stderr)
        print("The report is not the same.", file=sys.stderr)
        return 1
    size = len(replayed.report.encode())
    print(f"The same report, byte by byte ({size} bytes), from {replayed.answers_used} recorded answers; nothing was sent.")
    return 0
