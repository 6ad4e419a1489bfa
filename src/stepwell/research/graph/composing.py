"""Has a report written by models, and composes it by code from what they answered.

```
write            the draft; with two or more approved sections, `sections.py` instead
judge            each of its sentences                                     (`evidence.judging`)
write:revise     those that differ from their evidence, and what a critic misses, once; then only the new sentences are judged
```

Each call is recorded under its key before its answer is used, and `Written` names the answers, so that a check of the bundle can compose
the same sentences again (`audit/proofs/composition.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from stepwell.control_flow import let_pass
from stepwell.errors import find_infrastructure
from stepwell.models.connected import TaskKind
from stepwell.research.audit.evidence import KEPT, Claim, Quote, Source
from stepwell.research.audit.judge import Judge
from stepwell.research.audit.writing.composed import compose
from stepwell.research.audit.writing.draft import Draft
from stepwell.research.audit.writing.lacks import Lack, allows_adding, list_criticised
from stepwell.research.audit.writing.revised import apply_revision, list_differing, read_revision, show_sentence
from stepwell.research.evidence.inquiry import Inquiry
from stepwell.research.evidence.judging import judge_all
from stepwell.research.evidence.prompting import fence_material, prompt


@dataclass(frozen=True)
class Written:
    """A draft with a verdict for each of its claims, and what it is composed of."""

    draft: Draft
    claims: list[Claim]
    answers: list[str]
    """The keys in the trail of the answers that the first draft consists of."""
    critic: str | None = None
    """The key of a critic's answer."""
    lacks: tuple[Lack, ...] = ()
    """What the critic misses."""
    revision: str | None = None
    """The key of the answer with the corrected sentences."""
    before: list[Claim] = field(default_factory=list)
    """The sentences that went back to the writer, as they were: `b2` is the second sentence of the first draft."""
    not_found: tuple[str, ...] = ()
    """Parts of the question that the writers found nothing on (`audit.writing.not_found`)."""
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
        """The report of one writer."""
        asked = f"{self.show_question()}\n\nThe evidence:\n{fence_material(self.show_quotes(self.quotes.values()))}"
        text, key = await self.ask("write", "synthesizer", f"{asked}{self._describe_form()}")
        composed = compose(text, self.question, self.outline)
        claims = await judge_all(composed.draft.claims(), self.quotes, self.judge)
        return await self.revise(Written(composed.draft, claims, [key], not_found=composed.not_found))

    async def revise(self, written: Written) -> Written:
        """The draft after what differs or is criticised went back to the writer, once. If it cannot, the draft stays as it is."""
        numbers = sorted({*list_differing(written.claims), *list_criticised(written.lacks)})
        adding = allows_adding(written.lacks)
        if not numbers and not adding:
            return written
        if ceiling := await self.inquiry.reached_ceiling():
            return await self._leave(written, ceiling)
        try:
            text, key = await self.ask("write:revise", "reviser", self._show_faults(written, numbers))
        except Exception as error:
            let_pass(error)
            if lost := find_infrastructure(error):
                raise lost from lost.__cause__
            # The report is there already, and a correction that was not made must not cost it.
            return await self._leave(written, "The model did not answer.")
        revised = apply_revision(written.draft, read_revision(text, numbers, adding=adding))
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
        return replace(written, skipped=[*written.skipped, await self.note_skipped("revise", told)])

    async def note_skipped(self, step: str, told: str) -> str:
        """Writes into the trail that a step was left out, so that the report may say so."""
        await self.inquiry.note("limit", f"limit:{step}", {"step": step, "skipped": [told]})
        return told

    async def ask(self, key: str, name: str, asked: str, kind: TaskKind = "write", **values: object) -> tuple[str, str]:
        """A model's answer, and its key in the trail. `name` is the prompt, with `values` for its placeholders."""
        role = "synthesizer" if kind == "write" else name
        messages: list[BaseMessage] = [
            SystemMessage(prompt("stepwell.research.graph", name, **values)),
            HumanMessage(asked),
        ]
        calls = self.inquiry.calls
        return await calls.call(key, role, messages, self.inquiry.model(kind)), calls.name_answer(key, role, messages)

    def _describe_form(self) -> str:
        """The approved length and sections, as the user wants them."""
        length = f"\n\nLength: about {self.words} words." if self.words else ""
        titles = "\n".join(f"## {title}" for title in self.outline)
        return length + (f"\n\nThe section headings, in this order and no others:\n{titles}" if titles else "")

    def _show_faults(self, written: Written, numbers: Sequence[int]) -> str:
        """What is to be corrected and why; if something is lacking, also the report and the evidence that it does not use."""
        shown = "\n\n".join(self._show_fault(number, written) for number in numbers)
        asked = f"{self.show_question()}\n\nThe sentences:\n{fence_material(shown)}"
        if not written.lacks:
            return asked
        lacks = "\n".join(f"- {lack.kind}: {lack.what}" for lack in written.lacks)
        return f"{asked}\n\nWhat an editor misses:\n{fence_material(lacks)}\n\n{self.show_report(written)}"

    def _show_fault(self, number: int, written: Written) -> str:
        """A sentence with the reasons against it and its quotes, each on a line of its own."""
        claim = written.claims[number - 1]
        reasons = [*claim.reasons, *(f"{each.kind}: {each.what}" for each in written.lacks if each.sentence == number)]
        cited = [self._show_quote(self.quotes[each]) for each in claim.evidence if each in self.quotes]
        lines = [show_sentence(number, claim), f"why: {'; '.join(reasons)}", *cited]
        return "\n".join(" ".join(line.split()) for line in lines)

    def show_question(self) -> str:
        return f"The question:\n{fence_material(self.question)}"

    def show_report(self, written: Written) -> str:
        """The sentences of a draft that hold, with their numbers, and the evidence that none of them cites."""
        kept = [(number, claim) for number, claim in enumerate(written.claims, 1) if claim.verdict in KEPT]
        lines = "\n".join(f"(c{number}) {claim.text} [{', '.join(claim.evidence)}]" for number, claim in kept)
        used = {each for _, claim in kept for each in claim.evidence}
        unused = self.show_quotes(quote for quote in self.quotes.values() if quote.quote_id not in used)
        return f"The report:\n{fence_material(lines)}\n\nEvidence that it does not use:\n{fence_material(unused)}"

    def show_quotes(self, quotes: Iterable[Quote]) -> str:
        return "\n".join(map(self._show_quote, quotes))

    def _show_quote(self, quote: Quote) -> str:
        return f"{quote.quote_id} ({self.sources[quote.source_id].title}): {quote.text}"
