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

import sys
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace

from stepwell.research.audit.evidence import Quote, Verdict
from stepwell.research.audit.facts.additions import match_additions, share_said
from stepwell.research.audit.facts.agents import find_other_agents
from stepwell.research.audit.facts.date_match import match_dates
from stepwell.research.audit.facts.dropped import find_dropped
from stepwell.research.audit.facts.figure_match import match_figures
from stepwell.research.audit.facts.names import plain_words
from stepwell.research.audit.facts.opposites import find_opposites
from stepwell.research.audit.facts.ranks import find_other_ranks
from stepwell.research.audit.facts.references import find_joined
from stepwell.research.audit.facts.statement import Finding, Statement, read
from stepwell.research.audit.facts.subjects import refers
from stepwell.research.audit.facts.word_match import match_names, match_wording
from stepwell.research.audit.facts.words import content_stems, decimal_mark, fold, is_function, stem, words
from stepwell.research.audit.sentences import passages

CHECKS_VERSION = 5
"""The version of these rules; a bundle names the one it was checked with. Increase it whenever a claim may get another verdict."""
LONGEST_CLAIM = 1_500
"""The longest sentence that we check, in characters. A longer one would occupy a core for seconds, and nobody reads it as one statement."""
_SOME = 0.2
"""If the quotes contain less than this share of a claim's words, and no fact, they do not support it."""


@dataclass(frozen=True, slots=True)
class Check:
    """The highest verdict that the facts allow, and why it is not higher. `facts_found` counts the claim's facts that are in the quotes.
    `is_quoted`: the claim is a sentence of a quote, word for word but for its marks."""

    ceiling: Verdict
    reasons: tuple[str, ...] = ()
    facts_found: int = 0
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
    if not unknown and _is_quoted(text, cited):
        return Check("verbatim", (), 1, is_quoted=True)
    if len(text) > LONGEST_CLAIM:
        return Check("unsupported", (f"the claim has {len(text):,} characters, at most {LONGEST_CLAIM:,} can be checked",))
    checked = replace(_conclude(*_look_up(text, cited), unknown), is_quoted=_has_the_same_words(text, cited))
    is_near = checked.is_quoted or _is_nearly_quoted(text, cited)
    return replace(checked, ceiling="verbatim") if is_near and checked.ceiling == "supported" else checked


def _is_quoted(text: str, cited: Sequence[Quote]) -> bool:
    """Whether the sentence is a whole sentence of a quote, word for word. A part of a sentence could leave out the "not"."""
    said = " ".join(text.split())
    return any(" ".join(passage.text.split()) == said for quote in cited for passage in passages(quote.text))


def _has_the_same_words(text: str, cited: Sequence[Quote]) -> bool:
    """Whether the sentence has the words of a whole sentence of a quote, all of them in their order."""
    said = [fold(word.text) for word in words(text)]
    return any([fold(word.text) for word in words(each.text)] == said for quote in cited for each in passages(quote.text))


_FEWEST_WORDS, _MOST_SKIPPED = 3, 2


def _is_nearly_quoted(text: str, cited: Sequence[Quote]) -> bool:
    """Whether the content words of the sentence stand in one sentence of a quote, in their order, with hardly any other between them."""
    said = [stem(word.text) for word in words(text) if not is_function(word.text)]
    if len(said) < _FEWEST_WORDS:
        return False
    sentences = (each.text for quote in cited for each in passages(quote.text))
    return any(_follows(said, [stem(word.text) for word in words(each) if not is_function(word.text)]) for each in sentences)


def _follows(said: Sequence[str], spoken: Sequence[str]) -> bool:
    for begin in (place for place, word in enumerate(spoken) if word == said[0]):
        here, skipped = begin + 1, 0
        for word in said[1:]:
            gap = next(
                (gap for gap, other in enumerate(spoken[here : here + _MOST_SKIPPED + 1 - skipped]) if other == word), None
            )
            if gap is None:
                break
            here, skipped = here + gap + 1, skipped + gap
        else:
            return True
    return False


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
    settled = [_settle(finding, claim, statements) for finding in findings]
    return settled, share_said(claim, statements)


_CLOSE = ((4, 0.6), (10, 0.85), (sys.maxsize, 1.0))
"""The share of a claim's other words that a sentence must have to be about the same thing, by the number of sentences quoted: of many
sentences, some are close by chance. What a sentence further away says otherwise leaves the claim open."""


def _settle(finding: Finding, claim: Statement, statements: Sequence[Statement]) -> Finding:
    """A contradiction stays one only if it is in a sentence about the same thing."""
    if finding.outcome != "contradicted":
        return finding
    if finding.at is None:
        return finding if len(statements) <= _LONG else replace(finding, outcome="missing")
    rest = claim.stems - set(content_stems(finding.reason))
    if refers(finding.at):
        rest -= {each for name in claim.names for each in content_stems(claim.text[name.start : name.end])}
    if len(rest) < _FEW or not rest:
        return finding
    near, nearest = len(rest & finding.at.stems), max(len(rest & each.stems) for each in statements)
    close = next(share for most, share in _CLOSE if len(statements) <= most)
    if near >= close * len(rest) and near >= nearest - _AS_CLOSE * len(rest):
        return finding
    return replace(finding, outcome="missing")


_FEW = 3
"""Of fewer words, one sentence says as much as another."""
_LONG = 10
"""In more sentences than this, only a sentence with all other words of the claim can contradict it."""
_AS_CLOSE = 0.15


def _sentences(quote: Quote, plain: Container[str]) -> list[Statement]:
    mark = decimal_mark(quote.text)
    return [read(passage.text, mark, plain) for passage in passages(quote.text)]


def _conclude(findings: Sequence[Finding], said: float, unknown: Sequence[str]) -> Check:
    found = sum(finding.outcome == "found" for finding in findings)
    reasons = tuple(dict.fromkeys([*unknown, *(finding.reason for finding in findings if finding.outcome != "found")]))
    if any(finding.outcome == "contradicted" for finding in findings):
        return Check("contradicted", reasons, found)
    if any(finding.outcome == "missing" for finding in findings):
        told = any(finding.outcome == "found" and not finding.tells_whom for finding in findings)
        return Check("partial" if told or said >= _SOME else "unsupported", reasons, found)
    unsettled = any(finding.outcome == "unsettled" for finding in findings)
    return Check("partial" if unknown or unsettled else "supported", reasons, found)


def _shares_a_word(claim: Statement, statements: Sequence[Statement]) -> bool:
    return not claim.stems or any(claim.stems & statement.stems for statement in statements)
