"""`stepwell verify`: whether a bundle holds. Needs nothing but the file."""

from __future__ import annotations

import sys
from pathlib import Path

from stepwell.audit.verify import verify_bundle


def run(bundle: Path) -> int:
    """0 if everything holds, 1 with one line for each problem if not, 2 where there is nothing to check."""
    if not bundle.exists():
        print(
            f"There is no file '{bundle}'. Name a bundle that `stepwell research` or `stepwell export` has made.",
            file=sys.stderr,
        )
        return 2
    checked = verify_bundle(bundle)
    if not checked.ok:
        for problem in checked.problems:
            print(problem, file=sys.stderr)
        many = len(checked.problems)
        print(f"{bundle.name} does not hold: {many} problem{'s' if many != 1 else ''}.", file=sys.stderr)
        return 1
    print(f"{bundle.name} holds: {checked.sources} sources, {checked.quotes} quotes at their places, {checked.claims} claims.")
    if many := checked.elsewhere:
        said = "1 entry" if many == 1 else f"{many} entries"
        print(f"The trail also holds {said} of other branches of the thread; this report does not rest on them.")
    print(f"Trail {checked.head}")
    return 0
