"""Which paths an agent may read and change: the rules, and the one place where they are decided.

```
FilesystemPermission(operations=["read", "write"], paths=["/secrets/**"], mode="deny")
```
The first rule that matches a path and an operation wins; a path that no rule matches is allowed.

| question | answered by |
|---|---|
| may this file be read, or written? | `PathRules.decide` |
| may this folder be listed or searched, and is its name shown? | `PathRules.decide_folder` |
| may everything below this path be deleted or moved? | `PathRules.protecting` |
| may a listing or a search touch something that needs approval? | `PathRules.may_ask_below`, `PathRules.may_ask_in` |

Patterns:

- A pattern starts at the root and is a glob, as in `glob`: `**` crosses folders.
- A `deny` or `interrupt` pattern that matches a folder covers everything in it. An `allow` pattern opens only what it matches, so end it
  with `/**` to open a folder.
- `/secrets/**` means what is in the folder, and hides the folder as well. It says nothing about the folders above.
- A folder that is denied can still be listed if an earlier rule opens something below it; only what is open is shown.

These are pure functions over paths that `paths.resolve` has accepted. `tools/files/permitted.py` applies them to a backend.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, get_args

from stepwell.backends import paths
from stepwell.backends.paths import PathError, Place
from stepwell.backends.patterns import GlobSet, compile_glob, crosses_folders
from stepwell.backends.protocol import ErrorText
from stepwell.errors import ConfigurationError

FilesystemOperation = Literal["read", "write"]
PermissionMode = Literal["allow", "deny", "interrupt"]

_SPECIAL = frozenset("*?[{")


@dataclass(frozen=True)
class FilesystemPermission:
    """One rule: what may be done with the files that match.

    `operations` are `"read"` (ls, read_file, glob, grep, search) and `"write"` (write_file, edit_file, delete, move). `paths` are globs
    from the root. `mode` is `"allow"`, `"deny"`, or `"interrupt"`: a person is asked before the tool runs.
    """

    operations: Sequence[FilesystemOperation]
    paths: Sequence[str]
    mode: PermissionMode = "allow"

    def __post_init__(self) -> None:
        _check_words("operations", self.operations, get_args(FilesystemOperation))
        if self.mode not in get_args(PermissionMode):
            raise ConfigurationError(f"A permission has mode={self.mode!r}. Use one of: {', '.join(get_args(PermissionMode))}.")
        _check_paths(self.paths)


def check_permissions(given: object) -> tuple[FilesystemPermission, ...]:
    """The rules, if they are a list of rules."""
    if not isinstance(given, Sequence) or not all(isinstance(rule, FilesystemPermission) for rule in given):
        raise ConfigurationError("permissions must be a list of FilesystemPermission(operations=[...], paths=[...], mode=...).")
    return tuple(given)


def denied(operation: FilesystemOperation, path: str) -> ErrorText:
    """What a tool answers; the same whether the file exists or not."""
    return PathError(
        f"Error: permission denied for {operation} on ",
        Place(path),
        ". Work with other files, or ask the user to change the permissions.",
    )


def protected(path: str, patterns: Iterable[str]) -> ErrorText:
    """What a tool answers if a folder as a whole cannot be deleted or moved."""
    return PathError(
        "Error: permission denied for write on ",
        Place(path),
        f", because these rules protect files in it or around it: {', '.join(patterns)}. Name the other files one by one.",
    )


def unclear(path: str) -> ErrorText:
    """What a tool answers if a person would have been asked about another spelling of the path."""
    return PathError("Error: approval is needed for ", Place(path), ". Call the tool again with exactly this path.")


class PathRules:
    """An agent's permissions, compiled. An agent without any has no `PathRules`."""

    def __init__(self, permissions: Sequence[FilesystemPermission]) -> None:
        self.permissions = tuple(permissions)
        self._by_operation = {name: _OneOperation(name, self.permissions) for name in get_args(FilesystemOperation)}

    @property
    def restrict(self) -> bool:
        """Whether any rule denies or asks. Commands could get around such a rule."""
        return any(rule.mode != "allow" for rule in self.permissions)

    @property
    def asking(self) -> frozenset[FilesystemOperation]:
        """The operations for which some rule wants a person asked."""
        return frozenset(operation for rule in self.permissions if rule.mode == "interrupt" for operation in rule.operations)

    def decide(self, operation: FilesystemOperation, path: str) -> PermissionMode:
        """What the rules say about one file."""
        return self._by_operation[operation].decide(path)

    def decide_folder(self, operation: FilesystemOperation, path: str) -> PermissionMode:
        """What the rules say about a folder, or about a path that may be a file or a folder: whether it can be listed and searched."""
        return self._by_operation[operation].decide_folder(path)

    def only_leads_on(self, path: str) -> bool:
        """Whether a path can be listed only because something open may lie below it. Nobody may learn whether it exists."""
        return self._by_operation["read"].only_leads_on(path)

    def shows(self, row_path: str) -> bool:
        """Whether a row may be seen. The path of a folder ends with a slash."""
        if row_path.endswith("/"):
            return self.decide_folder("read", row_path.rstrip("/") or paths.ROOT) != "deny"
        return self.decide("read", row_path) != "deny"

    def protecting(self, operation: FilesystemOperation, path: str) -> list[str]:
        """The denied patterns that may match the path, something below it, or a folder above it. Earlier rules do not count, because
        nobody knows what a folder contains until it is gone."""
        return self._by_operation[operation].overlapping("deny", path)

    def asking_below(self, operation: FilesystemOperation, path: str) -> list[str]:
        """The asking patterns that may match the path, something below it, or a folder above it."""
        return self._by_operation[operation].overlapping("interrupt", path)

    def may_ask_below(self, operation: FilesystemOperation, path: str) -> bool:
        """Whether something at or below the path may need approval."""
        return bool(self.asking_below(operation, path))

    def may_ask_in(self, operation: FilesystemOperation, folder: str) -> bool:
        """Whether a direct child of the folder, or all of it, may need approval. Folders further down do not count."""
        rules = self._by_operation[operation]
        return rules.decide_folder(folder) == "interrupt" or rules.asks_for_children(folder)


