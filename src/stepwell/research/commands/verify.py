"""`stepwell verify`: checks whether a bundle is valid and who signed it. Needs nothing but the file."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from pathlib import Path

from stepwell.errors import EvidenceError
from stepwell.research.audit.limits import VERIFY_S
from stepwell.research.audit.verification import Verification
from stepwell.research.audit.verify import verify_bundle
from stepwell.terminal.own_command import spell_command

MOST_LINES = 50


def run(
    bundle: Path, *, head: str | None = None, key: str | None = None, strict: bool = False, seconds: float | None = None
) -> int:
    """0 if the bundle is valid; 1, with one line per problem, if not; 2 if the file, the key or another argument is unusable."""
    if seconds is not None and not 0 < seconds < math.inf:
        print("--seconds must be a number above 0.", file=sys.stderr)
        return 2
    if not bundle.exists():
        print(
            f"There is no file '{bundle}'. Name a bundle made by `stepwell research` or `stepwell export`.",
            file=sys.stderr,
        )
        return 2
    try:
        named = None if key is None else name_key(key)
        checked = verify_bundle(bundle, head=head, key=named, strict=strict, limit_s=seconds or VERIFY_S)
    except EvidenceError as error:
        print(error, file=sys.stderr)
        return 2
    if not checked.ok:
        _print_problems(bundle.name, checked)
        return 1
    print(f"{bundle.name} holds: {checked.sources} sources, {checked.quotes} quotes at their places, {checked.claims} claims.")
    for line in _list_notes(checked):
        print(line)
    noted = ", the one you noted" if head else ""
    print(f"Trail {checked.head}{noted}")
    return 0


def name_key(given: str) -> str | Path:
    """What the user gave as key: a printed key unchanged, anything else as the path of a key file."""
    return given if given.startswith("ed25519:") else Path(given)


def _print_problems(name: str, checked: Verification) -> None:
    for problem in checked.problems[:MOST_LINES]:
        print(problem, file=sys.stderr)
    many = len(checked.problems)
    if many > MOST_LINES:
        print(f"... and {many - MOST_LINES} more.", file=sys.stderr)
    print(f"{name} does not hold: {many} problem{'s' if many != 1 else ''}.", file=sys.stderr)


def _list_notes(checked: Verification) -> Iterator[str]:
    """What a reader should know about a valid bundle."""
    if checked.vouched:
        yield f"Vouched for by {checked.signed_by}, the key you named."
    elif checked.signed_by:
        yield (
            f"Signed by {checked.signed_by}. Anybody can create a key: if you know the author's key, check it with "
            f"`{spell_command('verify --key KEY')}`."
        )
    if checked.judge:
        yield checked.judge
    yield from checked.notes
    yield from checked.lacks
    if marked := checked.marked_today:
        yield f"The current checks would flag {len(marked)} of its claims:"
        yield from (f"  {problem.fact}" for problem in marked[:MOST_LINES])
    if many := checked.elsewhere:
        said = "1 entry" if many == 1 else f"{many} entries"
        yield f"The trail also holds {said} from other branches of the thread; this report does not use them."
