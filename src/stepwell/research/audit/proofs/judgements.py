"""Computes every verdict again, which is possible because the checks are pure, and the trail has what a judge was asked and said.

| a claim that went through today's checks | must have exactly this verdict, with these reasons |
|---|---|
| and that the checks rate lower than `partial` | what the checks give |
| of a report that no model wrote | the lower of what the checks and its shared words give |
| of one that a model wrote, with its judge's opinion | the lower of what the checks and the judge say |
| of one that a model wrote, without an opinion | `verbatim` if it stands word for word in a quote, otherwise `partial` |
| in a trail without a question | any verdict up to what the checks allow, because nothing says who judged it |

The checks before 5 called a sentence that stands word for word in a quote `supported`, as any other that holds.

A claim that went through other checks is judged by today's. A different result is a problem, unless the bundle is signed by the expected
key: then we trust that those other checks were run, and list what today's would give.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from stepwell.research.audit.checks import CHECKS_VERSION, Check, check
from stepwell.research.audit.evidence import KEPT, VERDICTS, Claim, Quote, Verdict
from stepwell.research.audit.judge import JUDGED_AS, Judgement, LexicalJudge
from stepwell.research.audit.judged import is_opinion, judge_of, judging_model
from stepwell.research.audit.ledger import Evidence
from stepwell.research.audit.limits import MAX_CLAIM_CHARS, MAX_CLAIMS
from stepwell.research.audit.proofs.opened import OpenedBundle, Trail
from stepwell.research.audit.trail import Defect, scope_of
from stepwell.research.audit.verdicts import RANK, lower_of, without_judge
from stepwell.validation import extract_json

MOST_COMPARED = 500_000_000
"""The limit for the characters of claims times the characters of their quotes, because each fact of a claim is looked up among all facts
of its quotes. It is enough for some thousand claims."""
_MAX_ASKED = 200_000
_MAX_LINES = 20
_QUOTES = "The quotes:"


@dataclass
class Judged:
    """The result: problems, and claims that were checked differently at the time and would get a different verdict today."""

    problems: list[Defect] = field(default_factory=list)
    marked_today: list[Defect] = field(default_factory=list)


def judge_again(opened: OpenedBundle, trail: Trail, evidence: Evidence) -> Judged:
    """Judges every claim of the trail by its quotes, whichever branch it belongs to."""
    judged = Judged()
    if len(evidence.claims) > MAX_CLAIMS:
        judged.problems.append(
            Defect("claims.json", f"has {len(evidence.claims):,} claims; at most {MAX_CLAIMS:,} are checked")
        )
        return judged
    opinions, reports = read_opinions(opened, trail), _list_reports(trail)
    judged.problems += _check_judges(trail)
    known: dict[str, Quote] = {}
    left = MOST_COMPARED
    for entry in trail.of_kind("quote", "claim"):
        opened.patience.go_on()
        if entry.kind == "quote":
            name = entry.data["quote_id"]
            known[name] = evidence.quotes[name]
            continue
        claim = evidence.claims[entry.data["claim_id"]]
        report = reports.get(claim.claim_id, _Report(None, trail.modes[entry.seq]))
        quotes = report.select(claim, known)
        left -= len(claim.text) * sum(len(quote.text) for quote in quotes.values())
        if left < 0:
            judged.problems.append(Defect("claims.json", f"from claim {claim.claim_id} on there is more text than is checked"))
            break
        _judge(claim, quotes, opinions, report.mode, judged)
    return judged


def _check_judges(trail: Trail) -> Iterator[Defect]:
    """Every report names the model whose opinions the trail holds, and none if it holds none."""
    for report in trail.of_kind("report"):
        named, asked = judge_of(report), judging_model(trail.entries[: report.seq - 1], scope_of(report))
        if (named.model if named else None) != asked:
            said = f"names {named.model} as its judge" if named else "names no judge"
            yield Defect("trail.jsonl", f"entry {report.seq} (report) {said}, and the trail has opinions of {asked or 'none'}")


def _judge(claim: Claim, quotes: Mapping[str, Quote], opinions: Opinions, mode: str, judged: Judged) -> None:
    if not 0 < claim.checks <= CHECKS_VERSION:
        unknown = (
            f"claim {claim.claim_id} passed checks {claim.checks}, and this version knows those from 1 to {CHECKS_VERSION}"
        )
        judged.problems.append(Defect("claims.json", unknown))
        return
    cited = [quotes[each] for each in dict.fromkeys(claim.evidence) if each in quotes]
    if len(claim.text) + sum(len(quote.text) for quote in cited) > MAX_CLAIM_CHARS:
        judged.problems.append(
            Defect("claims.json", f"claim {claim.claim_id} and its quotes are longer than any that we write")
        )
        return
    checked = check(claim.text, claim.evidence, quotes)
    allowed, who = _allow(claim, cited, checked, opinions, mode)
    found = judged.problems if claim.checks == CHECKS_VERSION else judged.marked_today
    if claim.verdict not in {verdict for verdict, _ in allowed}:
        found.append(_describe(claim, who, {verdict for verdict, _ in allowed}, checked.reasons))
    elif mode and (claim.verdict, claim.reasons) not in allowed:
        found.append(
            Defect("claims.json", f"claim {claim.claim_id} gives other reasons for its verdict than {who.rpartition(' ')[0]}")
        )


Outcome = tuple[Verdict, tuple[str, ...]]
"""A verdict and the reasons for it."""


def _allow(claim: Claim, cited: list[Quote], checked: Check, opinions: Opinions, mode: str) -> tuple[set[Outcome], str]:
    """The verdicts that a claim may have, with their reasons, and who says so, as the beginning of a sentence."""
    if checked.ceiling not in KEPT:
        return {(checked.ceiling, checked.reasons)}, "the checks give"
    if mode == "extractive":
        return {_join(checked, LexicalJudge().compare(claim.text, cited))}, "the checks and its words give"
    if said := opinions.about(claim):
        return {_join(checked, opinion) for opinion in said}, "the checks and its judge give"
    if not mode:
        below = {each for each in VERDICTS if RANK[each] <= RANK[checked.ceiling]}
        return {(each, ()) for each in below}, "the checks allow"
    return {without_judge(checked)}, "without an opinion of its judge it is"


def _join(checked: Check, opinion: Judgement) -> Outcome:
    why = (opinion.reason,) if opinion.reason and opinion.verdict != "supported" else ()
    return lower_of(checked.ceiling, opinion.verdict), (*checked.reasons, *why)


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
        """The report's quotes that the claim cites. A quote that the trail has from another question was unknown to the claim's report."""
        return {each: known[each] for each in claim.evidence if each in known and (self.quotes is None or each in self.quotes)}


def _list_reports(trail: Trail) -> dict[str, _Report]:
    """Maps the id of each claim to the report that lists it, or for which it was corrected."""
    found: dict[str, _Report] = {}
    writings = {entry.key: entry for entry in trail.of_kind("writing")}
    for report in trail.of_kind("report"):
        listing = _Report(frozenset(report.data["quotes"]), trail.modes[report.seq])
        writing = writings.get(report.data["after"])
        found.update(dict.fromkeys([*report.data["claims"], *(writing.data["before"] if writing else ())], listing))
    return found


class Opinions:
    """What judges said, found by the sentence they judged."""

    def __init__(self) -> None:
        self._said: dict[str, list[tuple[frozenset[str], Judgement]]] = defaultdict(list)

    def add(self, sentence: str, cited: frozenset[str], opinion: Judgement) -> None:
        self._said[sentence].append((cited, opinion))

    def about(self, claim: Claim) -> list[Judgement]:
        wanted = frozenset(claim.evidence)
        return [opinion for cited, opinion in self._said.get(claim.text, ()) if cited <= wanted]


def read_opinions(opened: OpenedBundle, trail: Trail) -> Opinions:
    """Everything that judges were asked and answered, here or over the network."""
    found = Opinions()
    for answer in filter(is_opinion, trail.entries):
        opened.patience.go_on()
        opinion = _read_opinion(opened.body(answer.data["body_sha256"]))
        for sentence, cited in _read_asked(opened.body(answer.data["asked_sha256"])):
            if opinion is not None:
                found.add(sentence, cited, opinion)
    return found


def _read_opinion(body: bytes | None) -> Judgement | None:
    try:
        said = extract_json((body or b"")[:_MAX_ASKED].decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    verdict = said.get("verdict") if isinstance(said, dict) else None
    reason = said.get("reason", "") if isinstance(said, dict) else ""
    known = next((each for each in JUDGED_AS if each == verdict), None)
    return Judgement.by_model(known, reason) if known is not None and isinstance(reason, str) else None


def _read_asked(body: bytes | None) -> Iterator[tuple[str, frozenset[str]]]:
    """Each line before the quotes, one of which is the judged sentence, together with the ids of the quotes."""
    try:
        messages = json.loads((body or b"")[:_MAX_ASKED])
        text = messages[-1]["content"] if len(messages) == 2 else messages[1]["content"]  # a retry repeats the first two
    except (ValueError, RecursionError, LookupError, TypeError):
        return
    if not isinstance(text, str):
        return
    before, _, quotes = text.partition(f"\n{_QUOTES}\n")
    cited = frozenset(line.partition(":")[0] for line in quotes.split("\n") if ":" in line and line.partition(":")[0].isalnum())
    for line in before.split("\n")[:_MAX_LINES]:
        yield line, cited
