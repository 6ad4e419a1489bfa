"""A table of mounts, which says which backend answers for which path. It only decides; nothing here calls a verb.

A mount's path is resolved (`/memories`, no trailing slash). The path of the default is empty. So both can be used as a prefix.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from langgraph.runtime import get_runtime

from stepwell.backends import paths
from stepwell.backends.foreign import accept
from stepwell.backends.protocol import BackendFactory, BackendProtocol, ErrorText
from stepwell.errors import ConfigurationError

Child = BackendProtocol | BackendFactory

_SPECIAL = frozenset("*?[{")


@dataclass(frozen=True, slots=True)
class Mount:
    """A backend and the path where it is mounted. `place` is that path in the outermost tree."""

    path: str
    child: Child
    place: str

    def inner(self, path: str) -> str:
        """A path of the caller, as the backend sees it."""
        return path[len(self.path) :] or paths.ROOT

    def outer(self, path: str) -> str:
        """A path of the backend, as the caller sees it; a folder keeps its slash."""
        return self.path + path

    def may_hold(self, pattern: str, folder: str, *, anywhere: bool = False) -> bool:
        """Whether a glob that starts in a folder above can match anything in this mount; true if in doubt."""
        wanted = [part for part in pattern.split("/") if part not in ("", ".")]
        if "{" in pattern or (anywhere and len(wanted) == 1):
            return True
        way = paths.relative(self.path, folder).split("/")
        for step, part in zip(way, wanted, strict=False):
            if "**" in part:
                return True
            if not _SPECIAL & set(part) and part != step:
                return False
        return len(wanted) > len(way)

    def open(self, runtime: Any) -> BackendProtocol:
        """The backend itself. A factory is called to make it, and a backend with `mounted_at` learns where it is mounted."""
        backend = self.child if _is_backend(self.child) else accept(cast("BackendFactory", self.child)(_runtime(runtime)))
        bind = getattr(backend, "bind", None) if runtime is not None else None
        backend = bind(runtime) if bind else backend
        told = getattr(backend, "mounted_at", None)
        return cast("BackendProtocol", told(self.place + "/") if told and self.place else backend)


@dataclass(frozen=True, slots=True)
class MountTable:
    """The default and the mounts, longest path first."""

    default: Mount
    mounts: tuple[Mount, ...]

    @classmethod
    def build(cls, default: Child, routes: Mapping[str, Child]) -> MountTable:
        """Check the routes and sort them."""
        default = accept(default)
        _check_child("the default", default)
        children = {route: accept(child) for route, child in routes.items()}
        mounts = [
            Mount(path, child, path)
            for path, child in ((_check_route(route, child), child) for route, child in children.items())
        ]
        return cls(Mount("", default, ""), tuple(sorted(mounts, key=lambda mount: -len(mount.path))))

    def behind(self, place: str) -> MountTable:
        """The same table for a tree that is itself mounted somewhere."""
        mounts = tuple(Mount(mount.path, mount.child, place + mount.place) for mount in self.mounts)
        return MountTable(Mount("", self.default.child, place), mounts)

    def owner(self, path: str) -> Mount:
        """The mount that answers for a resolved path."""
        return next((mount for mount in self.mounts if paths.is_within(path, mount.path)), self.default)

    def below(self, folder: str) -> list[Mount]:
        """The mounts below a folder, without one at the folder itself."""
        prefix = paths.ROOT if folder == paths.ROOT else folder + "/"
        return sorted((mount for mount in self.mounts if mount.path.startswith(prefix)), key=lambda mount: mount.path)

    def is_on_the_way(self, path: str) -> bool:
        """Whether a path is a mount, or a folder that leads to one."""
        return any(paths.is_within(mount.path, path) for mount in self.mounts)

    def hides(self, owner: Mount, row_path: str) -> bool:
        """Whether a row of `owner` cannot be seen: another mount owns its path, or it is a file where the path to a mount has a folder."""
        path = row_path.rstrip("/")
        if self.owner(path).path != owner.path:
            return True
        return not row_path.endswith("/") and self.is_on_the_way(path)


def _check_route(route: object, child: object) -> str:
    resolved = paths.resolve(route)
    if isinstance(resolved, ErrorText):
        raise ConfigurationError(f"The route {paths.show(route)} of a CompositeBackend is not a usable path. {resolved}")
    if resolved == paths.ROOT:
        raise ConfigurationError("A CompositeBackend cannot have the route '/'. Pass that backend as the default.")
    if route != f"{resolved}/":
        raise ConfigurationError(f"The route {paths.show(route)} of a CompositeBackend must be written '{resolved}/'.")
    _check_child(f"the route '{route}'", child)
    return resolved


def _check_child(what: str, child: object) -> None:
    if not _is_backend(child) and not callable(child):
        raise ConfigurationError(
            f"A CompositeBackend needs a backend, or a function that makes one, for {what}, not a {type(child).__name__}."
        )


_METHODS = tuple(name for name in vars(BackendProtocol) if not name.startswith("_"))


def _is_backend(child: object) -> bool:
    # A class has the verbs as attributes too, but it is a factory: calling it with a runtime makes the backend. Asked one by one, because
    # `isinstance` with a protocol does not see what a wrapper forwards (Python 3.12 and later).
    return not isinstance(child, type) and all(hasattr(child, method) for method in _METHODS)


def _runtime(given: Any) -> Any:
    if given is not None:
        return given
    try:
        return get_runtime()
    except RuntimeError:
        return None
