from typing import Any

from stepwell.backends.permissions import PathRules
from stepwell.middleware.path_approvals import approvals_for, asks_about_file, asks_below

_THEIR_TOOLS = ("ls", "read_file", "glob", "grep", "write_file", "edit_file", "delete")


def _build_interrupt_on_from_permissions(rules: Any) -> dict[str, Any]:
    """Without the tools that they lack."""
    return {tool: config for tool, config in approvals_for(PathRules(rules)).items() if tool in _THEIR_TOOLS}


def _make_fs_when_predicate(rules: Any, operation: Any, key: str, scope: str) -> Any:
    asks = asks_about_file if scope == "exact" else asks_below
    return lambda request: asks(PathRules(rules), operation, request.tool_call["args"], key)
