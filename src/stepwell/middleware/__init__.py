"""One capability each."""

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
