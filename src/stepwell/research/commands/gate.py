"""The gate of a research in the terminal: a person approves, edits or rejects an audited plan, and accepts or rejects sources.

```
a               approve
e               edit the whole plan as JSON in your editor ($VISUAL or $EDITOR)
e 2 new words   change the input of step 2      d 2   delete step 2           + words   add a search      f 1   allow 1 follow-up
w 200           a report of about 200 words     o Length; Cost          its sections (o alone: the writer decides)
r why           reject; the next plan takes the reason into account
s [why]         stop here
```
An edited plan is audited again and comes back here. This module uses the terminal only through `ask` and `say`.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stepwell.errors import RunError
from stepwell.terminal.dialogue.answers import Ask
from stepwell.terminal.dialogue.session import OpenInterrupt
from stepwell.validation import describe_first_fault

Say = Callable[[str], None]
EditText = Callable[[str], str]
"""Lets the person edit a text; returns the edited text."""

CHOICES = "[a]pprove, [e]dit, [r]eject and why, [s]top; ? explains"
HELP = """a               approve the plan
e               edit the whole plan as JSON in your editor
e 2 NEW WORDS   change the input of step 2
d 2             delete step 2
+ WORDS         add a search
f 1             allow at most 1 further search for names that the steps find (0 to 4)
w 200           a report of about 200 words (w alone: no matter how long)
o LENGTH; COST  the sections of the report (o alone: the writer decides)
r WHY           reject: you get another plan that takes your reason into account
s               stop here, without carrying out the plan"""
SOURCES_HELP = "Press Enter to accept all, type 's2 s5' to leave these out, or 'only s1 s3' to keep only these."
DOCUMENTS = "search_documents"
RETRY_CHOICES = (
    "Type 'documents' to write from your documents alone, 'again' to try again, or press Enter to leave it for later."
)
RETRY = "search_retry"
"""The interrupt of a research that could not reach any search engine."""
_NUMBERED = re.compile(r"(\d+)(?:\s+(.*))?")


@dataclass(frozen=True)
class Gate:
    """Asks a person about a plan or about the sources found."""

    ask: Ask
    say: Say
    edit_text: EditText | None = None
    approve_clean: bool = False
    """`--yes`: a plan without violations is approved without asking."""

    def answer(self, interrupt: Mapping[str, Any]) -> Any:
        """The answer that resumes the run; `EOFError` if nobody is at the terminal."""
        if problem := interrupt.get("problem"):
            self.say(str(problem))
        if interrupt.get("type") == "source_review":
            return self._review(interrupt.get("sources") or [])
        return self._decide(interrupt)

    def decide_outage(self, interrupt: Mapping[str, Any]) -> str | None:
        """`documents` or `approve` if the person types so; `None` for later, or if nobody is there."""
        self.say(str(interrupt.get("message")))
        while True:
            try:
                word = self.ask(RETRY_CHOICES).strip().lower()
            except EOFError:
                return None
            match word:
                case "documents":
                    return "documents"
                case "again":
                    return "approve"
                case "" | "s" | "stop":
                    return None

    def _decide(self, interrupt: Mapping[str, Any]) -> dict[str, Any]:
        for line in plan_lines(interrupt):
            self.say(line)
        if self.approve_clean and not (interrupt.get("audit") or {}).get("violations"):
            self.say("Approved without asking: the plan breaks no rule.")
            return {"decision": "approve"}
        plan = dict(interrupt.get("plan") or {})
        prompt = CHOICES
        while True:
            said = self._read(plan, self.ask(prompt).strip())
            if not isinstance(said, str):
                return said
            prompt = said

    def _read(self, plan: dict[str, Any], line: str) -> dict[str, Any] | str:
        """The answer that a typed line means, or a sentence with which to ask again."""
        word, _, rest = line.partition(" ")
        rest = rest.strip()
        match word.lower():
            case "a" | "y" | "approve" | "yes":
                return {"decision": "approve"}
            case "s" | "stop":
                return {"decision": "reject", "stop": True, **({"reason": rest} if rest else {})}
            case "r" | "n" | "reject" | "no":
                if not rest:
                    return "Type r and the reason, so that the next plan can be better. (s stops.)"
                return {"decision": "reject", "reason": rest}
            case "e" | "edit" if not rest:
                return self._edit_all(plan)
            case "f" | "follow":
                return edit_follow_ups(plan, rest)
            case "w" | "words":
                return edit_words(plan, rest)
            case "o" | "outline":
                return _check_plan(
                    {**plan, "outline": [each.strip() for each in rest.split(";") if each.strip()]}, plan["steps"]
                )
            case "e" | "edit" | "d" | "+":
                return edit_step(plan, word.lower()[0], rest)
        return HELP if word else CHOICES

    def _edit_all(self, plan: dict[str, Any]) -> dict[str, Any] | str:
        if self.edit_text is None:
            return "No editor is set. Set EDITOR, or change one step with 'e 2 new words'."
        text = json.dumps(_editable(plan), ensure_ascii=False, indent=2)
        try:
            edited = self.edit_text(text)
        except OSError as error:
            return f"The editor could not be started ({error.strerror}). Set EDITOR, or change one step with 'e 2 new words'."
        if edited.strip() == text.strip():
            return f"Nothing was changed. {CHOICES}"
        return parse_edited_plan(plan, edited)

    def _review(self, sources: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        self.say("Sources:")
        for source in sources:
            self.say(f"  {source['id']:4} {source.get('title') or ''}  {source.get('url') or '(from your device)'}")
        known = [str(source["id"]) for source in sources]
        prompt = SOURCES_HELP
        while True:
            said = read_review(known, self.ask(prompt).strip())
            if not isinstance(said, str):
                return said
            prompt = f"{said} {SOURCES_HELP}"


class OutageError(RunError):
    """No search engine could be reached, so there is nothing to decide; the user can retry the research later."""


class GateAnswers:
    """Answers the interrupts of a research at the gate. With `retries`, it retries the first time that no search engine could be reached,
    because that is what a user who continues a research wants. After that it asks whether to write from the user's own documents, if there
    are any; otherwise, or if nobody answers, it raises `OutageError`."""

    def __init__(self, gate: Gate, *, retries: bool) -> None:
        self._gate = gate
        self._retries = retries

    def __call__(self, interrupts: Sequence[OpenInterrupt]) -> dict[str, Any]:
        outage = next((each for each in interrupts if each.value.get("type") == RETRY), None)
        if outage is None:
            return {each.id: self._gate.answer(each.value) for each in interrupts}
        if self._retries:
            self._retries = False
            return {outage.id: {"decision": "approve"}}
        if not outage.value.get("documents"):
            raise OutageError(str(outage.value.get("message")))
        decision = self._gate.decide_outage(outage.value)
        if decision is None:
            raise OutageError("Nobody could be reached, and your documents alone were not chosen.")
        return {outage.id: {"decision": decision}}


def plan_lines(interrupt: Mapping[str, Any]) -> Iterator[str]:
    """What the person decides about, as lines: steps, the audit's findings with rule ids, the estimated cost, what was sent so far."""
    plan, audit, estimate = (interrupt.get(name) or {} for name in ("plan", "audit", "estimate"))
    rules = interrupt.get("rules") or {}
    yield ""
    yield f"Plan: {plan.get('objective', '')}"
    for number, step in enumerate(plan.get("steps", ()), 1):
        why = f"  ({step['rationale']})" if step.get("rationale") else ""
        yield f"  {number}. {step.get('tool', '')}  {step.get('input', '')}{why}"
    if many := plan.get("followUps", 0):
        yield f"  Then at most {many} further search{'es' * (many != 1)} for names found {_found_in(plan)}."
    if form := _form_line(plan):
        yield f"  The report: {form}"
    yield f"Audit: {audit.get('verdict', 'none')}"
    for violation in audit.get("violations", ()):
        yield f"  [{violation['rule']}] {violation['reason']}"
    for suggestion in audit.get("suggestions", ()):
        yield f"  suggested: {suggestion}"
    left = audit.get("leftToTheHuman") or audit.get("left_to_the_human") or ()
    if left:
        yield "  Rules no program can check:"
        yield from (f"  [{rule}] {rules.get(rule, '')}" for rule in left)
    yield f"Estimate: {estimate_line(estimate)}"
    if note := estimate.get("priceNote") or estimate.get("price_note"):
        yield f"  {note}"
    if sends := estimate.get("sends"):
        yield f"  {sends}"
    if summary := (interrupt.get("sent") or {}).get("summary"):
        yield f"Sent so far: {summary}"


