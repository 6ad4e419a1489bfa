"""A claim's verdict: the machine's ceiling first, then a judge, who can confirm or lower it, but never raise it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from stepwell.errors import StepwellError, find_infrastructure
from stepwell.research.audit.checks import CHECKS_VERSION, Check, check
from stepwell.research.audit.evidence import KEPT, Claim, Quote, Verdict
from stepwell.research.audit.judge import Judge, JudgedAs, LexicalJudge

UNJUDGED = "the model that checks gave no usable verdict"
"""The reason why a sentence in its own words is not settled if its judge did not answer."""
RANK: dict[Verdict, int] = {"verbatim": 4, "supported": 3, "partial": 2, "unsupported": 1, "contradicted": 0}
"""The higher a verdict's rank, the more a reader may rely on the claim."""


def lower_of(ceiling: Verdict, judged: JudgedAs) -> Verdict:
    """The final verdict, from what the checks allow and what a judge thinks. A judge that agrees leaves a sentence `verbatim`."""
    return ceiling if ceiling not in KEPT or judged == "supported" else min(ceiling, judged, key=RANK.__getitem__)


def without_judge(checked: Check) -> tuple[Verdict, tuple[str, ...]]:
    """The verdict and its reasons if no judge could be heard: a sentence that stands word for word in a quote needs none, and any other is
    at most `partial`."""
    return (checked.ceiling, checked.reasons) if checked.stands_alone else ("partial", (*checked.reasons, UNJUDGED))


async def verdict(claim: Claim, quotes: Mapping[str, Quote], judge: Judge | None = None) -> Claim:
    """The claim with its verdict and reasons. `quotes` has all quotes, by id. Without a judge, shared words decide.

    The judge is asked only about claims whose verdict it could still lower; an unsupported claim stays unsupported.
    """
    claim = replace(claim, checks=CHECKS_VERSION)
    checked = check(claim.text, claim.evidence, quotes)
    if checked.ceiling not in KEPT:
        return replace(claim, verdict=checked.ceiling, reasons=checked.reasons)
    cited = [quotes[each] for each in dict.fromkeys(claim.evidence) if each in quotes]
    try:
        judgement = await (judge or LexicalJudge()).judge(claim.text, cited)
    except (StepwellError, TimeoutError) as error:  # catch nothing wider, because a pause of the graph must pass through
        if lost := find_infrastructure(error):
            raise lost from lost.__cause__
        unjudged, reasons = without_judge(checked)
        return replace(claim, verdict=unjudged, reasons=reasons)
    why = (judgement.reason,) if judgement.reason and judgement.verdict != "supported" else ()
    return replace(claim, verdict=lower_of(checked.ceiling, judgement.verdict), reasons=(*checked.reasons, *why))
