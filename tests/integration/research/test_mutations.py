"""Every field of every kind of entry, and every line of a report, changed one at a time by somebody who can seal a bundle anew and does not
have its owner's key: deleted, emptied, of another type, doubled, turned round, with items dropped.

Whatever the file itself can show is found without a key. What it cannot is listed here by name, and docs/explanation/evidence.md tells the
reader; with the owner's key, and strictly, all of it is found.
"""

from __future__ import annotations

import copy
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Effort

from stepwell.errors import StepwellError
from stepwell.research.audit.signing import SigningKey
from stepwell.research.audit.trail import Entry
from stepwell.research.audit.verification import Verification
from stepwell.research.audit.verify import verify_bundle

from .forging import Forgery, owner_of, take_apart

Place = tuple[str | int, ...]

UNSEEN = [
    # Words of people and programs on which nothing else in the trail rests.
    r"approval\.(?:reason|stop) .*",
    r"question\.(?:embedder|mode|turn|knowledge_context|context_urls) .*",
    r"report\.(?:turn|removed_links) .*",
    r"plan\.plan\.steps\.\d+\.output .*",
    r"audit\.audit\.(?:suggestions|left_to_the_human)\b.*",
    # The question, where no model was asked about it.
    r"question\.query changed \(extractive\)",
    # What an answer was besides its body and its status. Where a model is; the host of a page is in its address.
    r"(?:response|model_call)\.(?:answer\b.*|bytes .*)",
    r"request\.(?:bytes|resend|model|host|why) .*",
    # How a source is described, where it is not cited. Whether its list of pages is that of the document.
    r"source\.(?:title|media_type|fetched_at|engine|robots|pages|url) .*",
    # Sources and quotes that no sentence cites.
    r"report\.(?:quotes|sources) (?:reversed|shortened)",
]
"""`kind.field change` of what nobody can see without the key, as patterns."""
_UNSEEN = re.compile("|".join(f"(?:{each})" for each in UNSEEN))


@dataclass(frozen=True)
class Mutation:
    entry: int
    kind: str
    place: Place
    change: str

    @property
    def name(self) -> str:
        return f"{self.kind}.{'.'.join(map(str, self.place))} {self.change}"


def changes_of(value: Any) -> Iterator[tuple[str, Any]]:
    """What a value may become; deleting it is another matter."""
    yield "nulled", None
    yield "retyped", {"str": 7, "int": "7", "bool": "no", "list": {}, "dict": [], "NoneType": 7}[type(value).__name__]
    match value:
        case bool():
            yield "turned", not value
        case int():
            yield "changed", value + 1
            yield "emptied", 0
        case str():
            yield "changed", _other(value)
            yield "emptied", ""
        case list() if value:
            yield "emptied", []
            yield "doubled", [*value, value[-1]]
            yield "shortened", value[:-1]
            if len(value) > 1:
                yield "reversed", value[::-1]
        case dict() if value:
            yield "emptied", {}
            yield "widened", {**value, "more": "x"}


def _other(text: str) -> str:
    """Another text of the same kind: a hash stays one, and so does a name with a number."""
    if re.fullmatch(r"[0-9a-f]{64}", text):
        return text[:-1] + ("0" if text[-1] != "0" else "1")
    return text[:-1] + ("x" if text[-1:] != "x" else "y") if text else "x"


def places_of(value: Any, place: Place = ()) -> Iterator[Place]:
    """Every field, and the first item of every list."""
    if place:
        yield place
    inner = value.items() if isinstance(value, dict) else list(enumerate(value))[:1] if isinstance(value, list) else ()
    for name, each in inner:
        yield from places_of(each, (*place, name))


def at(data: Any, place: Place) -> Any:
    for name in place:
        data = data[name]
    return data


def list_mutations(forgery: Forgery) -> list[Mutation]:
    """Of each kind of entry, its first and its last: every place of its data, in every way."""
    found = []
    for kind in dict.fromkeys(entry.kind for entry in forgery.entries):
        for entry in dict.fromkeys(map(forgery.entries.index, (forgery.of_kind(kind)[0], forgery.of_kind(kind)[-1]))):
            data = forgery.entries[entry].data
            for place in places_of(data):
                if (kind, place) == ("report", ("sha256",)):
                    continue  # made anew by whoever seals it
                names = ["deleted", *(name for name, new in changes_of(at(data, place)) if new != at(data, place))]
                found += [Mutation(entry, kind, place, name) for name in names]
    return found


