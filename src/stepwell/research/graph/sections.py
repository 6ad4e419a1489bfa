"""A report by several writers: each writes one approved section from its own quotes, side by side; then one writes the answer at the top,
and a critic reads the whole before the one revision.

```
write:section:1   write:section:2   ...   judge   write:answer   judge   critic   write:revise   judge
└────────── side by side ──────────┘
```

The sections stand in the order of the approved plan, whichever was written first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace

from stepwell.control_flow import let_pass
from stepwell.errors import find_infrastructure
from stepwell.research.audit.evidence import KEPT, Claim, Quote
from stepwell.research.audit.writing.composed import compose_sections
from stepwell.research.audit.writing.lacks import MOST_LACKS, read_lacks
from stepwell.research.evidence.judging import judge_all
from stepwell.research.evidence.prompting import fence_material
from stepwell.research.evidence.side_by_side import side_by_side
from stepwell.research.graph.composing import Composer, Written

WRITTEN_AT_ONCE = 3
_AT_THE_TOP = 60
"""About how many words of an asked length the answer at the top takes."""
_SHORTEST = 40


async def write_sections(composer: Composer, quotes: Sequence[Mapping[str, Quote]]) -> Written:
    """The report of several writers; `quotes` has those of each section."""
    skipped: list[str] = []
    texts, keys = await _write_side_by_side(composer, quotes, skipped)
    body = compose_sections(texts, "", composer.question, composer.outline)
    judged = await judge_all(body.draft.claims(), composer.quotes, composer.judge)
    top, answers = await _write_top(composer, judged, skipped)
    composed = compose_sections(texts, top, composer.question, composer.outline)
    stated = composed.draft.claims()
    above = await judge_all(stated[: len(stated) - len(judged)], composer.quotes, composer.judge)
    claims = [replace(claim, claim_id=each.claim_id) for each, claim in zip(stated, [*above, *judged], strict=True)]
    written = Written(composed.draft, claims, [*keys, *answers], not_found=composed.not_found, skipped=skipped)
    return await composer.revise(await _criticise(composer, written))


async def _write_side_by_side(
    composer: Composer, quotes: Sequence[Mapping[str, Quote]], skipped: list[str]
) -> tuple[dict[int, str], list[str]]:
    """The sections by number, and the keys of their answers. One that a ceiling leaves no room for is skipped."""
    room = asyncio.Semaphore(WRITTEN_AT_ONCE)

    async def one(number: int, own: Mapping[str, Quote]) -> tuple[str, str] | str:
        async with room:
            # The caller has just looked at the ceilings for the first one.
            ceiling = await composer.inquiry.reached_ceiling() if number > 1 else None
            if ceiling:
                told = f"The section '{composer.outline[number - 1]}' was not written: {ceiling}"
                return await composer.note_skipped(f"section:{number}", told)
            return await composer.ask(f"write:section:{number}", "section", _describe(composer, number, own))

    done = await side_by_side(one(number, own) for number, own in enumerate(quotes, 1))
    skipped += [each for each in done if isinstance(each, str)]
    written = {number: each for number, each in enumerate(done, 1) if isinstance(each, tuple)}
    return {number: text for number, (text, _) in written.items()}, [key for _, key in written.values()]


def _describe(composer: Composer, number: int, own: Mapping[str, Quote]) -> str:
    outline = composer.outline
    others = "; ".join(title for title in outline if title != outline[number - 1])
    length = max(_SHORTEST, (composer.words - _AT_THE_TOP) // len(outline)) if composer.words else 0
    return "\n\n".join(
        [
            composer.show_question(),
            f"Your section: {outline[number - 1]}\nSections of others: {others}",
            f"The evidence:\n{fence_material(composer.show_quotes(own.values()))}",
            *([f"Length: about {length} words."] if length else []),
        ]
    )


async def _write_top(composer: Composer, judged: Sequence[Claim], skipped: list[str]) -> tuple[str, list[str]]:
    """The answer at the top, from the sentences that hold, and the key of its answer; nothing if none holds or a ceiling is reached."""
    kept = [claim for claim in judged if claim.verdict in KEPT]
    if not kept:
        return "", []
    if ceiling := await composer.inquiry.reached_ceiling():
        skipped.append(await composer.note_skipped("answer", f"The answer at the top was not written: {ceiling}"))
        return "", []
    lines = "\n".join(f"{claim.text} [{', '.join(claim.evidence)}]" for claim in kept)
    asked = f"{composer.show_question()}\n\nThe sentences of the report:\n{fence_material(lines)}"
    text, key = await composer.ask("write:answer", "answer", asked)
    return text, [key]


async def _criticise(composer: Composer, written: Written) -> Written:
    """The draft with what a critic misses in it. If no critic can be asked, the report says so."""
    if not any(claim.verdict in KEPT for claim in written.claims):
        return written
    if ceiling := await composer.inquiry.reached_ceiling():
        return await _leave_out(composer, written, ceiling)
    asked = f"{composer.show_question()}\n\n{composer.show_report(written)}"
    try:
        text, key = await composer.ask("critic", "critic", asked, "audit", most=MOST_LACKS)
    except Exception as error:
        let_pass(error)
        if lost := find_infrastructure(error):
            raise lost from lost.__cause__
        return await _leave_out(composer, written, "The model did not answer.")
    return replace(written, critic=key, lacks=read_lacks(text, len(written.claims)))


async def _leave_out(composer: Composer, written: Written, why: str) -> Written:
    told = await composer.note_skipped("critic", f"No critic read the report: {why}")
    return replace(written, skipped=[*written.skipped, told])
