"""Our background subagents under deepagents' names, with their exceptions, and with clients that their tests can replace."""

from __future__ import annotations

import sys
from typing import Any

from langchain_core.tools import BaseTool
from langgraph_sdk import get_client, get_sync_client

from stepwell import AsyncSubAgent, AsyncTask, ConfigurationError
from stepwell import AsyncSubAgentMiddleware as _Ours
from stepwell.middleware.background import AsyncSubAgentState
from stepwell.middleware.background.middleware import merge_tasks as _tasks_reducer
from stepwell.middleware.background.remote import RemoteTasks
from stepwell.middleware.background.remote import headers_for as _resolve_headers
from stepwell.middleware.background.tools import TaskTools

__all__ = [
    "AsyncSubAgent",
    "AsyncSubAgentMiddleware",
    "AsyncSubAgentState",
    "AsyncTask",
    "_build_async_subagent_tools",
    "_resolve_headers",
    "_tasks_reducer",
    "get_client",
    "get_sync_client",
]


class AsyncSubAgentMiddleware(_Ours):
    """Ours, with their exceptions in place of `ConfigurationError`."""

    def __init__(self, **given: Any) -> None:
        try:
            super().__init__(**given)
        except ConfigurationError as error:
            raise ValueError(str(error)) from error


def _build_async_subagent_tools(specs: list[AsyncSubAgent]) -> list[BaseTool]:
    here = sys.modules[__name__]
    hosts = {
        spec["name"]: RemoteTasks(
            spec,
            sync_client=lambda **given: here.get_sync_client(**given),
            async_client=lambda **given: here.get_client(**given),
        )
        for spec in specs
    }
    return TaskTools({spec["name"]: spec for spec in specs}, lambda spec, runtime: hosts[spec["name"]]).all
