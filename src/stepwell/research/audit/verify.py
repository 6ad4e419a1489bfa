"""Checks a bundle without trusting its maker: every byte, hash and link of the chain, every quote, sentence, verdict and request.

```
by itself     nothing was changed since it was sealed, and its contents are consistent (`proofs/`)
head=...      it is the trail whose head you noted: nobody has rewritten it since
key=...       it was sealed by the installation whose public key you know: nobody else has rewritten it
strict=True   what could not be shown counts as a problem too: who signed it, where its pages came from, that it has a report
```

There is one format, and all of it is required: a bundle that lacks a field, or names another format, is not judged. A report that was not
compared with its claims never counts as valid. A check takes no longer than `limit_s`.

A check cannot show that the pages were online, or that the installation itself was honest. docs/explanation/evidence.md says more.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from stepwell.errors import BundleError, EvidenceError, MissingExtraError
from stepwell.research.audit.bundle import BundleReader
from stepwell.research.audit.demo import is_demo
from stepwell.research.audit.evidence import HELD, KEPT
from stepwell.research.audit.judged import judge_of
from stepwell.research.audit.ledger import Evidence
from stepwell.research.audit.limits import VERIFY_S, Patience
from stepwell.research.audit.proofs.contents import check_bytes, check_manifest, check_members, check_quotes, read_signer
from stepwell.research.audit.proofs.exchanges import NO_REQUESTS, check_exchanges, count_exchanges, lacks_requests
from stepwell.research.audit.proofs.judgements import judge_again
from stepwell.research.audit.proofs.opened import OpenedBundle, Trail
from stepwell.research.audit.proofs.origins import check_origins
from stepwell.research.audit.proofs.plans import check_plans
from stepwell.research.audit.proofs.rounds import check_rounds
from stepwell.research.audit.proofs.sentences import check_report
from stepwell.research.audit.signing import MEMBER as SIGNATURE
from stepwell.research.audit.signing import read_public_key
from stepwell.research.audit.story import check_story
from stepwell.research.audit.trail import DEEP, Defect
from stepwell.research.audit.trail import head as head_of
from stepwell.research.audit.verification import CheckedPart, Part, Verification

UNSIGNED = "Nobody has signed it, so nothing shows who made it."
NO_REPORT = "It has no report: what was researched had not ended when it was packed, or a program kept evidence alone."
BY_AGENT = (
    "An agent wrote it on its own plan (deep research): nobody approved its steps, and what its models answered is not kept, so nothing "
    "shows that its sentences are theirs."
)
UNCHECKED = "It is signed, and the signature could not be checked here: that needs pip install 'stepwell[research]'."
_HEAD = re.compile(r"[0-9a-f]{16,64}")
_SHORTEST_HEAD = 16


@dataclass(frozen=True, slots=True)
class Expected:
    """What a reader knows from elsewhere: a head that they noted, and the key of the signer they expect."""

    head: str | None = None
    key: str | None = None
    strict: bool = False


def verify_bundle(
    path: str | Path,
    *,
    head: str | None = None,
    key: str | Path | None = None,
    strict: bool = False,
    limit_s: float = VERIFY_S,
) -> Verification:
    """Check a bundle. Each problem says in which member it is, and what is wrong. A file that is not a bundle is one problem, not an
    exception.

    `head` is a head the reader noted, or at least its first 16 digits; `key` a public key as `stepwell doctor` prints it, or the path of a
    file with one. `EvidenceError` if they are invalid. A bundle that is too large, or takes longer than `limit_s`, is not judged, which
    counts as a problem too.
    """
    expected = Expected(None if head is None else read_head(head), None if key is None else read_public_key(key), strict)
    return _verify_file(Path(path), expected, Patience.of(limit_s))


def _verify_file(path: Path, expected: Expected, patience: Patience) -> Verification:
    try:
        with BundleReader(path) as bundle:
            return _verify(OpenedBundle(bundle, patience), expected)
    except BundleError as error:
        defect = Defect("the file", str(error))
        return Verification(False, (defect,), parts=(CheckedPart("file", 1, (defect,)),))


def read_head(given: str) -> str:
    """A head as a reader noted it: in groups, in capitals, or only its beginning."""
    noted = "".join(given.split()).rstrip("….").lower()
    if not _HEAD.fullmatch(noted):
        raise EvidenceError(
            f"'{given[:80]}' is not the head of a trail: that has 64 hexadecimal digits; give at least the first {_SHORTEST_HEAD}."
        )
    return noted


@dataclass
class _Findings:
    """What has been found so far."""

    parts: list[CheckedPart] = field(default_factory=list)
    signed_by: str | None = None
    lacks: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    marked_today: tuple[Defect, ...] = ()

    def add(self, part: Part, checked: int, problems: Iterable[Defect]) -> None:
        self.parts.append(CheckedPart(part, checked, tuple(dict.fromkeys(problems))))


def _verify(opened: OpenedBundle, expected: Expected) -> Verification:
    found = _Findings()
    if unknown := list(opened.check_form()):
        found.add("manifest", 1, unknown)
        return _put_together(found, opened, None, expected)
    found.add("bytes", len(opened.hashes), check_bytes(opened))
    trail, damage = opened.read_trail()
    found.add("trail", len(trail.entries) if trail else 0, damage)
    if trail is None:
        return _put_together(found, opened, None, expected)
    found.add("manifest", len(opened.hashes), check_manifest(opened, trail))
    _check_signature(opened, expected, found)
    if expected.head is not None:
        found.add("head", 1, _head_problems(head_of(trail.entries), expected.head))
    _check_contents(opened, trail, expected, found)
    if expected.strict:
        lacking = (Defect("manifest.json", sentence) for sentence in found.lacks)
        found.add("strict", len(found.lacks) + len(found.marked_today), [*lacking, *found.marked_today])
    return _put_together(found, opened, trail, expected)


def _check_signature(opened: OpenedBundle, expected: Expected, found: _Findings) -> None:
    """If the signature cannot be checked, a caller who expects a key gets an error; others are told that it was not checked."""
    try:
        signature, problems = read_signer(opened)
    except MissingExtraError:
        if expected.key is not None:
            raise
        found.lacks.append(UNCHECKED)
        return
    found.signed_by = signature.key if signature else None
    if expected.key is not None and not problems:
        problems = list(_key_problems(found.signed_by, expected.key))
    if SIGNATURE in opened.contents or expected.key is not None:
        found.add("signature", 1, problems)
    else:
        found.lacks.append(UNSIGNED)


def _key_problems(signed_by: str | None, key: str) -> Iterator[Defect]:
    if signed_by is None:
        yield Defect(SIGNATURE, f"is missing: nothing shows that {key} sealed this bundle")
    elif signed_by != key:
        yield Defect(SIGNATURE, f"is of {signed_by}, not of {key}: somebody else has sealed this bundle")


def _head_problems(head: str, noted: str) -> Iterator[Defect]:
    if not head.startswith(noted):
        yield Defect(
            "trail.jsonl", f"ends in {head}, and {noted} was noted: it was written anew, or the thread has gone on since"
        )


def _check_contents(opened: OpenedBundle, trail: Trail, expected: Expected, found: _Findings) -> None:
    evidence, told = trail.evidence, trail.told
    found.add("members", len(opened.bundle.members), check_members(opened, trail))
    found.add("quotes", len(evidence.quotes), check_quotes(opened, evidence))
    found.add("claims", len(evidence.claims), _claim_problems(evidence))
    judged = judge_again(opened, trail, evidence)
    found.marked_today = tuple(judged.marked_today)
    # We trust that older checks were run only if the expected key has signed the bundle.
    is_known = expected.key is not None and found.signed_by == expected.key
    found.add("checks", len(evidence.claims), [*judged.problems, *(() if is_known else judged.marked_today)])
    found.add("report", int("report.md" in opened.contents), check_report(opened, trail, evidence, told))
    found.add("story", len(trail.story.entries), check_story(trail.story, trail.entries))
    rounds = len(trail.of_kind("plan", "approval", "follow_up", "document_search"))
    found.add("plans", rounds, [*check_plans(opened, trail), *check_rounds(opened, trail)])
    found.add("requests", count_exchanges(trail), check_exchanges(trail, evidence))
    if origins := trail.of_kind("origin"):
        inside = check_origins(opened, trail, lambda file: _verify_file(file, Expected(), opened.patience.deeper()))
        found.add("origins", len(origins), inside.problems)
        found.lacks += inside.lacks
        found.notes += inside.notes
    found.lacks += [NO_REQUESTS] if lacks_requests(trail, evidence) else []
    found.lacks += [NO_REPORT] if trail.story.last("report") is None else []
    asked = trail.story.last("question")
    found.notes += [BY_AGENT] if asked is not None and asked.data["mode"] == DEEP else []


def _claim_problems(evidence: Evidence) -> Iterator[Defect]:
    for claim in evidence.claims.values():
        known = [each for each in claim.evidence if each in evidence.quotes]
        unknown = sorted(set(claim.evidence) - set(known))
        if claim.verdict in HELD and unknown:
            yield Defect(
                "claims.json", f"claim {claim.claim_id} is called {claim.verdict} by {', '.join(unknown)}, which is not there"
            )
        if claim.verdict in KEPT and not known:
            yield Defect("claims.json", f"claim {claim.claim_id} is called {claim.verdict} and cites nothing that is there")


def _put_together(found: _Findings, opened: OpenedBundle, trail: Trail | None, expected: Expected) -> Verification:
    problems = tuple(dict.fromkeys(problem for part in found.parts for problem in part.problems))
    if trail is None:
        return Verification(False, problems, parts=tuple(found.parts), form=opened.form)
    evidence = trail.evidence
    return Verification(
        not problems,
        problems,
        head_of(trail.entries),
        len(evidence.sources),
        len(evidence.quotes),
        len(evidence.claims),
        len(trail.story.elsewhere),
        parts=tuple(found.parts),
        form=opened.form,
        signed_by=found.signed_by,
        vouched=None if expected.key is None else found.signed_by == expected.key,
        lacks=tuple(found.lacks),
        notes=tuple(found.notes),
        marked_today=found.marked_today,
        judge=_describe_judge(trail),
    )


def _describe_judge(trail: Trail) -> str:
    judge = judge_of(trail.story.last("report"))
    return judge.describe() if judge and not is_demo(trail.entries) else ""
