"""Resolves the execution policy that a caller asks for. The default is the sandbox; running on the host needs an explicit name."""

from __future__ import annotations

import sys
from typing import Literal

from langchain.agents.middleware._execution import BaseExecutionPolicy, HostExecutionPolicy

from stepwell.errors import ConfigurationError
from stepwell.tools.shell.sandbox import BubblewrapPolicy
from stepwell.tools.shell.sandbox_check import check_sandbox
from stepwell.tools.shell.sandbox_options import WORKSPACE

ExecutionPolicy = BaseExecutionPolicy | Literal["sandbox", "unsandboxed_host"]


def resolve_policy(policy: ExecutionPolicy) -> BaseExecutionPolicy:
    """The policy for a name or an instance. A sandbox is tested first, and rejected if it can be escaped."""
    if sys.platform == "win32":
        raise ConfigurationError("Commands need a POSIX shell, which Windows lacks. Run the agent in WSL or in a container.")
    chosen = policy
    if chosen == "sandbox":
        chosen = BubblewrapPolicy()
    elif chosen == "unsandboxed_host":
        usual = BubblewrapPolicy()
        chosen = HostExecutionPolicy(
            command_timeout=usual.command_timeout,
            max_output_lines=usual.max_output_lines,
            max_output_bytes=usual.max_output_bytes,
        )
    if not isinstance(chosen, BaseExecutionPolicy):
        raise ConfigurationError(f"Unknown shell policy {policy!r}. Use 'sandbox', 'unsandboxed_host' or an execution policy.")
    if isinstance(chosen, BubblewrapPolicy):
        check_sandbox(chosen)
    return chosen


def circumstances(policy: BaseExecutionPolicy) -> str:
    """What the model should know about the place where its commands run."""
    limit = f"Time limit {policy.command_timeout:g} s."
    if not isinstance(policy, BubblewrapPolicy):
        return limit
    return f"Work in {WORKSPACE}; elsewhere only /tmp is writable. {'' if policy.network else 'No network. '}{limit}"
