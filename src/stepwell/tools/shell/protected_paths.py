"""Permissions as mounts: what a sandboxed shell must not read or change below its workspace.

A rule becomes a mount if it denies a folder or a file by its name: `/secrets/**`, `/secrets`, `/.env`. Other rules cannot be mounts, and
`protected_paths` rejects them: wildcards in the middle, exceptions inside a denied folder, and rules that ask a person.

| rule | in the sandbox |
|---|---|
| reading is denied | an empty, read-only folder or file |
| only writing is denied | the same folder or file, read-only |

Rules to keep:

- A missing folder is created, empty, because a command could otherwise create it and write in it.
- Every folder above a protected one is a mount of its own, because the folder above could otherwise be renamed, and the file tools
  would find the protected files under a path without rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from stepwell.backends import paths
from stepwell.backends.permissions import FilesystemPermission, anchor, overlap
from stepwell.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class ProtectedPath:
    """A path of the file tools that commands must not reach."""

    path: str
    is_folder: bool
    """Whether the rule speaks of what is in it, so that it is a folder even if it does not exist yet."""
    readable: bool


def protected_paths(permissions: Sequence[FilesystemPermission]) -> list[ProtectedPath]:
    """The protected paths. Raises `ConfigurationError` for rules that no mount can express."""
    found: dict[str, ProtectedPath] = {}
    for place, rule in enumerate(permissions):
        if rule.mode == "allow":
            continue
        for pattern in rule.paths:
            named = _named(pattern)
            if rule.mode == "interrupt" or named is None:
                raise _refusal(pattern, "asks a person" if rule.mode == "interrupt" else "has wildcards")
            earlier = [other for before in permissions[:place] if before.mode != "deny" for other in before.paths]
            if any(overlap(anchor(other), named) for other in earlier):
                raise _refusal(pattern, "has exceptions before it")
            known = found.get(named)
            found[named] = ProtectedPath(
                named,
                is_folder=pattern.rstrip("/").endswith("/**") or (known is not None and known.is_folder),
                readable="read" not in rule.operations and (known is None or known.readable),
            )
    return [found[path] for path in sorted(found)]


def below(protected: Iterable[ProtectedPath], folder: str) -> list[ProtectedPath]:
    """Those below a folder of the file tools, as seen from there. One around it would leave nothing to work with."""
    seen: list[ProtectedPath] = []
    for each in protected:
        if paths.is_within(folder, each.path):
            raise ConfigurationError(
                f"The permissions deny {paths.show(each.path)}, which contains all that commands could work with. Leave out "
                "ShellMiddleware, or deny less."
            )
        if paths.is_within(each.path, folder):
            inner = each.path if folder == paths.ROOT else each.path[len(folder) :]
            seen.append(ProtectedPath(inner, each.is_folder, each.readable))
    return seen


def mount_options(protected: Sequence[ProtectedPath], workspace: Path, inside: str, empty: str) -> Iterator[str]:
    """bubblewrap's options, to follow those that mount the workspace at `inside`. `empty` is the number of an open, empty file."""
    pinned: set[PurePosixPath] = set()
    for each in protected:
        for above in reversed(PurePosixPath(each.path.lstrip("/")).parents[:-1]):
            if above not in pinned:
                pinned.add(above)
                (workspace / above).mkdir(parents=True, exist_ok=True)
                yield from ("--bind", str(workspace / above), f"{inside}/{above}")
        real, shown = workspace / each.path.lstrip("/"), inside + each.path
        if each.readable and real.exists():
            yield from ("--ro-bind", str(real), shown)
        elif each.is_folder or real.is_dir():
            yield from ("--tmpfs", shown, "--remount-ro", shown)
        else:
            yield from ("--ro-bind-data", empty, shown)


def _named(pattern: str) -> str | None:
    """The folder or file that a pattern names; None if it has wildcards."""
    whole = pattern.replace("\\", "/").rstrip("/")
    named = whole.removesuffix("/**")
    return named if named and anchor(named) == named else None


def _refusal(pattern: str, why: str) -> ConfigurationError:
    return ConfigurationError(
        f"Commands cannot be held to the permission for {pattern!r}: it {why}, and a sandbox can only hide folders and files by name. "
        "Deny a folder ('/secrets/**'), or give commands a workspace apart from the agent's files."
    )
