"""The part of a verdict that needs no judgement: do the cited quotes exist, and do they contain the sentence's facts?

```
nothing cited that exists                          unsupported
a fact is there with another value, or reversed    contradicted
facts or words are missing, some are there         partial
facts are missing, at most names are there         unsupported, unless a fifth of its other words is there too
nothing is missing, words in another language      partial, whatever a judge says
every fact and every content word is there         supported, if a judge agrees
its words stand in one sentence, in that order     verbatim, if a judge agrees
it is a sentence of a quote, word for word         verbatim, unless a judge disagrees
```

The result is a ceiling: later steps may lower it, but never raise it. Where the checks are in doubt, it is lower.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace

from stepwell.research.audit.evidence import Quote, Verdict
from stepwell.research.audit.facts.left_out.finding import find_dropped
from stepwell.research.audit.facts.matching.additions import match_additions, share_said
from stepwell.research.audit.facts.matching.agents import find_other_agents
from stepwell.research.audit.facts.matching.dates import match_dates
from stepwell.research.audit.facts.matching.figures import match_figures
from stepwell.research.audit.facts.matching.nearness import settle
from stepwell.research.audit.facts.matching.opposites import find_opposites
from stepwell.research.audit.facts.matching.quoted_words import has_the_same_words, is_nearly_quoted, is_quoted
from stepwell.research.audit.facts.matching.ranks import find_other_ranks
from stepwell.research.audit.facts.matching.references import find_joined
from stepwell.research.audit.facts.matching.words import match_names, match_wording
from stepwell.research.audit.facts.reading.names import plain_words
from stepwell.research.audit.facts.reading.statement import Finding, Statement, read
from stepwell.research.audit.sentences import passages
from stepwell.words import decimal_mark

CHECKS_VERSION = 5
"""The version of these rules; a bundle names the one it was checked with. Increase it whenever a claim may get another verdict."""
LONGEST_CLAIM = 1_500
"""The longest sentence that we check, in characters. A longer one would occupy a core for seconds, and nobody reads it as one statement."""
_SOME = 0.2
"""If the quotes contain less than this share of a claim's words, and no fact, they do not support it."""


@dataclass(frozen=True, slots=True)
class Check:
    """The highest verdict that the facts allow, and why it is not higher. `is_quoted`: the claim is a sentence of a quote, word for word
    but for its marks."""

    ceiling: Verdict
    reasons: tuple[str, ...] = ()
    is_quoted: bool = False

    @property
    def stands_alone(self) -> bool:
        """Whether the verdict holds without a judge."""
        return self.is_quoted and self.ceiling == "verbatim"


def check(text: str, evidence: Sequence[str], quotes: Mapping[str, Quote]) -> Check:
    """Check a sentence against the quotes it names. `quotes` has all quotes, by id."""
    if not evidence:
        return Check("unsupported", ("it cites no evidence",))
    unknown = [f"there is no evidence '{each}'" for each in dict.fromkeys(evidence) if each not in quotes]
    cited = [quotes[each] for each in dict.fromkeys(evidence) if each in quotes]
    if not cited:
        return Check("unsupported", tuple(unknown))
    if not unknown and is_quoted(text, cited):
        return Check("verbatim", is_quoted=True)
    if len(text) > LONGEST_CLAIM:
        return Check("unsupported", (f"the claim has {len(text):,} characters, at most {LONGEST_CLAIM:,} can be checked",))
    checked = replace(_conclude(*_look_up(text, cited), unknown), is_quoted=has_the_same_words(text, cited))
    is_near = checked.is_quoted or is_nearly_quoted(text, cited)
    return replace(checked, ceiling="verbatim") if is_near and checked.ceiling == "supported" else checked


def _look_up(text: str, cited: Sequence[Quote]) -> tuple[list[Finding], float]:
    """A finding per fact, and the share of the other words that the quotes contain."""
    mark = decimal_mark("\n".join(quote.text for quote in cited))
    plain = plain_words(text, *(quote.text for quote in cited))
    statements = [statement for quote in cited for statement in _sentences(quote, plain)]
    claim = read(text, mark, plain)
    if not statements:
        return [Finding("missing", "its quotes are empty")], 0.0
    findings = [*match_figures(claim, statements), *match_dates(claim, statements), *match_names(claim, statements)]
    findings += [*match_wording(claim, statements), *find_opposites(claim, statements), *find_other_agents(claim, statements)]
    findings += [
        *find_other_ranks(claim, statements),
        *find_joined(claim, statements),
        *match_additions(claim, statements, len(cited)),
        *find_dropped(claim, statements),
    ]
    if not any(finding.outcome == "found" for finding in findings) and not _shares_a_word(claim, statements):
        findings.append(Finding("missing", "it shares no word with its source"))
    return [settle(finding, claim, statements) for finding in findings], share_said(claim, statements)


def _sentences(quote: Quote, plain: Container[str]) -> list[Statement]:
    mark = decimal_mark(quote.text)
    return [read(passage.text, mark, plain) for passage in passages(quote.text)]


def _conclude(findings: Sequence[Finding], said: float, unknown: Sequence[str]) -> Check:
    reasons = tuple(dict.fromkeys([*unknown, *(finding.reason for finding in findings if finding.outcome != "found")]))
    if any(finding.outcome == "contradicted" for finding in findings):
        return Check("contradicted", reasons)
    if any(finding.outcome == "missing" for finding in findings):
        told = any(finding.outcome == "found" and not finding.tells_whom for finding in findings)
        return Check("partial" if told or said >= _SOME else "unsupported", reasons)
    unsettled = any(finding.outcome == "unsettled" for finding in findings)
    return Check("partial" if unknown or unsettled else "supported", reasons)


def _shares_a_word(claim: Statement, statements: Sequence[Statement]) -> bool:
    return not claim.stems or any(claim.stems & statement.stems for statement in statements)
