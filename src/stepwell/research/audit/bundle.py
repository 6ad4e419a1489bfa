"""A run in one file that anyone can check: the trail, everything it refers to, and what is derived from it.

```
trail.jsonl         what happened                      sources/HASH     pages as they came
report.md           the report                         texts/HASH       their text, which quotes point into
claims.json         claims, quotes, sources            exchanged/HASH   other bodies that were sent or received
plan.json           the plan that was carried out      policy.md        the policy that applied
receipt.json        what was sent or refused           recording.jsonl  answers by request, for a replay
story.json          what led to the report, and what belongs to other branches of the thread
manifest.json       the format, and the hash and size of each of these
signature.json      who signed the manifest, and thereby the whole bundle (`signing.py`)
```

Report, claims, plan and policy are those of the story (`story.py`); the trail, the receipt and the stored bytes cover the whole
thread. There is one format, and every part of it is required (`forms.py`). A bundle that names another format is not judged.

The same vault and the same key give the same bytes. A bundle contains only what is in the vault: no path, user or machine name, no time
of packing.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from stepwell.errors import BundleError
from stepwell.research.audit.canonical import canonical, sha256
from stepwell.research.audit.container import Member, read_content, read_members, size_of, write_members
from stepwell.research.audit.exchanges.receipt import receipt_bytes
from stepwell.research.audit.exchanges.recording import recording_lines
from stepwell.research.audit.exchanges.replay import Replay
from stepwell.research.audit.ledger import read_evidence
from stepwell.research.audit.signing import MEMBER as SIGNATURE
from stepwell.research.audit.signing import PURPOSE, Signer
from stepwell.research.audit.story import evidence_of, story_of
from stepwell.research.audit.trail import Entry, from_line, head, to_line
from stepwell.research.audit.vault import EvidenceVault

FORMAT = "stepwell-bundle-6"
BODIES = ("sources", "texts", "exchanged")


async def write_bundle(vault: EvidenceVault, path: str | Path, signer: Signer | None = None) -> str:
    """Write all evidence of a vault to a file, which appears under its name only when it is complete; returns the trail's head.

    Without a `signer` the bundle is unsigned, and a check says so.
    """
    entries = await vault.entries()
    members = derived_members(entries)
    for name, digest in stored_members(entries).items():
        members[name] = await vault.get(digest)
    hashes = {name: (sha256(content), len(content)) for name, content in members.items()}
    members["manifest.json"] = manifest_bytes(hashes, head(entries))
    if signer is not None:
        members[SIGNATURE] = (await asyncio.to_thread(signer.sign, PURPOSE + members["manifest.json"])).to_bytes()
    await asyncio.to_thread(_write, Path(path), members)
    return head(entries)


def derived_members(entries: Sequence[Entry]) -> dict[str, bytes]:
    """The members derived from the trail alone. A check derives them again and compares."""
    story = story_of(entries)
    evidence = evidence_of(entries, story)
    members = {
        "trail.jsonl": b"".join(to_line(entry) for entry in entries),
        "claims.json": evidence.to_bytes(),
        "receipt.json": receipt_bytes(entries),
        "recording.jsonl": recording_lines(entries),
        "story.json": story.to_bytes(),
    }
    if evidence.plan is not None:
        members["plan.json"] = canonical(evidence.plan) + b"\n"
    return members


def stored_members(entries: Sequence[Entry]) -> dict[str, str]:
    """The members whose bytes the vault stores, each with the hash it must have. Includes pages and texts of all branches."""
    sources = read_evidence(entries).sources.values()
    told = evidence_of(entries, story_of(entries))
    pages = {source.bytes_sha256 for source in sources}
    texts = {source.text_sha256 for source in sources}
    named = (entry.data.get(name) for entry in entries for name in ("body_sha256", "asked_sha256"))
    bodies = {str(digest) for digest in named if digest is not None}
    members = {f"sources/{digest}": digest for digest in pages}
    members |= {f"texts/{digest}": digest for digest in texts}
    members |= {f"exchanged/{digest}": digest for digest in bodies - pages}
    if told.report_sha256 is not None:
        members["report.md"] = told.report_sha256
    if told.policy_sha256 is not None:
        members["policy.md"] = told.policy_sha256
    return members


def manifest_bytes(hashes: Mapping[str, tuple[str, int]], trail_head: str) -> bytes:
    """The manifest, from each member's hash and size."""
    members = {name: {"bytes": size, "sha256": digest} for name, (digest, size) in hashes.items()}
    return canonical({"format": FORMAT, "head": trail_head, "members": members}) + b"\n"


class BundleReader:
    """An open bundle. Close it, or use it in a `with`; `BundleError` if the file is not a bundle."""

    def __init__(self, path: str | Path) -> None:
        try:
            self._file = Path(path).open("rb")  # noqa: SIM115  # closed by close()
        except OSError as error:
            raise BundleError(f"The bundle '{Path(path).name}' cannot be opened ({error.strerror}).") from error
        try:
            self.members: dict[str, Member] = read_members(self._file, size_of(Path(path)))
        except BaseException:
            self._file.close()
            raise

    def read(self, name: str) -> bytes:
        if name not in self.members:
            raise BundleError(f"The bundle has no member '{name}'.")
        return read_content(self._file, self.members[name])

    def body(self, digest: str) -> bytes:
        """Stored bytes by their hash, from whichever folder has them; the hash is checked."""
        for folder in BODIES:
            if f"{folder}/{digest}" in self.members:
                content = self.read(f"{folder}/{digest}")
                if sha256(content) != digest:
                    raise BundleError(f"Member '{folder}/{digest}' was changed. Verify the bundle.")
                return content
        raise BundleError(f"The bundle has no bytes with sha256 {digest[:64]}.")

    def entries(self) -> list[Entry]:
        """The trail, which includes the questions, plans and users' answers that a replay needs."""
        return [from_line(line) for line in self.read("trail.jsonl").splitlines(keepends=True)]

    def replay(self) -> Replay:
        """The recorded answers; usable while the bundle is open."""
        return Replay(self.read("recording.jsonl"), self.body)

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def _write(path: Path, members: Mapping[str, bytes]) -> None:
    try:
        with _aside(path) as aside, aside.open("wb") as file:
            write_members(file, sorted(members.items()))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise BundleError(f"The bundle '{path.name}' could not be written ({error.strerror}).") from error


@contextmanager
def _aside(path: Path) -> Iterator[Path]:
    """A temporary file beside the wanted one, which replaces it on success and is deleted otherwise."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(descriptor)
    aside = Path(name)
    try:
        yield aside
        os.replace(aside, path)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise
