"""The models of the research demo: a writer that plays a script, and a judge that agrees with everything.

The script gets one figure wrong and invents one sentence. The writer must not be able to get either past the checks, so nothing in
this module knows of them: they read the draft as they read any other model's. The judge agrees with everything for the same reason:
what is caught in the demo, the program has caught.

For a question that has no script, the writer copies the evidence that shares words with the question; if there is none, it writes nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from langchain_core.language_models.base import LangSmithParams
from langchain_core.output_parsers import JsonOutputParser

from stepwell.models.capabilities import Capabilities
from stepwell.models.routing import ModelRoutes
from stepwell.research.audit.demo import SCRIPT
from stepwell.research.audit.sentences import passages
from stepwell.research.product import PRODUCT
from stepwell.testing.scripted.asked import Asked
from stepwell.testing.scripted.model import ScriptedModel
from stepwell.words import content_stems

QUESTION = PRODUCT.demos["research_demo"].question
WRONG_FIGURE = "Rani ki Vav is 38 metres deep"
INVENTED = "Its masons were paid in salt"

_SCRIPT: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    (
        "Why they were built",
        (
            ("In western India nearly all rain falls in the few months of the monsoon", "nearly all rain falls"),
            ("Stepwells gave people water all year round", "water all year round"),
            ("Stairs led down to the water, however far it sank in the dry season", "however far it sank"),
            ("They were also cool, shaded places where people met", "cool, shaded places"),
        ),
    ),
    (
        "Rani ki Vav",
        (
            ("Rani ki Vav, the queen’s stepwell, is in Patan in Gujarat", "the queen’s stepwell"),
            ("It was built in the 11th century as a memorial to a king", "11th century"),
            (INVENTED, "11th century"),
            (WRONG_FIGURE, "metres deep"),
            ("UNESCO made it a World Heritage Site in 2014", "World Heritage Site"),
        ),
    ),
)
"""Headings, each with its sentences and words of the evidence that each cites."""
_SHOWN = re.compile(r"^(e\d+) \([^\n]*?\): (.+)$", re.MULTILINE)
_ASKED = re.compile(r"The question:\n(.*?)\n\nThe evidence:\n", re.DOTALL)
_CORRECTION = "\n\nThe sentences:\n"
_MAX_COPIED = 6
NO_SCRIPT = "# No script for this question"
"""A draft without a sentence."""


class DemoModel(ScriptedModel):
    """A model on this machine, as far as receipts are concerned: what a script is shown does not leave the process. It does not claim to
    be able to write, so that rules make the plans."""

    model_name: str = SCRIPT
    capabilities: Capabilities = Capabilities(tools=False, writes=False, context=128_000)

    def with_structured_output(self, schema: Any, **kwargs: Any) -> Any:
        return self | JsonOutputParser()

    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> LangSmithParams:
        return LangSmithParams(ls_provider="local", ls_model_name=SCRIPT, ls_model_type="chat")


def demo_models() -> ModelRoutes:
    # They keep no record of their requests, which would grow with every visitor.
    writer = DemoModel.answering(write, remember=0)
    judge = DemoModel.answering(lambda asked: json.dumps({"verdict": "supported"}), remember=0)
    return ModelRoutes(writer, audit=judge)


def write(asked: Asked) -> str:
    """The draft: the script, as far as its evidence was found, or else copied evidence. It corrects nothing, so that what is caught is
    seen."""
    if _CORRECTION in asked.human:
        return ""
    evidence = dict(_SHOWN.findall(asked.human))
    question = found[1] if (found := _ASKED.search(asked.human)) else asked.human
    return (_play(evidence) if QUESTION in question else _copy(question, evidence)) or NO_SCRIPT


def _play(evidence: Mapping[str, str]) -> str:
    sections = []
    for heading, sentences in _SCRIPT:
        cited = ((text, next((name for name, shown in evidence.items() if words in shown), None)) for text, words in sentences)
        written = [f"{text} [{name}]." for text, name in cited if name]
        if written:
            sections.append(f"## {heading}\n\n{' '.join(written)}")
    return "\n\n".join(sections)


def _copy(question: str, evidence: Mapping[str, str]) -> str:
    wanted = set(content_stems(question))
    least = min(2, len(wanted))
    shared = {name: len(wanted & set(content_stems(text))) for name, text in evidence.items()}
    close = sorted((name for name in evidence if shared[name] and shared[name] >= least), key=lambda name: -shared[name])
    return "\n".join(f"- {_cite_all(evidence[name], name)}" for name in close[:_MAX_COPIED])


def _cite_all(text: str, name: str) -> str:
    return " ".join(f"{passage.text} [{name}]" for passage in passages(text))
