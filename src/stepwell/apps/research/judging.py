"""A judge that asks a model whether quotes mean what a sentence says. It hears nothing but the sentence and its quotes."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict

from stepwell.apps.research.asking import ask_for
from stepwell.apps.research.desk import Desk
from stepwell.apps.research.prompting import fenced, prompt
from stepwell.audit.evidence import Quote
from stepwell.audit.judge import Judgement
from stepwell.errors import RequestCeilingError


class Opinion(BaseModel):
    model_config = ConfigDict(extra="ignore")

    verdict: Literal["supported", "partial", "unsupported", "contradicted"]
    reason: str = ""


class ModelJudge:
    """`audit.Judge` on the auditing model."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def judge(self, claim_text: str, quotes: Sequence[Quote]) -> Judgement:
        if ceiling := await self._desk.exhausted():
            # Counts as doubt: the sentence is then at most partly supported.
            raise RequestCeilingError(self._desk.kit.policy.limits.tokens) from RuntimeError(ceiling)
        shown = "\n".join(f"{quote.quote_id}: {quote.text}" for quote in quotes)
        asked = f"The sentence:\n{fenced(claim_text)}\n\nThe quotes:\n{fenced(shown)}"
        opinion = await ask_for(
            Opinion,
            model=self._desk.model("audit"),
            calls=self._desk.calls,
            key=f"judge:{uuid.uuid5(uuid.NAMESPACE_OID, asked).hex[:16]}",
            role="judge",
            system=prompt("judge"),
            user=asked,
        )
        return Judgement(opinion.verdict, opinion.reason)
