"""Capabilities for an agent, in one module per middleware.

The larger modules have a folder for their parts: `spending` for `budget`, `model_calls` for `robust_calls`, `moments` for `hooks`,
`arguments` for `patch_tool_calls`, `subagents` for the `task` tool. `request` is the base class of middleware that changes model requests,
`turns` decides what belongs to one message of the user, and `prompts` holds the texts.
"""

from stepwell.middleware.filesystem import FilesystemMiddleware
from stepwell.middleware.patch_tool_calls import PatchToolCallsMiddleware
from stepwell.middleware.request import ModelCall, RequestMiddleware
from stepwell.middleware.subagents.specs import CompiledSubAgent, SubAgent
from stepwell.middleware.subagents.task import SubAgentMiddleware
from stepwell.middleware.summarization import SummarizationMiddleware
from stepwell.middleware.todos import PlanningMiddleware

__all__ = [
    "CompiledSubAgent",
    "FilesystemMiddleware",
    "ModelCall",
    "PatchToolCallsMiddleware",
    "PlanningMiddleware",
    "RequestMiddleware",
    "SubAgent",
    "SubAgentMiddleware",
    "SummarizationMiddleware",
]
