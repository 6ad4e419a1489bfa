"""Asks a model to judge pairs, exactly as it is asked about the sentences of a report: same prompt, same parser, same number of tries.

Every answer is recorded in a folder before it is used (`RecordedModels`), by what was asked. A second run therefore asks only what is
missing, and a change of the rules costs no call at all.

| what happens | and then |
|---|---|
| the answer is usable | it is the model's verdict |
| no usable answer in three tries, or the question is too long for the model | it counts as unusable, as in a report |
| the provider is busy or out of reach | asked again after a pause; then the measurement stops, to be resumed later |
| the provider refuses, or a spend limit is reached | the measurement stops |
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from langchain_core.language_models import BaseChatModel

from stepwell.errors import ModelAnswerError, StepwellError
from stepwell.middleware.model_calls.faults import failure, fault_of
from stepwell.models.pricing import TokenUse
from stepwell.models.token_count import CHARS_PER_TOKEN
from stepwell.models.usage import UsageSum, label_of, price_call
from stepwell.research.audit.canonical import sha256
from stepwell.research.audit.exchanges.recording import Recorder
from stepwell.research.audit.folder_vault import FolderVault
from stepwell.research.audit.judge import Judgement
from stepwell.research.evidence.judging import ModelJudge
from stepwell.research.evidence.prompting import judge_prompt
from stepwell.research.evidence.recorded.models import RecordedModels, TrailSpending
from stepwell.research.evidence.side_by_side import side_by_side
from stepwell.research.judges.pairs import Pair

AT_ONCE = 4
"""How many pairs are judged at the same time."""
PAUSES_S = (2.0, 10.0, 30.0)
"""The pauses before a busy provider is asked again, after the attempts of its own SDK."""
_SCOPE = "measure"
_ANSWER_TOKENS = 40
_FENCES = 300
"""About what the fences around claim and evidence add, in characters."""

Samples = Mapping[str, Sequence[Pair]]
"""The drawn pairs of each set."""


@dataclass(frozen=True)
class Answers:
    """The model's verdicts on each set's pairs, in order; None for an unusable answer. `used` is what this run asked for."""

    of: Mapping[str, Sequence[Judgement | None]]
    used: UsageSum


class JudgeMeasurement:
    """Asks one model, and keeps its answers in a folder."""

    def __init__(self, model: BaseChatModel, folder: Path, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        """`folder` is for all models; each has its own folder in it."""
        self.model = model
        self.label = label_of(model)
        self._vault = FolderVault(folder / sha256(self.label.encode())[:32])
        self._calls = RecordedModels(Recorder(self._vault), _SCOPE)
        self._sleep = sleep

    async def ask(self, samples: Samples, show: Callable[[int, int], None]) -> Answers:
        """The answers, asked or kept. `show` gets how many of all pairs are done."""
        pairs = [pair for sample in samples.values() for pair in sample]
        spending = TrailSpending(self._vault, len(await self._vault.entries()))
        room, done = asyncio.Semaphore(AT_ONCE), 0
        failed: StepwellError | None = None

        async def one(pair: Pair) -> Judgement | None:
            nonlocal done, failed
            async with room:
                if failed is not None:
                    return None
                try:
                    judgement = await self._judge(pair)
                except StepwellError as error:
                    failed = error  # calls under way are paid for: they end, and their answers are kept
                    return None
            done += 1
            show(done, len(pairs))
            return judgement

        found = iter(await side_by_side(one(pair) for pair in pairs))
        if failed is not None:
            raise failed
        answers = {name: [next(found) for _ in sample] for name, sample in samples.items()}
        return Answers(answers, (await spending.catch_up()).used)

    async def _judge(self, pair: Pair) -> Judgement | None:
        for attempt, pause_s in enumerate((*PAUSES_S, None), 1):
            # A judge of its own for each pair: in a report, an unusable first answer ends the judging.
            judge = ModelJudge(self.model, self._calls, _no_ceiling)
            try:
                return await judge.judge(pair.claim, [pair.quote])
            except ModelAnswerError as error:
                fault = fault_of(error.__cause__) if error.__cause__ else None
                if fault is None or fault.kind == "too long":
                    return None
                if pause_s is None or not fault.retryable:
                    raise failure(self.model, fault, attempt) from error
                await self._sleep(max(pause_s, fault.retry_after_s or 0.0))
        raise AssertionError("the last try returns or raises")


async def _no_ceiling() -> str | None:
    return None


def estimate(model: str, samples: Samples) -> tuple[int, float | None]:
    """About how many tokens judging these pairs takes, and what it costs in dollars, if the price is known."""
    system = len(judge_prompt()) + _FENCES
    asked = [system + len(pair.claim) + len(pair.evidence) for sample in samples.values() for pair in sample]
    tokens = TokenUse(sum(asked) // CHARS_PER_TOKEN, _ANSWER_TOKENS * len(asked))
    return tokens.total, price_call(model, tokens).cost_usd
