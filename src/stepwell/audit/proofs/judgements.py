"""Every verdict again: the checks are pure, and what a judge said is in the trail.

| a claim that passed | is refused if it is called |
|---|---|
| today's checks, and its judge's opinion is known | anything but the lower of what the two say |
| today's checks, and there should be an opinion but is none | better than `partial`: that is what doubt gives |
| today's checks, and nobody can know the opinion | better than the checks allow |
| older checks, or ones without a number | nothing; but what today's would mark is listed |

An opinion is known where no model wrote (shared words decide, which is pure too) and where the judge was asked over the network: then what
it was asked is stored. What a model on the same machine was asked is not.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from stepwell.audit.checks import CHECKS_VERSION, check
from stepwell.audit.evidence import VERDICTS, Claim, Quote, Verdict
from stepwell.audit.judge import LexicalJudge
from stepwell.audit.ledger import Evidence
from stepwell.audit.proofs.opened import OpenedBundle, Trail
from stepwell.audit.trail import Defect
from stepwell.audit.verdicts import RANK, lower_of
from stepwell.validation import extract_json

LONGEST_CLAIM = 10_000
"""Characters of a claim and its quotes, which no report of ours comes near."""
MOST_COMPARED = 500_000_000
"""Characters of claims times those of their quotes, since each fact of the one is looked up among those of the other: a file from a
stranger must not keep us busy for long. It is enough for some thousand claims."""
_MOST_ASKED = 200_000
_MOST_LINES = 20
_QUOTES = "The quotes:"


@dataclass
class Judged:
    """What was found: problems, and what only today's checks would mark."""

    problems: list[Defect] = field(default_factory=list)
    marked_today: list[Defect] = field(default_factory=list)


def judge_again(opened: OpenedBundle, trail: Trail, evidence: Evidence) -> Judged:
    """Every claim of the trail against its quotes, whichever branch it belongs to."""
    judged = Judged()
    opinions, reports = read_opinions(opened, trail), _list_reports(trail)
    known: dict[str, Quote] = {}
    left = MOST_COMPARED
    for entry in trail.of_kind("quote", "claim"):
        if entry.kind == "quote":
            name = str(entry.data["quote_id"])
            known[name] = evidence.quotes[name]
            continue
        claim = evidence.claims[str(entry.data["claim_id"])]
        report = reports.get(claim.claim_id, _Report())
        quotes = report.select(claim, known)
        left -= len(claim.text) * sum(len(quote.text) for quote in quotes.values())
        if left < 0:
            judged.problems.append(Defect("claims.json", f"from claim {claim.claim_id} on there is more text than is checked"))
            break
        _judge(claim, quotes, opinions, report.mode, judged)
    return judged


def _judge(claim: Claim, quotes: Mapping[str, Quote], opinions: Opinions, mode: str, judged: Judged) -> None:
    version = claim.checks or 0
    if version > CHECKS_VERSION:
        unknown = f"claim {claim.claim_id} passed checks {version}, and this version knows those up to {CHECKS_VERSION}: use a newer one"
        judged.problems.append(Defect("claims.json", unknown))
        return
    cited = [quotes[each] for each in dict.fromkeys(claim.evidence) if each in quotes]
    if len(claim.text) + sum(len(quote.text) for quote in cited) > LONGEST_CLAIM:
        judged.problems.append(
            Defect("claims.json", f"claim {claim.claim_id} and its quotes are longer than any that we write")
        )
        return
    checked = check(claim.text, claim.evidence, quotes)
    if version < CHECKS_VERSION:
        if RANK[claim.verdict] > RANK[checked.ceiling]:
            judged.marked_today.append(_describe(claim, "today's checks allow", {checked.ceiling}, checked.reasons))
        return
    allowed, who = _allow(claim, cited, checked.ceiling, opinions, mode)
    if claim.verdict not in allowed:
        judged.problems.append(_describe(claim, who, allowed, checked.reasons))


