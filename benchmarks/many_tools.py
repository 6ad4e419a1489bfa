"""As many invented tools as somebody has who connects a few MCP servers: each with a name, two sentences and three arguments.

It must work where Stepwell is not installed.
"""

from __future__ import annotations

from langchain_core.tools import BaseTool, StructuredTool

SERVERS = ("github", "slack", "jira", "calendar", "storage", "billing", "crm", "wiki", "deploy", "monitor")
VERBS = ("list", "get", "create", "update", "delete", "search", "archive", "assign", "comment_on", "export")
THINGS = ("issue", "channel", "ticket", "event", "bucket", "invoice", "contact", "page", "release", "alert")


def many_tools(count: int, *, deferred: bool = True) -> list[BaseTool]:
    """Tools such as `github_create_issue`, all different."""
    return [_tool(number, deferred) for number in range(count)]


def _tool(number: int, deferred: bool) -> BaseTool:
    server, verb = SERVERS[number % 10], VERBS[number // 10 % 10]
    thing = THINGS[(number + number // 100) % 10]
    batch = f"_{number // 1000}" if number >= 1000 else ""
    name = f"{server}_{verb}_{thing}{batch}"
    text = {"type": "string", "description": f"which {thing} of {server}, by its id or its address"}
    return StructuredTool(
        name=name,
        description=f"{verb.replace('_', ' ').capitalize()} a {thing} in {server}. Give the project in which the {thing} is kept.",
        args_schema={
            "type": "object",
            "properties": {f"{thing}_id": text, "project": {"type": "string"}, "limit": {"type": "integer", "default": 20}},
            "required": [f"{thing}_id"],
        },
        func=lambda **arguments: f"{name} did {sorted(arguments.items())}",
        extras={"defer_loading": True} if deferred else None,
    )
