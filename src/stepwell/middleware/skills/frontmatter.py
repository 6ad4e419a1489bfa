"""What a SKILL.md says about itself, by the rules of the Agent Skills specification.

```
---
name: web-research          1 to 64 characters: lower case, digits, single hyphens; the same as the folder's name
description: When to ...    up to 1,024 characters
license, compatibility (up to 500), metadata (a mapping), allowed-tools (a string or a list)
---
```
A skill without name or description is left out. A name that breaks the rules is reported and works; a text that is too long is cut.

The file is data from anywhere: the frontmatter is limited in size, YAML's aliases are refused (a few lines of them stand for
gigabytes), and only YAML's plain types are read.
"""

from __future__ import annotations

import logging
import re
from functools import lru_cache
from typing import Any

from typing_extensions import TypedDict  # pydantic cannot build a JSON schema from typing's own before Python 3.12

_log = logging.getLogger(__name__)

MAX_FILE_BYTES = 1_000_000
MAX_FRONTMATTER_CHARS = 4_000
"""Several times what the fields may have altogether. YAML takes up to 5 milliseconds for 1,000 characters."""
MAX_NAME_CHARS = 64
MAX_DESCRIPTION_CHARS = 1024
MAX_COMPATIBILITY_CHARS = 500

_MARK = "---"
_SEPARATORS = re.compile(r"[\s,]+")


class SkillMetadata(TypedDict):
    """What an agent knows of a skill before it reads it."""

    path: str
    """Its SKILL.md in the backend."""
    name: str
    description: str
    license: str | None
    compatibility: str | None
    metadata: dict[str, str]
    allowed_tools: list[str]


class SkillError(Exception):
    """A SKILL.md that cannot be used; the message says why."""


def parse_skill(text: str, path: str) -> SkillMetadata:
    """The metadata of the skill whose SKILL.md is at `path`."""
    if len(text) > MAX_FILE_BYTES:
        raise SkillError(f"it has {len(text):,} characters; at most {MAX_FILE_BYTES:,} are read. Move parts to other files")
    given = _load(split(text)[0])
    if not isinstance(given, dict):
        raise SkillError("its frontmatter is not a list of keys and values. Write 'name: ...' and 'description: ...'")
    try:
        return _fields(given, path)
    except ValueError:  # a short hexadecimal number may have more digits than Python writes
        raise SkillError("a number in its frontmatter has too many digits. Put quotes around it") from None


def _fields(given: dict[Any, Any], path: str) -> SkillMetadata:
    name, description = _word(given, "name"), _word(given, "description")
    if not name or not description:
        raise SkillError("its frontmatter lacks name or description. Add both")
    if problem := name_problem(name, path.split("/")[-2]):
        _log.warning("The skill %r (%s) does not follow the specification: %s.", name, path, problem)
    compatibility = _word(given, "compatibility")
    return {
        "path": path,
        "name": name,
        "description": _cut("description", description, MAX_DESCRIPTION_CHARS, path),
        "license": _word(given, "license") or None,
        "compatibility": _cut("compatibility", compatibility, MAX_COMPATIBILITY_CHARS, path) or None,
        "metadata": plain_metadata(given.get("metadata"), path),
        "allowed_tools": _tool_names(given.get("allowed-tools"), path),
    }


def split(text: str) -> tuple[str, str]:
    """The frontmatter and the body."""
    lines = text[: MAX_FRONTMATTER_CHARS + 1].split("\n")
    if lines[0].rstrip() != _MARK:
        raise SkillError("it has no frontmatter. Begin it with a line '---', name, description, and another line '---'")
    end = next((number for number, line in enumerate(lines[1:], 1) if line.rstrip() == _MARK), None)
    if end is None:
        raise SkillError(
            f"its frontmatter does not end within {MAX_FRONTMATTER_CHARS:,} characters. Close it with a line '---'"
        )
    head = "\n".join(lines[1:end])
    return head, text[len("\n".join(lines[: end + 1])) :].lstrip("\r\n")


def frontmatter_length(text: str) -> int:
    """How many characters of YAML a file has; none if it cannot be read."""
    try:
        return len(split(text)[0])
    except SkillError:
        return 0


def name_problem(name: str, folder: str) -> str | None:
    """Which rule a name breaks; None if it breaks none."""
    if not name:
        return "name is required"
    if len(name) > MAX_NAME_CHARS:
        return f"name has more than {MAX_NAME_CHARS} characters"
    parts = name.split("-")
    if not all(part and all(letter.isdigit() or (letter.isalpha() and letter.islower()) for letter in part) for part in parts):
        return "name must be lowercase letters and digits with single hyphens between them"
    if name != folder:
        return f"name '{name}' must match directory name '{folder}'"
    return None


def plain_metadata(given: Any, path: str) -> dict[str, str]:
    """The metadata as texts; a list becomes its items with spaces between them."""
    if not isinstance(given, dict):
        if given:
            _log.warning("'metadata' in %s is ignored: it is a %s, not keys and values.", path, type(given).__name__)
        return {}
    return {str(key): " ".join(map(str, value)) if isinstance(value, list) else str(value) for key, value in given.items()}


# The same text always gives the same values, so that it does not matter whose skill it is.
@lru_cache(maxsize=2048)
def _load(text: str) -> Any:
    import yaml  # here, because most agents have no skills

    from stepwell.middleware.skills.plain_yaml import PlainLoader

    try:
        return yaml.load(text, Loader=PlainLoader)  # noqa: S506  # a safe loader, with less
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError) as error:
        said = " ".join(str(getattr(error, "problem", None) or type(error).__name__).split())
        raise SkillError(
            f"its frontmatter is not valid YAML ({said[:100]}). Put quotes around texts with special characters"
        ) from None


def _word(given: dict[Any, Any], key: str) -> str:
    value = given.get(key)
    return "" if value is None else str(value).strip()


def _cut(key: str, value: str, most: int, path: str) -> str:
    if len(value) > most:
        _log.warning("'%s' in %s has %d characters; the model sees the first %d. Shorten it.", key, path, len(value), most)
    return value[:most]


def _tool_names(given: Any, path: str) -> list[str]:
    if isinstance(given, str):
        return [name for name in _SEPARATORS.split(given) if name]
    if isinstance(given, list):
        return [name.strip() for name in given if isinstance(name, str) and name.strip()]
    if given is not None:
        _log.warning("'allowed-tools' in %s is ignored: it is a %s, not a text or a list.", path, type(given).__name__)
    return []
