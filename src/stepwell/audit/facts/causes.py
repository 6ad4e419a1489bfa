"""Reasons: a claim that says why, where its quotes give no reason at all, says more than they do."""

from __future__ import annotations

import re

_WHY = re.compile(
    r"\b(?:because|due to|owing to|thanks to|as a result of|in order to|so that|for (?:want|lack|fear) of|caused by|on account of|"
    r"brought about by|weil|wegen|damit|parce que|grâce à|porque|debido a)\b",
    re.IGNORECASE,
)
_REASON = re.compile(
    r"\b(?:because|due|owing|thanks|as a result|result(?:s|ed|ing)? (?:from|in)|in order to|so that|so as to|for (?:want|lack|fear) of|"
    r"caus(?:e|es|ed|ing)|on account of|reasons?|led to|leads to|therefore|hence|thus|explain(?:s|ed)?|blam(?:e|es|ed)|"
    r"weil|wegen|damit|parce que|grâce à|porque|debido a)\b",
    re.IGNORECASE,
)


def gives_a_reason(text: str) -> str:
    """The words with which a text says why; empty if it does not."""
    match = _WHY.search(text)
    return match.group() if match else ""


def may_give_a_reason(text: str) -> bool:
    """Whether a text can be read as giving a reason, in whatever words."""
    return _REASON.search(text) is not None
