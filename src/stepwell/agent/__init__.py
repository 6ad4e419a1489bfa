"""Building deep agents.

`create` is the front door, `stack` sets the order of capabilities, and `compile` is the last step. Applications that need their own
order call `compile` directly.
"""

from stepwell.agent.compile import compile_agent
from stepwell.agent.create import create_deep_agent
from stepwell.agent.stack import default_stack

__all__ = ["compile_agent", "create_deep_agent", "default_stack"]
