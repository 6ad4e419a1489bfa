"""Finds the skills in a backend: one listing for each source, and only those SKILL.md files that have changed since the last scan.

```
glob_info("*/SKILL.md", source) ─▶ rows with size and time = versions ─▶ same as before? what was read then
                                                                     └─▶ otherwise download_files and parse, in batches
```
What was read is part of the thread's own state (`SkillFile`), never of the middleware: one process serves many threads and tenants.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, NotRequired

from typing_extensions import TypedDict  # pydantic cannot build a JSON schema from typing's own before Python 3.12

from stepwell.backends import messages, paths
from stepwell.backends.steps import Steps
from stepwell.backends.text import version_of
from stepwell.middleware.skills.frontmatter import MAX_FILE_BYTES, SkillError, SkillMetadata, frontmatter_length, parse_skill
from stepwell.middleware.source_files import Source, SourceFile, Step, Verb, Work

_log = logging.getLogger(__name__)

PATTERN = "*/SKILL.md"
MAX_SKILLS = 2_000
"""How many skills a source may have."""
MAX_PARSED_CHARS = 200_000
"""How much frontmatter one run reads: that of a thousand skills, or of fifty with as much of it as possible, which takes a second. Files
beyond it are reported, and read in the next runs."""
_BATCH_FILES = 200
_BATCH_BYTES = 10_000_000


class SkillFile(TypedDict):
    """What is known of one SKILL.md."""

    version: str
    skill: NotRequired[SkillMetadata]
    """Only if the skill is not in the list because a later source has one with its name."""
    problem: NotRequired[str]


class Scan(NamedTuple):
    skills: list[SkillMetadata]
    files: dict[str, SkillFile]
    problems: list[str]


def scan(
    source: Source, folders: Sequence[str], skills: Sequence[SkillMetadata] = (), files: Mapping[str, SkillFile] | None = None
) -> Steps[Step, Scan]:
    """The skills in these folders. `skills` and `files` are what the last scan found."""
    problems: list[str] = []
    versions: dict[str, str] = {}
    sizes: dict[str, int] = {}
    for folder in folders:
        rows = yield Verb("glob_info", (PATTERN, folder))
        for row in _usable(rows, folder, problems):
            versions[row["path"]] = _version(row)
            sizes[row["path"]] = row.get("size") or 0
    found = _known(versions, skills, files or {})
    left, later = MAX_PARSED_CHARS, 0
    for batch in _batches([path for path in versions if path not in found], sizes):
        small = [path for path in batch if sizes[path] <= MAX_FILE_BYTES]
        for path in set(batch) - set(small):
            found[path] = f"it has {sizes[path]:,} bytes; at most {MAX_FILE_BYTES:,} are read. Move parts to other files"
        if left <= 0:
            later += len(small)
            continue
        texts = yield from source.read(small)
        unsaid = {file.path: version_of(file.text) for file in texts if file.text is not None and not versions[file.path]}
        versions.update(unsaid)
        found.update(_known(unsaid, skills, files or {}))
        changed = [file for file in texts if file.path not in found]
        if not changed:
            continue
        read, left = yield Work(read_skills, (changed, left))
        found.update(read)
        later += sum(file.text is not None and file.path not in read for file in changed)
    if later:
        problems.append(_beyond(later))
    return _merge(versions, found, problems)


def read_skills(files: Sequence[SourceFile], left: int) -> tuple[dict[str, SkillMetadata | str], int]:
    """The skills in these files, or why they cannot be used, as far as `left` characters of frontmatter go; and how many are left then."""
    found: dict[str, SkillMetadata | str] = {}
    for file in files:
        if left <= 0:
            break
        left -= frontmatter_length(file.text or "")
        if (skill := read_skill(file)) is not None:
            found[file.path] = skill
    return found, left


def read_skill(file: SourceFile) -> SkillMetadata | str | None:
    """A skill, why it cannot be used, or None if there is no such file."""
    if file.text is None:
        return file.problem
    try:
        return parse_skill(file.text, file.path)
    except SkillError as error:
        return str(error)


def _beyond(count: int) -> str:
    problem = (
        f"{count:,} skills are not read yet: a run reads at most {MAX_PARSED_CHARS:,} characters of frontmatter. The next one goes on. "
        "Use fewer sources, or shorten the frontmatter"
    )
    _log.warning("%s.", problem)
    return f"{problem}."


def source_problem(folder: str, said: str) -> str:
    problem = f"Cannot load skills from '{folder}': {said.removeprefix('Error: ')}"
    _log.warning("%s", problem)
    return problem


def _usable(rows: Any, folder: str, problems: list[str]) -> list[Any]:
    said = rows if isinstance(rows, str) else getattr(rows, "error", None) or getattr(rows, "note", None)
    if said and said != messages.no_folder(str(paths.resolve(folder))):  # a source may come into being later
        problems.append(source_problem(folder, said))
    if isinstance(rows, str):
        return []
    listed = [row for row in rows or () if not row.get("is_dir") and row["path"].endswith("/SKILL.md")]
    if len(listed) > MAX_SKILLS:
        problems.append(source_problem(folder, f"only the first {MAX_SKILLS:,} of {len(listed):,} are used."))
    return sorted(listed, key=lambda row: str(row["path"]))[:MAX_SKILLS]


def _version(row: Any) -> str:
    """What changes with every write. Empty if the backend does not say: then the file is read again, and its text decides."""
    if version := row.get("version"):
        return str(version)
    return f"{row.get('size')}|{row['modified_at']}|{row.get('file_id', '')}" if row.get("modified_at") else ""


def _known(
    versions: Mapping[str, str], skills: Sequence[SkillMetadata], files: Mapping[str, SkillFile]
) -> dict[str, SkillMetadata | str]:
    """What the last scan read and what has not changed since."""
    listed = {skill["path"]: skill for skill in skills}
    known: dict[str, SkillMetadata | str] = {}
    for path, version in versions.items():
        file = files.get(path)
        if file is None or not version or file["version"] != version:
            continue
        if held := file.get("problem") or file.get("skill") or listed.get(path):
            known[path] = held
    return known


def _batches(wanted: Sequence[str], sizes: Mapping[str, int]) -> Iterator[list[str]]:
    """Files to read together, so that many large ones are never in memory at once."""
    batch: list[str] = []
    size = 0
    for path in wanted:
        if batch and (len(batch) == _BATCH_FILES or size + sizes[path] > _BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(path)
        size += sizes[path]
    if batch:
        yield batch


def _merge(versions: Mapping[str, str], found: Mapping[str, SkillMetadata | str], problems: list[str]) -> Scan:
    """The skills in the order of their sources; of two with one name, the later one."""
    chosen: dict[str, SkillMetadata] = {}
    files: dict[str, SkillFile] = {}
    for path in versions:
        held = found.get(path)
        if held is None:
            continue
        files[path] = {"version": versions[path]}
        if isinstance(held, str):
            files[path]["problem"] = held
            problems.append(f"The skill at '{path}' is left out: {held}.")
            _log.warning("%s", problems[-1])
            continue
        if hidden := chosen.pop(held["name"], None):
            files[hidden["path"]]["skill"] = hidden
        chosen[held["name"]] = held
    return Scan(list(chosen.values()), files, problems)
