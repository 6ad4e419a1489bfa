"""Building deep agents.

`create` is the front door, `stack` the order of capabilities, `compile` the last step that applications with an order of their own
call directly.
"""

from stepwell.agent.compile import compile_agent
from stepwell.agent.create import create_deep_agent
from stepwell.agent.stack import default_stack

__all__ = ["compile_agent", "create_deep_agent", "default_stack"]
