"""Whether a claim stands in its quotes, word for word or nearly."""

from __future__ import annotations

from collections.abc import Sequence

from stepwell.research.audit.evidence import Quote
from stepwell.research.audit.sentences import passages
from stepwell.words import fold, is_function, stem, words

_FEWEST_WORDS = 3
_MOST_SKIPPED = 2
"""How many other content words may stand between those of a claim that is nearly a quote."""


def is_quoted(text: str, cited: Sequence[Quote]) -> bool:
    """Whether the sentence is a whole sentence of a quote, word for word. A part of a sentence could leave out the "not"."""
    said = " ".join(text.split())
    return any(" ".join(passage.text.split()) == said for quote in cited for passage in passages(quote.text))


def has_the_same_words(text: str, cited: Sequence[Quote]) -> bool:
    """Whether the sentence has the words of a whole sentence of a quote, all of them in their order."""
    said = [fold(word.text) for word in words(text)]
    return any([fold(word.text) for word in words(each.text)] == said for quote in cited for each in passages(quote.text))


def is_nearly_quoted(text: str, cited: Sequence[Quote]) -> bool:
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
