"""Their private helpers, each one call of ours. Their constructor takes rules as `_permissions`."""

from typing import Any

from stepwell.backends import paths
from stepwell.backends.permissions import FilesystemPermission as OurPermission
from stepwell.backends.permissions import PathRules, overlap
from stepwell.backends.permissions import anchor as _anchor
from stepwell.errors import ConfigurationError
from stepwell.middleware.filesystem import FilesystemMiddleware as OurMiddleware


class FilesystemPermission(OurPermission):
    """Ours, with their exceptions in place of `ConfigurationError`."""

    def __post_init__(self) -> None:
        try:
            super().__post_init__()
        except ConfigurationError as error:
            raise (NotImplementedError if "'~'" in str(error) else ValueError)(str(error)) from error


class FilesystemMiddleware(OurMiddleware):
    def __init__(self, *, _permissions: Any = (), **options: Any) -> None:
        try:
            super().__init__(permissions=_permissions or (), **options)
        except ConfigurationError as error:
            raise NotImplementedError(str(error)) from error
        self.tools = [_holding(self, tool) for tool in self.tools]

    @property
    def _permissions(self) -> list[OurPermission]:
        return list(self.permissions)


def _holding(middleware: FilesystemMiddleware, tool: Any) -> Any:
    """The same tool. Their tests look for the middleware in what its function closes over, to find the backend."""

    def run(runtime: Any, **named: Any) -> Any:
        return tool.func(runtime=runtime, **named) if middleware else None

    run.__annotations__ = tool.func.__annotations__
    return tool.model_copy(update={"func": run})


def _check_fs_permission(rules: Any, operation: Any, path: str) -> str:
    return PathRules(rules).decide(operation, path) if path.startswith("/") else "allow"


def _filter_paths_by_permission(rules: Any, operation: Any, given: list[str]) -> list[str]:
    decided = PathRules(rules)
    return [path for path in given if decided.decide(operation, path) != "deny"]


def _apply_permissions_to_glob_results(rules: Any, rows: Any) -> list[str]:
    return _filter_paths_by_permission(rules, "read", [row["path"] for row in rows])


def _find_delete_deny_patterns(rules: Any, target: str, *, has_descendants: bool = True) -> list[str]:
    path = str(paths.resolve(target))
    decided = PathRules(rules)
    if has_descendants:
        return decided.protecting("write", path)
    return decided.protecting("write", path) if decided.decide("write", path) == "deny" else []


def _all_paths_scoped_to_routes(rules: Any, composite: Any) -> bool:
    mounts = [mount for mount, _ in composite.children() if mount]
    return all(any(paths.is_within(_anchor(path), mount) for mount in mounts) for rule in rules for path in rule.paths)


_paths_overlap = overlap
