"""What has changed between two reports on the same question: sentences that are new, gone or rewritten, and pages that have
changed."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from stepwell.research.audit.evidence import HELD, KEPT, Claim, Source
from stepwell.research.audit.export.dossier import Dossier, clean
from stepwell.research.audit.levels import LEVELS
from stepwell.research.audit.writing.references import address

_ALIKE = 0.6
"""The share of letters that two sentences must have in common to count as versions of the same sentence."""


@dataclass(frozen=True)
class Rewritten:
    before: Claim
    after: Claim


@dataclass(frozen=True)
class Changes:
    """The differences, in the order of the newer report; what is gone is in the order of the older one."""

    came: tuple[Claim, ...] = ()
    gone: tuple[Claim, ...] = ()
    rewritten: tuple[Rewritten, ...] = ()
    pages_changed: tuple[Source, ...] = ()
    """Sources of the newer research that the older one has read too, with a text that has changed since."""
    pages_new: tuple[Source, ...] = ()
    pages_gone: tuple[Source, ...] = ()

    def __bool__(self) -> bool:
        return any((self.came, self.gone, self.rewritten, self.pages_changed, self.pages_new, self.pages_gone))


def compare(before: Dossier, after: Dossier) -> Changes:
    """What has changed between two dossiers. Pure."""
    old, new = _shown(before), _shown(after)
    known = {(claim.text, claim.verdict) for claim in old}
    left = [claim for claim in old if (claim.text, claim.verdict) not in {(each.text, each.verdict) for each in new}]
    came, rewritten = [], []
    for claim in new:
        if (claim.text, claim.verdict) in known:
            continue
        like = _most_alike(claim, left)
        if like is None:
            came.append(claim)
        else:
            left.remove(like)
            rewritten.append(Rewritten(like, claim))
    then, now = _by_address(before), _by_address(after)
    changed = [now[each] for each in now if each in then and now[each].text_sha256 != then[each].text_sha256]
    return Changes(
        tuple(came),
        tuple(left),
        tuple(rewritten),
        tuple(changed),
        tuple(now[each] for each in now if each not in then),
        tuple(then[each] for each in then if each not in now),
    )


def describe(changes: Changes) -> str:
    """The changes as Markdown for a reader; if there are none, it says so."""
    if not changes:
        return "Nothing has changed: the same sentences from the same pages.\n"
    parts = [
        _section("New", [_sentence(claim) for claim in changes.came]),
        _section("Says something else", [_rewritten(each) for each in changes.rewritten]),
        _section("No longer said", [_sentence(claim) for claim in changes.gone]),
        _section("Pages that changed", [_page(source) for source in changes.pages_changed]),
        _section("Pages read for the first time", [_page(source) for source in changes.pages_new]),
        _section("Pages not read this time", [_page(source) for source in changes.pages_gone]),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _shown(dossier: Dossier) -> list[Claim]:
    return [claim for claim in dossier.claims if claim.verdict in KEPT]


def _most_alike(claim: Claim, others: Sequence[Claim]) -> Claim | None:
    def share(other: Claim) -> float:
        matcher = difflib.SequenceMatcher(None, other.text, claim.text, autojunk=False)
        # We compute the two upper bounds first: they are cheap, and rule out most pairs of sentences.
        if matcher.real_quick_ratio() < _ALIKE or matcher.quick_ratio() < _ALIKE:
            return 0.0
        return matcher.ratio()

    best = max(others, key=share, default=None)
    return best if best is not None and share(best) >= _ALIKE else None


def _by_address(dossier: Dossier) -> dict[str, Source]:
    return {address(source) or source.title: source for source in dossier.sources}


def _section(title: str, lines: Sequence[str]) -> str:
    return "\n".join([f"## {title}", "", *(f"- {line}" for line in lines)]) if lines else ""


def _sentence(claim: Claim) -> str:
    return clean(claim.text) + ("" if claim.verdict in HELD else f" ({LEVELS[claim.verdict]})")


def _rewritten(each: Rewritten) -> str:
    return f"{_sentence(each.after)}\n  before: {_sentence(each.before)}"


def _page(source: Source) -> str:
    return f"{' '.join(clean(source.title).split())} ({address(source) or 'from your device'})"