def _allow(claim: Claim, cited: list[Quote], ceiling: Verdict, opinions: Opinions, mode: str) -> tuple[set[Verdict], str]:
    """The verdicts that a claim may have, and in words who says so."""
    if ceiling not in ("supported", "partial"):
        return {ceiling}, "the checks give"
    if mode == "extractive":
        return {lower_of(ceiling, LexicalJudge().compare(claim.text, cited).verdict)}, "the checks and its words give"
    if said := opinions.about(claim):
        return {lower_of(ceiling, opinion) for opinion in said}, "the checks and its judge give"
    most: Verdict = "partial" if mode and not opinions.unheard else ceiling
    below = {each for each in VERDICTS if RANK[each] <= min(RANK[ceiling], RANK[most])}
    return below, "without an opinion of its judge it is at most" if most != ceiling else "the checks allow"


def _describe(claim: Claim, who: str, allowed: set[Verdict], reasons: tuple[str, ...]) -> Defect:
    best = max(allowed, key=RANK.__getitem__)
    why = f" ({'; '.join(reasons)[:300]})" if reasons else ""
    return Defect("claims.json", f"claim {claim.claim_id} is called {claim.verdict}; {who} {best}{why}")


@dataclass(frozen=True)
class _Report:
    """The quotes that a claim's report lists, and how its question was answered."""

    quotes: frozenset[str] | None = None
    mode: str = ""

    def select(self, claim: Claim, known: Mapping[str, Quote]) -> dict[str, Quote]:
        """What the claim cites of them. A quote that the trail holds of another question was unknown to this one."""
        return {each: known[each] for each in claim.evidence if each in known and (self.quotes is None or each in self.quotes)}


def _list_reports(trail: Trail) -> dict[str, _Report]:
    """Claim -> the report that lists it."""
    found: dict[str, _Report] = {}
    for report in trail.of_kind("report"):
        claims, quotes = report.data.get("claims"), report.data.get("quotes")
        if isinstance(claims, list):
            names = frozenset(str(each) for each in quotes) if isinstance(quotes, list) else None
            listing = _Report(names, trail.modes[report.seq])
            found.update({str(each): listing for each in claims})
    return found


class Opinions:
    """What judges said over the network, by the sentence they were asked about."""

    def __init__(self) -> None:
        self._said: dict[str, list[tuple[frozenset[str], Verdict]]] = defaultdict(list)
        self.unheard = False
        """Whether a judge on the same machine answered too: about what, nobody knows."""

    def add(self, sentence: str, cited: frozenset[str], verdict: Verdict) -> None:
        self._said[sentence].append((cited, verdict))

    def about(self, claim: Claim) -> set[Verdict]:
        wanted = frozenset(claim.evidence)
        return {verdict for cited, verdict in self._said.get(claim.text, ()) if cited <= wanted}


def read_opinions(opened: OpenedBundle, trail: Trail) -> Opinions:
    """Everything that judges were asked and answered."""
    found = Opinions()
    asked = {entry.key: entry for entry in trail.of_kind("request") if entry.data.get("why") == "judge"}
    by_request = {str(entry.data.get("request", entry.key)): entry for entry in asked.values()}
    for answer in trail.of_kind("model_call"):
        name = str(answer.data.get("request"))
        if ":judge:" not in name:
            continue
        if name not in by_request:
            found.unheard = True
            continue
        verdict = _read_verdict(opened.body(answer.data.get("body_sha256")))
        for sentence, cited in _read_asked(opened.body(by_request[name].data.get("body_sha256"))):
            if verdict is not None:
                found.add(sentence, cited, verdict)
    return found


def _read_verdict(body: bytes | None) -> Verdict | None:
    try:
        said = extract_json((body or b"")[:_MOST_ASKED].decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    verdict = said.get("verdict") if isinstance(said, dict) else None
    return next((each for each in VERDICTS if each == verdict), None)


def _read_asked(body: bytes | None) -> Iterator[tuple[str, frozenset[str]]]:
    """The lines of what stands before the quotes, of which one is the sentence; and the ids of the quotes."""
    try:
        messages = json.loads((body or b"")[:_MOST_ASKED])
        text = messages[-1]["content"] if len(messages) == 2 else messages[1]["content"]  # a later try repeats the first two
    except (ValueError, RecursionError, LookupError, TypeError):
        return
    if not isinstance(text, str):
        return
    before, _, quotes = text.partition(f"\n{_QUOTES}\n")
    cited = frozenset(line.partition(":")[0] for line in quotes.split("\n") if ":" in line and line.partition(":")[0].isalnum())
    for line in before.split("\n")[:_MOST_LINES]:
        yield line, cited
