"""What an agent can be given: one module for each middleware.

What the larger ones are made of has its own folder: `spending` for `budget`, `model_calls` for `robust_calls`, `subagents` for the `task`
tool. `request` is the base of those that change what the model is asked, `turns` says what belongs to one message of the user, and
`prompts` holds the texts.
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