def estimate_line(estimate: Mapping[str, Any]) -> str:
    cost = estimate.get("costUsd", estimate.get("cost_usd"))
    money = "cost unknown" if cost is None else f"{cost:.2f} USD"
    requests = estimate.get("requests", 0)
    tokens = f"{estimate.get('tokens', 0):,} tokens"
    if requests:
        return f"at most {requests} request{'s' * (requests != 1)}, {tokens}, {money}"
    asked = f"about {tokens} to the model" if estimate.get("tokens") else tokens
    return f"no requests to the web, {asked}, {money}"


def _found_in(plan: Mapping[str, Any]) -> str:
    return "in your documents" if _is_local(plan) else "on the pages"


def _is_local(plan: Mapping[str, Any]) -> bool:
    return all(step.get("tool") == DOCUMENTS for step in plan.get("steps", ()))


def _form_line(plan: Mapping[str, Any]) -> str:
    """The length and the sections of the report, if the plan has them."""
    length = f"about {plan['words']:,} words" if plan.get("words") else ""
    sections = f"sections {'; '.join(plan['outline'])}" if plan.get("outline") else ""
    return ", ".join(each for each in (length, sections) if each) + "." if length or sections else ""


def edit_words(plan: Mapping[str, Any], rest: str) -> dict[str, Any] | str:
    """Change how long the report is to be."""
    if rest and not (rest.isascii() and rest.isdigit()):
        return "Type how many words the report is to have, as in: w 200"
    return _check_plan({**plan, "words": int(rest[:9]) if rest else None}, plan.get("steps", ()))