class _OneOperation:
    """The rules for reading, or for writing."""

    def __init__(self, operation: FilesystemOperation, permissions: Sequence[FilesystemPermission]) -> None:
        rules = [rule for rule in permissions if operation in rule.operations]
        self._modes: list[PermissionMode] = [rule.mode for rule in rules for _ in rule.paths]
        self._shown = [pattern for rule in rules for pattern in rule.paths]
        self._globs = [_relative(pattern) for pattern in self._shown]
        self._all = GlobSet(self._globs, [mode != "allow" for mode in self._modes])
        # Where rules open something, the folders on the way to it stay passable.
        ways = [
            (way, place) for place, glob in enumerate(self._globs) if self._modes[place] != "deny" for way in _ways_to(glob)
        ]
        self._ways = GlobSet([way for way, _ in ways], [False] * len(ways))
        self._way_owner = [place for _, place in ways]

    def decide(self, path: str) -> PermissionMode:
        place = self._all.first(_plain(path))
        return "allow" if place is None else self._modes[place]

    def decide_folder(self, path: str) -> PermissionMode:
        name = _plain(path)
        inside = self._all.first(name + "/" if name else "")
        if inside is None or self._modes[inside] != "deny":
            return "allow" if inside is None else self._modes[inside]
        if self._leads_on(name, inside):
            return "allow"
        itself = self._all.first(name)  # a rule may open this very path, which may be a file
        return "deny" if itself is None else self._modes[itself]

    def only_leads_on(self, path: str) -> bool:
        name = _plain(path)
        inside, itself = self._all.first(name + "/" if name else ""), self._all.first(name)
        if inside is None or self._modes[inside] != "deny" or (itself is not None and self._modes[itself] != "deny"):
            return False
        return self._leads_on(name, inside)

    def _leads_on(self, name: str, denied_by: int) -> bool:
        way = self._ways.first(name)
        return way is not None and self._way_owner[way] < denied_by

    def overlapping(self, mode: PermissionMode, path: str) -> list[str]:
        found = [
            shown
            for shown, glob, own in zip(self._shown, self._globs, self._modes, strict=True)
            if own == mode and _overlaps(glob, _plain(path))
        ]
        return list(dict.fromkeys(found))

    def asks_for_children(self, folder: str) -> bool:
        name = _plain(folder)
        globs = (glob for glob, mode in zip(self._globs, self._modes, strict=True) if mode == "interrupt")
        return any(_matches(above, name) for glob in globs for above in _folders_of(glob))


