"""What needs judgement: does a quote mean what the claim says? Contains a protocol, which the application implements with a model, and an
implementation without a model.

`LexicalJudge` compares words. It is right about sentences that are quotes, which is all that the extractive mode writes, and strict about
others: a paraphrase that shares less than 80 % of its content words with the quotes is at best `partial`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, get_args

from stepwell.research.audit.evidence import Quote
from stepwell.words import content_stems

JudgedAs = Literal["supported", "partial", "unsupported", "contradicted"]
"""What a judge may answer. Whether a sentence is a quote is for the checks to say, so no judge calls one `verbatim`."""
JUDGED_AS: tuple[JudgedAs, ...] = get_args(JudgedAs)
_SUPPORTED_FROM, _PARTIAL_FROM = 0.8, 0.4
"""The least share of a claim's content words that must be in the quotes."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """A judge's verdict on a claim, and why."""

    verdict: JudgedAs
    reason: str = ""

    @classmethod
    def by_model(cls, verdict: JudgedAs, reason: str) -> Judgement:
        """A model's own words are put in quotation marks: readers must not mistake them for findings of the checks."""
        words = " ".join(reason.split()).replace("\u201d", '"')
        return cls(verdict, f"the judge says: \u201c{words}\u201d" if words else "")


class Judge(Protocol):
    """Compares a claim with its quotes."""

    async def judge(self, claim_text: str, quotes: Sequence[Quote]) -> Judgement:
        """The verdict. A `StepwellError` or a time-out counts as doubt: the claim is then at most `partial`,
        unless it stands word for word in a quote."""
        ...


class LexicalJudge:
    """Judges by shared words: no model, no network, the same answer each time."""

    async def judge(self, claim_text: str, quotes: Sequence[Quote]) -> Judgement:
        return self.compare(claim_text, quotes)

    def compare(self, claim_text: str, quotes: Sequence[Quote]) -> Judgement:
        """The same as `judge` without awaiting, for checks that compute a verdict again."""
        wanted = set(content_stems(claim_text))
        if not wanted:
            return Judgement("supported") if quotes else Judgement("unsupported", "it cites no evidence")
        held = {stem for quote in quotes for stem in content_stems(quote.text)}
        share = len(wanted & held) / len(wanted)
        if share >= _SUPPORTED_FROM:
            return Judgement("supported")
        said = f"{round(share * 100)} % of its words are in the quotes"
        return Judgement("partial" if share >= _PARTIAL_FROM else "unsupported", said)