def apply(forgery: Forgery, mutation: Mutation) -> None:
    data = forgery.entries[mutation.entry].data
    parent, last = at(data, mutation.place[:-1]), mutation.place[-1]
    if mutation.change == "deleted":
        del parent[last]
    else:
        parent[last] = copy.deepcopy(dict(changes_of(parent[last]))[mutation.change])


def holds_plainly(checked: Verification) -> bool:
    """Whether nothing but the named key and strictness stands against it."""
    return not any(part.problems for part in checked.parts if part.part not in ("signature", "strict"))


def check(forgery: Forgery, owner: SigningKey, folder: Path, *, signed: bool) -> tuple[bool, bool]:
    """Sealed by a stranger: whether it holds by itself, and whether with the owner's key. What cannot be sealed is no bundle."""
    try:
        file = forgery.seal(folder / "forged.zip", SigningKey(folder / "stranger") if signed else None)
    except (StepwellError, TypeError, KeyError, ValueError, AttributeError):
        return False, False
    checked = verify_bundle(file, key=owner.public_key(), strict=True)
    return holds_plainly(checked), checked.ok


@pytest.mark.prove
@pytest.mark.parametrize("mode", ["extractive", "written"])
def test_a_changed_field_is_found_by_the_file_or_by_the_key(
    bundles: dict[str, Path], mode: str, tmp_path: Path, effort: Effort, record_property: Any
) -> None:
    chance, original = random.Random(5), take_apart(bundles[mode])
    mutations = list_mutations(original)
    tried = chance.sample(mutations, min(len(mutations), effort.cases(80, 100_000)))
    passed: list[str] = []
    for mutation in tried:
        forgery = take_apart(bundles[mode])
        apply(forgery, mutation)
        plainly, with_key = check(forgery, owner_of(bundles[mode]), tmp_path, signed=chance.random() < 0.5)
        assert not with_key, mutation
        if plainly:
            passed.append(mutation.name if mode == "written" else f"{mutation.name} ({mode})")
    unexpected = [
        name for name in passed if not _UNSEEN.fullmatch(name) and not _UNSEEN.fullmatch(name.removesuffix(" (extractive)"))
    ]
    assert not unexpected, sorted(set(unexpected))
    record_property("mutations", f"{len(tried)} of {len(mutations)}: {len(passed)} need the key")


def test_a_deleted_or_retyped_field_is_never_let_through(bundles: dict[str, Path], tmp_path: Path) -> None:
    """The top fields of the entries that a reader relies on most; the test above takes all, by chance."""
    original = take_apart(bundles["written"])
    for mutation in list_mutations(original):
        told = mutation.kind in ("question", "plan", "approval", "claim", "report") and len(mutation.place) == 1
        if not told or mutation.change not in ("deleted", "retyped"):
            continue
        forgery = take_apart(bundles["written"])
        apply(forgery, mutation)
        plainly, _ = check(forgery, owner_of(bundles["written"]), tmp_path, signed=True)
        assert not plainly, mutation


@pytest.mark.parametrize("mode", ["extractive", "written"])
def test_a_line_of_the_report_that_is_changed_doubled_or_left_out_is_found(
    bundles: dict[str, Path], mode: str, tmp_path: Path
) -> None:
    lines = take_apart(bundles[mode]).report.split("\n")
    for number, line in enumerate(lines):
        if not line.strip() or line.startswith("#"):
            continue
        for change, new in (("left out", []), ("doubled", [line, line]), ("changed", [_other(line)])):
            forgery = take_apart(bundles[mode])
            forgery.report = "\n".join([*lines[:number], *new, *lines[number + 1 :]])
            plainly, with_key = check(forgery, owner_of(bundles[mode]), tmp_path, signed=True)
            assert (plainly, with_key) == (False, False), (change, line)


@pytest.mark.parametrize("mode", ["extractive", "written"])
def test_an_entry_that_a_report_rests_on_cannot_be_dropped(bundles: dict[str, Path], mode: str, tmp_path: Path) -> None:
    for kind in ("question", "plan", "audit", "approval", "claim", "quote", "source", "report"):
        for number in range(len(take_apart(bundles[mode]).of_kind(kind))):
            forgery = take_apart(bundles[mode])
            gone: Entry = forgery.of_kind(kind)[number]
            cited = str([entry.data for entry in forgery.of_kind("report")])
            forgery.drop(gone)
            if kind == "report":
                continue  # nothing is left that could be called its report
            plainly, with_key = check(forgery, owner_of(bundles[mode]), tmp_path, signed=True)
            named = str(gone.data.get(f"{kind}_id", ""))
            assert not with_key
            assert not plainly or f"'{named}'" not in cited, gone.key