def edit_follow_ups(plan: Mapping[str, Any], rest: str) -> dict[str, Any] | str:
    """Change how many further searches may follow."""
    if not rest.isascii() or not rest.isdigit():
        return "Type how many further searches may follow, as in: f 1"
    return _check_plan({**plan, "followUps": int(rest[:4])}, plan.get("steps", ()))


def edit_step(plan: Mapping[str, Any], action: str, rest: str) -> dict[str, Any] | str:
    """Change a step's input, delete a step, or add a search."""
    steps = [dict(step) for step in plan.get("steps", ())]
    if action == "+":
        return (
            _check_plan(plan, [*steps, {"tool": DOCUMENTS if _is_local(plan) else "web_search", "input": rest}])
            if rest
            else "Type what to search for after the plus."
        )
    match = _NUMBERED.fullmatch(rest)
    if not match or not 1 <= int(match[1][:4]) <= len(steps):
        return f"There is no such step; the steps are numbered 1 to {len(steps)}."
    index = int(match[1]) - 1
    if action == "d":
        return _check_plan(plan, steps[:index] + steps[index + 1 :]) if len(steps) > 1 else "A plan needs a step. s stops."
    if not match[2]:
        return f"Type the new input after the number, as in: e {match[1]} new words"
    steps[index]["input"] = match[2]
    return _check_plan(plan, steps)


def parse_edited_plan(plan: Mapping[str, Any], text: str) -> dict[str, Any] | str:
    """The answer with the edited plan, or a sentence about what is wrong with it."""
    try:
        edited = json.loads(text)
    except json.JSONDecodeError as error:
        return f"This is not JSON (line {error.lineno}: {error.msg}). The plan is unchanged. {CHOICES}"
    if not isinstance(edited, dict):
        return f"A plan must be a JSON object. The plan is unchanged. {CHOICES}"
    return _check_plan({**plan, **edited}, edited.get("steps", plan.get("steps")))


def read_review(known: Sequence[str], line: str) -> dict[str, Any] | str:
    words = line.replace(",", " ").split()
    only = bool(words) and words[0].lower() == "only"
    named = words[1:] if only else words
    if unknown := [name for name in named if name not in known]:
        return f"There is no source '{unknown[0]}'."
    if only and not named:
        return "Name the sources to keep."
    deny = [name for name in known if (name not in named if only else name in named)]
    return {"admit": [name for name in known if name not in deny], "deny": deny}


def edit_in(editor: str) -> EditText:
    """A function that opens a text in this editor."""

    def edit(text: str) -> str:
        with tempfile.TemporaryDirectory(prefix="stepwell-") as folder:
            file = Path(folder) / "plan.json"
            file.write_text(text, encoding="utf-8")
            subprocess.run([*shlex.split(editor), str(file)], check=False)  # noqa: S603  the user's own choice of editor
            return file.read_text(encoding="utf-8", errors="replace")

    return edit


def _editable(plan: Mapping[str, Any]) -> dict[str, Any]:
    """The parts of a plan that a person can sensibly change."""
    names = ("id", "tool", "input", "rationale", "dependsOn")
    steps = [{name: step[name] for name in names if name in step} for step in plan.get("steps", ())]
    form = {"words": plan.get("words"), "outline": list(plan.get("outline") or ())}
    return {"objective": plan.get("objective", ""), "steps": steps, "followUps": plan.get("followUps", 0), **form}


def _check_plan(plan: Mapping[str, Any], steps: Any) -> dict[str, Any] | str:
    from pydantic import ValidationError

    from stepwell.research.graph.schemas import ResearchPlan

    edited = {**plan, "steps": steps}
    try:
        checked = ResearchPlan.model_validate(edited)
    except ValidationError as error:
        return f"{describe_first_fault(error, 'the plan')}. The plan is unchanged. {CHOICES}"
    return {"decision": "edit", "plan": checked.model_dump(mode="json", by_alias=True)}
