"""Research without a model that can write: the report consists of quotes, ranked and grouped, each with its id.

Every sentence of the draft is a source's own and carries the id of its quote, so the draft goes through the same checks as a model's
(`audit.writing`, `audit.verdicts`), and they keep all of it. Everything else is a heading; the first heading says that no model wrote the
report. `QUOTES_NOTE` explains that at more length; `add_note` puts it above the finished report, because inside a draft it would be a
claim without evidence.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Container, Sequence

from stepwell.models.embedding.embedder import Embedder
from stepwell.research.audit.evidence import Quote
from stepwell.research.audit.facts.words import content_stems, fold, is_function, stem, words
from stepwell.research.audit.writing.draft import Draft, read_draft
from stepwell.research.audit.writing.quoted import quote_blocks
from stepwell.research.audit.writing.report import QUOTES_NOTE
from stepwell.research.finding.choosing import dot

TITLE = "# Quotes from the sources: no model wrote this"
BRIEF = 3
MOST_GROUPS = 6
_ALIKE = {True: 0.45, False: 0.3}
"""By whether the embedder is semantic: the least average similarity of quotes that belong together."""
_NAME_WORDS = 3


async def extractive_draft(question: str, quotes: Sequence[Quote], sources: Container[str], embedder: Embedder) -> Draft:
    """A draft from quotes in order of rank; skips quotes whose source is not in `sources` (id -> source).

    Without usable quotes the draft has no blocks: there is nothing to report.
    """
    usable = [quote for quote in quotes if quote.source_id in sources]
    if not usable:
        return Draft(())
    vectors = await embedder.aembed([quote.text for quote in usable])
    groups = _groups(vectors, _ALIKE[embedder.is_semantic])
    brief = _brief(groups)
    parts = [read_draft(TITLE), read_draft("## In brief"), *map(_item, (usable[at] for at in brief))]
    remaining = [(name, [at for at in group if at not in brief]) for name, group in _name_groups(question, usable, groups)]
    for name, group in remaining:
        if group:
            parts += [read_draft(f"## {name}"), *map(_item, (usable[at] for at in group))]
    return Draft(tuple(block for part in parts for block in part.blocks), sum(part.removed_links for part in parts))


def add_note(report: str) -> str:
    """The finished report with the note below its title."""
    title, _, rest = report.partition("\n")
    return f"{title}\n\n{QUOTES_NOTE}\n{rest}" if title.startswith("# ") else f"{QUOTES_NOTE}\n\n{report}"


def _item(quote: Quote) -> Draft:
    """A quote as a draft. Each quote is parsed alone, so that nothing in it can affect another quote."""
    return Draft(*quote_blocks(quote))


def _brief(groups: Sequence[Sequence[int]]) -> list[int]:
    """The best quote of each of the best groups; if there are too few groups, the next best quotes."""
    firsts = [group[0] for group in groups]
    others = sorted(at for group in groups for at in group[1:])
    return sorted([*firsts, *others][:BRIEF])


def _groups(vectors: Sequence[Sequence[float]], alike: float) -> list[list[int]]:
    """Groups the indexes of quotes that belong together, by joining the two closest groups as long as they are close enough on average.

    Groups are ordered by their best quote. Single quotes and surplus groups form one group at the end.
    """
    near = [[dot(one, other) for other in vectors] for one in vectors]
    groups = [[at] for at in range(len(vectors))]
    while len(groups) > 1:
        likeness, first, second = max(
            (_average(near, groups[a], groups[b]), -a, -b) for a in range(len(groups)) for b in range(a + 1, len(groups))
        )
        if likeness < alike:
            break
        joined = sorted([*groups[-first], *groups[-second]])
        groups = [group for at, group in enumerate(groups) if at not in (-first, -second)] + [joined]
        groups.sort()
    together = [group for group in groups if len(group) > 1][: MOST_GROUPS - 1]
    rest = sorted(set(range(len(vectors))) - {at for group in together for at in group})
    return [*together, rest] if rest else together


def _average(near: Sequence[Sequence[float]], one: Sequence[int], other: Sequence[int]) -> float:
    return round(sum(near[a][b] for a in one for b in other) / (len(one) * len(other)), 6)


def _name_groups(question: str, quotes: Sequence[Quote], groups: Sequence[Sequence[int]]) -> list[tuple[str, Sequence[int]]]:
    """Each group with a heading: words that are frequent in it, rare elsewhere, and not in the question."""
    counted = [Counter(each for at in group for each in set(content_stems(quotes[at].text))) for group in groups]
    spread = Counter(each for counts in counted for each in counts)
    asked = set(content_stems(question))
    named: dict[str, Sequence[int]] = {}
    for group, counts in zip(groups, counted, strict=True):
        weights = {
            each: count * math.log(1 + len(groups) / spread[each]) for each, count in counts.items() if each not in asked
        }
        # A word names a group only if several of its quotes have it, because an odd word in one quote is not a topic.
        telling = sorted((each for each in weights if counts[each] > 1), key=lambda each: (-weights[each], each))[:_NAME_WORDS]
        name = " · ".join(_surface(each, [quotes[at].text for at in group]) for each in telling)
        name = f"On {name}" if name else "Further quotes"
        named[name if name not in named else f"{name}, part {'I' * (len(named) + 1)}"] = group
    return list(named.items())


def _surface(wanted: str, texts: Sequence[str]) -> str:
    """The most common form of a stem in the texts; in lower case unless it has a capital everywhere."""
    forms = Counter(
        word.text for text in texts for word in words(text) if not is_function(word.text) and stem(word.text) == wanted
    )
    form = min(forms, key=lambda each: (-forms[each], each))
    return form if all(each[0].isupper() for each in forms) else fold(form)
