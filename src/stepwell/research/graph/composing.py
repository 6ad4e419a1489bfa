"""Has a report written by a model, and composes it by code from what the model answered.

```
write          the draft
judge          each of its sentences                                     (`evidence.judging`)
write:revise   those that differ from their evidence, once, with the reason; then only the new sentences are judged
```

Each call is recorded under its key before its answer is used, and `Written` names the answers, so that a check of the bundle can compose
the same sentences again (`audit/proofs/composition.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from stepwell.control_flow import let_pass
from stepwell.errors import find_infrastructure
from stepwell.research.audit.evidence import Claim, Quote, Source
from stepwell.research.audit.judge import Judge
from stepwell.research.audit.writing.composed import compose
from stepwell.research.audit.writing.draft import Draft
from stepwell.research.audit.writing.revised import apply_revision, list_differing, read_revision, show_sentence
from stepwell.research.evidence.inquiry import Inquiry
from stepwell.research.evidence.judging import judge_all
from stepwell.research.evidence.prompting import fence_material, prompt

ROLE = "synthesizer"


@dataclass(frozen=True)
class Written:
    """A draft with a verdict for each of its claims, and what it is composed of."""

    draft: Draft
    claims: list[Claim]
    answers: list[str]
    """The keys in the trail of the answers that the first draft consists of."""
    revision: str | None = None
    """The key of the answer with the corrected sentences."""
    before: list[Claim] = field(default_factory=list)
    """The sentences that went back to the writer, as they were: `b2` is the second sentence of the first draft."""
    not_found: tuple[str, ...] = ()
    """Parts of the question that the writer found nothing on (`audit.writing.not_found`)."""
    skipped: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Composer:
    """What writing needs to know about one question."""

    inquiry: Inquiry
    question: str
    quotes: Mapping[str, Quote]
    sources: Mapping[str, Source]
    judge: Judge
    words: int | None = None
    outline: tuple[str, ...] = ()

    async def write(self) -> Written:
        asked = f"The question:\n{fence_material(self.question)}\n\nThe evidence:\n{fence_material(self._show_evidence())}"
        text, key = await self._ask("write", "synthesizer", f"{asked}{self._describe_form()}")
        composed = compose([text], self.question, self.outline)
        claims = await judge_all(composed.draft.claims(), self.quotes, self.judge)
        return await self._revise(Written(composed.draft, claims, [key], not_found=composed.not_found))

    def _describe_form(self) -> str:
        """The approved length and sections, as the user wants them."""
        length = f"\n\nLength: about {self.words} words." if self.words else ""
        titles = "\n".join(f"## {title}" for title in self.outline)
        return length + (f"\n\nThe section headings, in this order and no others:\n{titles}" if titles else "")

    async def _revise(self, written: Written) -> Written:
        """The draft after its sentences that differ went back to the writer, once. If they cannot, it stays as it is."""
        numbers = list_differing(written.claims)
        if not numbers:
            return written
        if ceiling := await self.inquiry.reached_ceiling():
            return await self._leave(written, ceiling)
        shown = "\n\n".join(self._show_fault(number, written.claims[number - 1]) for number in numbers)
        asked = f"The question:\n{fence_material(self.question)}\n\nThe sentences:\n{fence_material(shown)}"
        try:
            text, key = await self._ask("write:revise", "reviser", asked)
        except Exception as error:
            let_pass(error)
            if lost := find_infrastructure(error):
                raise lost from lost.__cause__
            # The report is there already, and a correction that was not made must not cost it.
            return await self._leave(written, "The model did not answer.")
        revised = apply_revision(written.draft, read_revision(text, numbers))
        stated = revised.draft.claims()
        new = [claim for claim, origin in zip(stated, revised.origins, strict=True) if not origin]
        judged = iter(await judge_all(new, self.quotes, self.judge))
        claims = [
            replace(written.claims[origin - 1], claim_id=claim.claim_id) if origin else next(judged)
            for claim, origin in zip(stated, revised.origins, strict=True)
        ]
        before = [replace(written.claims[number - 1], claim_id=f"b{number}") for number in numbers]
        return replace(written, draft=revised.draft, claims=claims, revision=key, before=before)

    async def _leave(self, written: Written, why: str) -> Written:
        told = f"Sentences that differ from their sources were not sent back to the writer: {why}"
        await self.inquiry.note("limit", "limit:revise", {"step": "revise", "skipped": [told]})
        return replace(written, skipped=[*written.skipped, told])

    async def _ask(self, key: str, name: str, asked: str) -> tuple[str, str]:
        """The answer, and its key in the trail."""
        messages: list[BaseMessage] = [SystemMessage(prompt("stepwell.research.graph", name)), HumanMessage(asked)]
        calls = self.inquiry.calls
        return await calls.call(key, ROLE, messages, self.inquiry.model("write")), calls.name_answer(key, ROLE, messages)

    def _show_evidence(self) -> str:
        return "\n".join(map(self._show_quote, self.quotes.values()))

    def _show_fault(self, number: int, claim: Claim) -> str:
        """A sentence with the reason against it and its quotes, each on a line of its own."""
        cited = [self._show_quote(self.quotes[each]) for each in claim.evidence if each in self.quotes]
        lines = [show_sentence(number, claim), f"why: {'; '.join(claim.reasons)}", *cited]
        return "\n".join(" ".join(line.split()) for line in lines)

    def _show_quote(self, quote: Quote) -> str:
        return f"{quote.quote_id} ({self.sources[quote.source_id].title}): {quote.text}"
