"""Scripted models for the roles of a research: one plans, one audits and judges, one writes. Each sees only what it is asked."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from stepwell.models.routing import ModelRoutes
from stepwell.testing import Asked, ScriptedModel

Evidence = dict[str, str]
"""What the writer is shown: evidence id -> words."""
Write = Callable[[Evidence], str]
_SHOWN = re.compile(r"^(e\d+) \([^\n]*?\): (.+)$", re.MULTILINE)
_CITED = re.compile(r"^(.+) \[(e\d+)\]$", re.MULTILINE)


def plan(*inputs: str, tool: str = "web_search", objective: str = "Know it") -> str:
    return json.dumps({"objective": objective, "steps": [{"tool": tool, "input": text, "rationale": "why"} for text in inputs]})


def audit(verdict: str = "approved", *rules: str) -> str:
    violations = [{"rule": rule, "reason": "it is so"} for rule in rules]
    return json.dumps({"verdict": verdict, "violations": violations, "suggestions": ["look at both sides"] if rules else []})


def word_for_word(shown: Evidence) -> str:
    return "## Found\n\n" + "\n\n".join(f"{text} [{name}]" for name, text in list(shown.items())[:3])


class Roles:
    """The three models, and what each was asked."""

    def __init__(
        self,
        plans: Sequence[Any] = (),
        audits: Sequence[Any] | None = None,
        write: Write = word_for_word,
        judge: Callable[[str], str] = lambda asked: "supported",
        revise: Callable[[str], Any] = lambda asked: "",
        top: Write = lambda shown: "",
        critic: Callable[[str], Any] = lambda asked: '{"lacks": []}',
    ) -> None:
        self._audits = list(audits) if audits is not None else None
        self._write = write
        self._judge = judge
        self._revise = revise
        self._top = top
        self._critic = critic
        self.planner = ScriptedModel(list(plans))
        self.auditor = ScriptedModel.answering(self._audit_or_judge)
        self.writer = ScriptedModel.answering(self._write_or_revise)

    @property
    def routes(self) -> ModelRoutes:
        return ModelRoutes(plan=self.planner, audit=self.auditor, write=self.writer)

    @property
    def audits_asked(self) -> list[Asked]:
        return [asked for asked in self.auditor.asked if asked.system.startswith("You audit")]

    @property
    def revisions_asked(self) -> list[Asked]:
        return [asked for asked in self.writer.asked if asked.system.startswith("You correct")]

    def _write_or_revise(self, asked: Asked) -> Any:
        if asked.system.startswith("You correct"):
            return self._revise(asked.human)
        if asked.system.startswith("You write the answer"):
            return self._top(dict(_CITED.findall(asked.human)))
        return self._write(dict(_SHOWN.findall(asked.human)))

    def _audit_or_judge(self, asked: Asked) -> Any:
        if asked.system.startswith("You check one sentence"):
            return json.dumps({"verdict": self._judge(asked.human), "reason": "so it reads"})
        if asked.system.startswith("You read a research report"):
            return self._critic(asked.human)
        if self._audits is None:
            return audit()
        return self._audits.pop(0) if len(self._audits) > 1 else self._audits[0]
