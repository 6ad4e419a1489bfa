"""Judges every sentence of a report, with a model that sees nothing but a sentence and its quotes."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from langchain_core.language_models import BaseChatModel
from pydantic import BaseModel, ConfigDict

from stepwell.control_flow import let_pass
from stepwell.errors import LimitReachedError, ModelAnswerError, StepwellError
from stepwell.research.audit.evidence import Claim, Quote
from stepwell.research.audit.judge import Judge, JudgedAs, Judgement
from stepwell.research.audit.verdicts import verdict
from stepwell.research.evidence.asking import ModelCalls, ask_for
from stepwell.research.evidence.prompting import fence_material, judge_prompt
from stepwell.research.evidence.side_by_side import side_by_side

JUDGED_AT_ONCE = 4


async def judge_all(claims: Iterable[Claim], quotes: Mapping[str, Quote], judge: Judge) -> list[Claim]:
    """The claims with their verdicts, in order; one that is there twice is judged once. `quotes` has every quote they cite, by id."""
    room = asyncio.Semaphore(JUDGED_AT_ONCE)
    stated = list(claims)
    first: dict[tuple[str, tuple[str, ...]], Claim] = {}
    for claim in stated:
        first.setdefault((claim.text, claim.evidence), claim)

    async def one(claim: Claim) -> Claim:
        async with room:
            return await verdict(claim, quotes, judge)

    judged = dict(zip(first, await side_by_side(map(one, first.values())), strict=True))
    return [replace(judged[claim.text, claim.evidence], claim_id=claim.claim_id) for claim in stated]


class Opinion(BaseModel):
    model_config = ConfigDict(extra="ignore")

    verdict: JudgedAs
    reason: str = ""


class ModelJudge:
    """An `audit.Judge` that asks the auditing model. `reached_ceiling` returns the ceiling that is reached, if any.

    The first sentence is judged alone. If the model gives no usable answer within its tries, it is not asked about the other sentences.
    Only the first sentence decides this, so that a replay asks for the same answers.
    """

    def __init__(self, model: BaseChatModel, calls: ModelCalls, reached_ceiling: Callable[[], Awaitable[str | None]]) -> None:
        self._model = model
        self._calls = calls
        self._reached_ceiling = reached_ceiling
        self._first = asyncio.Lock()
        self._is_usable: bool | None = None

    async def judge(self, claim_text: str, quotes: Sequence[Quote]) -> Judgement:
        async with self._first:
            if self._is_usable is None:
                return await self._try_first(claim_text, quotes)
        if not self._is_usable:
            raise ModelAnswerError(
                "The judge gave no usable answer for the first sentence, and was not asked about the others."
            )
        return await self._judge(claim_text, quotes)

    async def _try_first(self, claim_text: str, quotes: Sequence[Quote]) -> Judgement:
        try:
            judgement = await self._judge(claim_text, quotes)
        except ModelAnswerError:
            self._is_usable = False
            raise
        self._is_usable = True
        return judgement

    async def _judge(self, claim_text: str, quotes: Sequence[Quote]) -> Judgement:
        if ceiling := await self._reached_ceiling():
            # This counts as doubt, so a sentence in other words than its source is at most `partial`.
            raise LimitReachedError(ceiling)
        shown = "\n".join(f"{quote.quote_id}: {quote.text}" for quote in quotes)
        asked = f"The sentence:\n{fence_material(claim_text)}\n\nThe quotes:\n{fence_material(shown)}"
        try:
            opinion = await self._ask(asked)
        except StepwellError:
            raise
        except Exception as error:
            let_pass(error)
            # Integrations raise errors without a common class, and one lost answer must not cost the whole report.
            raise ModelAnswerError(f"The judge did not answer ({type(error).__name__}).") from error
        return Judgement.by_model(opinion.verdict, opinion.reason)

    async def _ask(self, asked: str) -> Opinion:
        return await ask_for(
            Opinion,
            model=self._model,
            calls=self._calls,
            key=f"judge:{uuid.uuid5(uuid.NAMESPACE_OID, asked).hex[:16]}",
            role="judge",
            system=judge_prompt(),
            user=asked,
        )
