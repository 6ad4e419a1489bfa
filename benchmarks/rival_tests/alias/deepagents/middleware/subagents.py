from stepwell import CompiledSubAgent, SubAgent
from stepwell.agent.create import GENERAL_PURPOSE_DESCRIPTION
from stepwell.middleware.subagents.specs import GENERAL_PURPOSE

__all__ = ["GENERAL_PURPOSE_SUBAGENT", "CompiledSubAgent", "SubAgent"]

GENERAL_PURPOSE_SUBAGENT = {
    "name": GENERAL_PURPOSE,
    "description": GENERAL_PURPOSE_DESCRIPTION,
    "system_prompt": "Do the task.",
}