def overlap(one: str, other: str) -> bool:
    """Whether one resolved path is the other, or lies below it."""
    return paths.is_within(one, other) or paths.is_within(other, one)


def anchor(pattern: str) -> str:
    """The folder from which a pattern is on its own: `/a` of `/a/*/b`."""
    fixed: list[str] = []
    for segment in pattern.strip("/").split("/"):
        if _SPECIAL & set(segment):
            break
        fixed.append(segment)
    return paths.ROOT + "/".join(fixed)


def _overlaps(glob: str, name: str) -> bool:
    """Whether a glob may match a path, a folder above it, or something below it."""
    if _matches(glob, name, below=True) or (name and _matches(glob, name + "/", below=True)):
        return True
    # Something below the path matches if the path is on the way to it.
    return any(_matches(way, name) for way in _ways_to(glob))


def _matches(glob: str, name: str, *, below: bool = False) -> bool:
    return _compile(glob, below).first(name) is not None


@lru_cache(maxsize=256)
def _compile(glob: str, below: bool) -> GlobSet:
    return GlobSet([glob], [below])


def _ways_to(glob: str) -> list[str]:
    """Globs for the folders that lead to what a glob matches, from the root down. Once a part crosses folders, every folder may."""
    ways: list[str] = []
    segments = glob.split("/")
    for depth, segment in enumerate(segments):
        if crosses_folders(segment):
            return [*ways, *_all_below(segments[:depth])]
        ways.append("/".join(segments[:depth]))
    return ways


def _folders_of(glob: str) -> list[str]:
    """Globs for the folders whose direct children a glob may match. Of `/a/**`, none: it matches the folder itself."""
    *above, last = glob.split("/")
    crossing = next((depth for depth, segment in enumerate(above) if crosses_folders(segment)), None)
    if crossing is not None:
        return _all_below(above[:crossing])
    if not crosses_folders(last):
        return ["/".join(above)]
    return [] if last == "**" else _all_below(above)


def _all_below(segments: Sequence[str]) -> list[str]:
    """Globs for a folder and every folder in it."""
    return ["/".join([*segments, "**"]), "/".join(segments)]


def _plain(path: str) -> str:
    """A resolved path relative to the root, in the one Unicode form in which we compare."""
    return path[1:] if path.isascii() else unicodedata.normalize("NFC", path[1:])


def _relative(pattern: str) -> str:
    slashed = unicodedata.normalize("NFC", pattern.replace("\\", "/"))
    return "/".join(part for part in slashed.split("/") if part not in ("", "."))


def _check_words(field: str, given: object, known: Sequence[str]) -> None:
    if isinstance(given, str) or not isinstance(given, Sequence) or not given or any(word not in known for word in given):
        raise ConfigurationError(f"A permission has {field}={given!r}. Give a list with one or more of: {', '.join(known)}.")


def _check_paths(given: object) -> None:
    if isinstance(given, str) or not isinstance(given, Sequence) or not given:
        raise ConfigurationError("A permission needs a list of paths, such as paths=['/secrets/**'].")
    for pattern in given:
        _check_pattern(pattern)


def _check_pattern(pattern: object) -> None:
    if not isinstance(pattern, str) or not pattern.replace("\\", "/").startswith("/"):
        raise ConfigurationError(
            f"Permission path must start with '/', but {pattern!r} does not. Write it from the root: '/folder/**'."
        )
    slashed = pattern.replace("\\", "/")
    if ".." in slashed.split("/"):
        raise ConfigurationError(f"Permission path {pattern!r} must not contain '..'. Write the path it leads to.")
    if "~" in slashed.split("/"):
        raise ConfigurationError(
            f"Permission path {pattern!r} must not contain '~', which no backend expands. Write the whole path."
        )
    compiled = (
        compile_glob(slashed) if slashed.strip("/. ") else ErrorText("It names the root itself. For everything, write '/**'.")
    )
    if isinstance(compiled, ErrorText):
        raise ConfigurationError(f"Permission path {pattern!r} cannot be used. {compiled.removeprefix('Error: ')}")
