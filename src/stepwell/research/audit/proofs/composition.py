"""Checks whether a report that a model wrote is composed of what models answered, by doing it again.

```
writing   draft ─> first draft ─┬─ sentences that differ: `before`, all of them ─> asked about ─> revision ─┐
                                └─ the others ──────────────────────────────────────────────────────────────┴─> the report's claims
```

A report without an entry `writing` before it, as older versions wrote it, must be one answer, sentence by sentence.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from stepwell.research.audit.evidence import Claim
from stepwell.research.audit.forms import scope_of
from stepwell.research.audit.proofs.opened import OpenedBundle, Trail, text_at
from stepwell.research.audit.trail import Defect, Entry
from stepwell.research.audit.writing.composed import Composed, compose
from stepwell.research.audit.writing.draft import Draft, read_draft
from stepwell.research.audit.writing.revised import (
    apply_revision,
    list_differing,
    read_revision,
    read_shown,
    show_sentence,
)

TRAIL = "trail.jsonl"
_LONGEST_DRAFT = 1_000_000
_MAX_ASKED = 8_000_000
_BEFORE = re.compile(r"(?:.*\.)?b([1-9]\d{0,4})")
Stated = tuple[str, tuple[str, ...]]


@dataclass(frozen=True)
class Recomposed:
    """The result: what is wrong, and what the report must say that it did not find."""

    problems: list[Defect]
    not_found: tuple[str, ...] = ()


def recompose(opened: OpenedBundle, trail: Trail, report: Entry, claims: Sequence[Claim]) -> Recomposed:
    """Composes a report again; `claims` are those it has."""
    writing = next((entry for entry in trail.of_kind("writing") if entry.key == report.data["after"]), None)
    if writing is None:
        if not claims or _is_one_answer(opened, trail, report, claims):
            return Recomposed([])
        fact = f"entry {report.seq} (report) does not rest on what the model answered that wrote it"
        return Recomposed([Defect(TRAIL, fact)])
    again = _Composition(opened, trail, writing, claims)
    faults = [Defect(TRAIL, f"entry {writing.seq} (writing) {fact}") for fact in again.find_faults()]
    return Recomposed(faults, again.composed.not_found if again.composed else ())


def approved_outline(trail: Trail) -> list[str]:
    """The sections of the plan that the report follows."""
    plan = trail.story.last("plan")
    return list(plan.data["plan"].get("outline", ())) if plan else []


def _is_one_answer(opened: OpenedBundle, trail: Trail, report: Entry, claims: Sequence[Claim]) -> bool:
    """Whether a recorded draft has these sentences with these citations."""
    own = re.compile(rf"{re.escape(scope_of(report))}:write:[^:]+:answer")
    for answer in trail.of_kind("model_call"):
        opened.patience.go_on()
        if answer.seq < report.seq and own.fullmatch(answer.key):
            text = _read(opened, answer)
            if text is not None and _state(read_draft(text).claims()) == _state(claims):
                return True
    return False


class _Composition:
    """One report's composition, done again."""

    def __init__(self, opened: OpenedBundle, trail: Trail, writing: Entry, claims: Sequence[Claim]) -> None:
        self._opened = opened
        self._trail = trail
        self._writing = writing
        self._claims = claims
        self._scope = scope_of(writing)
        self._answers = {entry.key: entry for entry in trail.of_kind("model_call") if entry.seq < writing.seq}

    def find_faults(self) -> Iterator[str]:
        data = self._writing.data
        if self.composed is None:
            yield "does not name what the model answered that wrote it"
            return
        draft = self.composed.draft
        before = self._read_before(data["before"])
        if before is None:
            yield "names sentences as they were before that are not there"
        elif data["revision"] is None:
            yield from self._check_unrevised(draft, before)
        else:
            yield from self._check_revised(draft, before, data["revision"])

    @cached_property
    def composed(self) -> Composed | None:
        """The first draft, from the answers that it consists of; `None` if they are not there."""
        keys, question = self._writing.data["draft"], self._trail.story.last("question")
        text = self._answer(keys[0], r"write:[^:]+") if len(keys) == 1 else None
        if text is None or question is None:
            return None
        return compose([text], question.data["query"], approved_outline(self._trail))

    def _read_before(self, names: Sequence[str]) -> dict[int, Claim] | None:
        """The sentences that went back, by their number in the first draft; `None` if one is not there or they are not in order."""
        found: dict[int, Claim] = {}
        for name in names:
            number, claim = _BEFORE.fullmatch(name), self._trail.evidence.claims.get(name)
            if number is None or claim is None or int(number[1]) <= max(found, default=0):
                return None
            found[int(number[1])] = claim
        return found

    def _check_unrevised(self, draft: Draft, before: dict[int, Claim]) -> Iterator[str]:
        if before or _state(draft.claims()) != _state(self._claims):
            yield "gives the report other sentences than the model answered"
        elif list_differing(self._claims) and not self._says_why_not():
            yield "has sentences that differ from their sources, and nothing says why they did not go back to the writer"

    def _says_why_not(self) -> bool:
        noted = f"{self._scope}:limit:revise"
        return any(limit.key == noted or limit.key.startswith(f"{noted}:") for limit in self._trail.of_kind("limit"))

    def _check_revised(self, draft: Draft, before: dict[int, Claim], key: str) -> Iterator[str]:
        text = self._answer(key, r"write:revise:[^:]+")
        if text is None:
            yield "does not name what the model answered that corrected it"
            return
        stated = draft.claims()
        if any(number > len(stated) for number in before):
            yield "says of sentences that they were corrected which the model did not answer"
            return
        revised = apply_revision(draft, read_revision(text, before))
        if _state(revised.draft.claims()) != _state(self._claims):
            yield "gives the report other sentences than the models answered"
            return
        first = {number: claim for number, claim in before.items() if _state([claim]) == _state([stated[number - 1]])}
        kept = {origin: claim for claim, origin in zip(self._claims, revised.origins, strict=True) if origin}
        if len(first) < len(before) or list_differing(
            [(first | kept).get(each, stated[each - 1]) for each in _numbers(stated)]
        ) != list(before):
            yield "sent other sentences back to the writer than those that differ from their sources"
        if self._asked_about(key) != {number: show_sentence(number, claim) for number, claim in before.items()}:
            yield "names a correction that was not asked for"

    def _asked_about(self, key: str) -> dict[int, str]:
        """The sentences in a request for corrections, by number."""
        body = self._opened.body(self._answers[key].data["asked_sha256"])
        try:
            messages = json.loads((body or b"")[:_MAX_ASKED])
            return read_shown(text_at(messages[-1], "content"))
        except (ValueError, TypeError, LookupError, RecursionError):
            return {}

    def _answer(self, key: str, form: str) -> str | None:
        """A model's answer by its key, which must have this form; `None` if it is not there."""
        if not re.fullmatch(rf"{re.escape(self._scope)}:{form}:answer", key) or key not in self._answers:
            return None
        self._opened.patience.go_on()
        return _read(self._opened, self._answers[key])


def _numbers(claims: Sequence[Claim]) -> range:
    return range(1, len(claims) + 1)


def _read(opened: OpenedBundle, answer: Entry) -> str | None:
    body = opened.body(answer.data.get("body_sha256"))
    return None if body is None or len(body) > _LONGEST_DRAFT else body.decode("utf-8", "replace")


def _state(claims: Sequence[Claim]) -> list[Stated]:
    return [(claim.text, claim.evidence) for claim in claims]
