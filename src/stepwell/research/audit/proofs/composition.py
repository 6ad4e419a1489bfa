"""Checks whether a report that a model wrote is composed of what models answered, by doing it again.

```
`draft`: one answer, or sections and the answer at the top ─> first draft
first draft ─┬─ sentences that differ, or that the `critic` names: all of them, in `before` ─> asked about ─> `revision` ─┐
             └─ the others ──────────────────────────────────────────────────────────────────────────────────────────────┴─> claims
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
from stepwell.research.audit.proofs.opened import OpenedBundle, Trail, text_at
from stepwell.research.audit.trail import Defect, Entry, scope_of
from stepwell.research.audit.verdicts import RANK
from stepwell.research.audit.writing.composed import LEAST_SECTIONS, Composed, compose, compose_sections
from stepwell.research.audit.writing.draft import Draft, read_draft
from stepwell.research.audit.writing.lacks import Lack, allows_adding, list_criticised, read_lacks
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
_SECTION = re.compile(r"write:section:(\d)")
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
    for answer in trail.of_kind("model_call"):
        opened.patience.go_on()
        if answer.seq < report.seq and _call_of(answer.key, scope_of(report)) == "write":
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
        self._outline = approved_outline(trail)
        self._answers = {entry.key: entry for entry in trail.of_kind("model_call") if entry.seq < writing.seq}

    def find_faults(self) -> Iterator[str]:
        data = self._writing.data
        if self.composed is None:
            yield "does not name what the models answered that wrote it"
            return
        before = self._read_before(data["before"])
        if before is None:
            yield "names sentences as they were before that are not there"
            return
        yield from self._find_missing_parts()
        lacks = self._read_lacks()
        if lacks is None:
            yield "does not name what a critic answered"
        elif data["revision"] is None:
            yield from self._check_unrevised(self.composed.draft, before, lacks)
        else:
            yield from self._check_revised(self.composed.draft, before, lacks, data["revision"])

    @cached_property
    def composed(self) -> Composed | None:
        """The first draft, from the answers that it consists of; `None` if they are not there."""
        keys, question = self._writing.data["draft"], self._trail.story.last("question")
        if question is None:
            return None
        query = question.data["query"]
        if len(self._outline) < LEAST_SECTIONS:
            text = self._answer(keys[0], "write") if len(keys) == 1 else None
            return None if text is None else compose(text, query, self._outline)
        parts = self._read_parts(keys)
        return None if parts is None else compose_sections(parts[0], parts[1], query, self._outline)

    def _read_parts(self, keys: Sequence[str]) -> tuple[dict[int, str], str] | None:
        """The sections by number and the answer at the top; `None` if an answer is not there, or they are not in order."""
        sections: dict[int, str] = {}
        for place, key in enumerate(keys):
            number = self._section_number(key)
            if number is None:
                top = self._answer(key, "write:answer") if sections and place == len(keys) - 1 else None
                return None if top is None else (sections, top)
            text = self._answer(key, f"write:section:{number}")
            if text is None or not max(sections, default=0) < number <= len(self._outline):
                return None
            sections[number] = text
        return sections, ""

    def _section_number(self, key: str) -> int | None:
        match = _SECTION.fullmatch(_call_of(key, self._scope))
        return int(match[1]) if match else None

    def _find_missing_parts(self) -> Iterator[str]:
        """Sections, an answer at the top and a critic that nobody was asked for, although nothing says why not."""
        if len(self._outline) < LEAST_SECTIONS:
            return
        keys = self._writing.data["draft"]
        written = {self._section_number(key) for key in keys}
        missing = [f"section:{number}" for number in range(1, len(self._outline) + 1) if number not in written]
        if any(RANK[claim.verdict] >= RANK["partial"] for claim in self._claims):
            missing += [] if None in written else ["answer"]
            missing += [] if self._writing.data["critic"] else ["critic"]
        for part in missing:
            if not self._says_why_not(part):
                yield f"lacks its part '{part}', and nothing says why"

    def _read_lacks(self) -> tuple[Lack, ...] | None:
        """What a critic missed; `None` if its answer is not there, or nobody was to be asked for one."""
        key = self._writing.data["critic"]
        if key is None or self.composed is None:
            return ()
        text = self._answer(key, "critic") if len(self._outline) >= LEAST_SECTIONS else None
        return None if text is None else read_lacks(text, len(self.composed.draft.claims()))

    def _read_before(self, names: Sequence[str]) -> dict[int, Claim] | None:
        """The sentences that went back, by their number in the first draft; `None` if one is not there or they are not in order."""
        found: dict[int, Claim] = {}
        for name in names:
            number, claim = _BEFORE.fullmatch(name), self._trail.evidence.claims.get(name)
            if number is None or claim is None or int(number[1]) <= max(found, default=0):
                return None
            found[int(number[1])] = claim
        return found

    def _check_unrevised(self, draft: Draft, before: dict[int, Claim], lacks: Sequence[Lack]) -> Iterator[str]:
        if before or _state(draft.claims()) != _state(self._claims):
            yield "gives the report other sentences than the models answered"
        elif (_choose(self._claims, lacks) or allows_adding(lacks)) and not self._says_why_not("revise"):
            yield "has sentences that differ from their sources, and nothing says why they did not go back to the writer"

    def _says_why_not(self, part: str) -> bool:
        noted = f"{self._scope}:limit:{part}"
        return any(limit.key == noted or limit.key.startswith(f"{noted}:") for limit in self._trail.of_kind("limit"))

    def _check_revised(self, draft: Draft, before: dict[int, Claim], lacks: Sequence[Lack], key: str) -> Iterator[str]:
        text = self._answer(key, "write:revise")
        if text is None:
            yield "does not name what the model answered that corrected it"
            return
        stated = draft.claims()
        if any(number > len(stated) for number in before):
            yield "says of sentences that they were corrected which the model did not answer"
            return
        revised = apply_revision(draft, read_revision(text, before, adding=allows_adding(lacks)))
        if _state(revised.draft.claims()) != _state(self._claims):
            yield "gives the report other sentences than the models answered"
            return
        first = {number: claim for number, claim in before.items() if _state([claim]) == _state([stated[number - 1]])}
        kept = {origin: claim for claim, origin in zip(self._claims, revised.origins, strict=True) if origin}
        judged = [(kept | first).get(number, claim) for number, claim in enumerate(stated, 1)]
        if len(first) < len(before) or _choose(judged, lacks) != list(before):
            yield "sent other sentences back to the writer than those that differ from their sources or were criticised"
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

    def _answer(self, key: str, call: str) -> str | None:
        """A model's answer by its key, which must be that of this call; `None` if it is not there."""
        if _call_of(key, self._scope) != call or key not in self._answers:
            return None
        self._opened.patience.go_on()
        return _read(self._opened, self._answers[key])


def _call_of(key: str, scope: str) -> str:
    """The call that an answer belongs to: `write` for `q1:write:0123456789ab:answer`; empty for other keys."""
    own, *call, _, answer = key.split(":") if key.count(":") > 2 else ("", "", "")
    return ":".join(call) if (own, answer) == (scope, "answer") else ""


def _choose(claims: Sequence[Claim], lacks: Sequence[Lack]) -> list[int]:
    """The numbers of the sentences that go back to the writer."""
    return sorted({*list_differing(claims), *list_criticised(lacks)})


def _read(opened: OpenedBundle, answer: Entry) -> str | None:
    body = opened.body(answer.data.get("body_sha256"))
    return None if body is None or len(body) > _LONGEST_DRAFT else body.decode("utf-8", "replace")


def _state(claims: Sequence[Claim]) -> list[Stated]:
    return [(claim.text, claim.evidence) for claim in claims]
