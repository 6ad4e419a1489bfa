"""Lets the model run commands: one `execute` tool over a shell session that lasts as long as the run.

Policies, redaction and the state key are those of LangChain's `ShellToolMiddleware`. Ours differs where measurements showed
problems: the shell starts with the first command instead of with every run, the calls of a resumed run share one session, parallel
calls run in order, and the session itself is ours (`tools/shell/process.py` says why).

A call looks for its session in the state, then among the live sessions of the same run (parallel first calls), and otherwise makes
one. The first call stores it in the state, which is not checkpointed: the end of the run, a failure or a pause drops it, and dropping
it ends the shell.
"""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, NotRequired

from langchain.agents.middleware._execution import BaseExecutionPolicy
from langchain.agents.middleware._redaction import PIIDetectionError
from langchain.agents.middleware.shell_tool import RedactionRule, ShellToolMiddleware
from langchain.agents.middleware.types import AgentMiddleware, AgentState, PrivateStateAttr
from langchain.tools import ToolRuntime
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.channels.untracked_value import UntrackedValue
from langgraph.runtime import Runtime, get_runtime
from langgraph.types import Command

from stepwell.errors import ConfigurationError, ToolUseError
from stepwell.middleware.prompts import load_prompt
from stepwell.tools.effects import with_effect
from stepwell.tools.files.execute import ExecuteArgs
from stepwell.tools.shell.call_order import calls_before
from stepwell.tools.shell.policy import ExecutionPolicy, circumstances, resolve_policy
from stepwell.tools.shell.protected_paths import ProtectedPath
from stepwell.tools.shell.sandbox import BubblewrapPolicy
from stepwell.tools.shell.session import CommandReport, ShellSession, ShellSetup

TOOL_NAME = "execute"
STATE_KEY = "shell_session_resources"


class ShellState(AgentState[Any]):
    """Agent state with the run's shell. Parallel first calls store the same session, so the channel accepts several writes."""

    shell_session_resources: NotRequired[Annotated[ShellSession | None, UntrackedValue(object, guard=False), PrivateStateAttr]]


class ShellMiddleware(ShellToolMiddleware[Any, Any]):
    """Offers `execute`.

    Args:
        workspace_root: The folder that commands may change; `/workspace` inside the sandbox. By default, each run gets a temporary
            folder that is deleted at its end.
        policy: `"sandbox"` (bubblewrap), a `BubblewrapPolicy` with other limits or with network, another of LangChain's policies,
            or `"unsandboxed_host"`: commands run with all rights of this process, on everything it can reach.
        env: Variables for the commands. They see nothing else of this process's environment.
        startup_commands: Commands to run in every new shell before the first command.
        redaction_rules: LangChain's rules for what to hide in output.
        tool_description: Replaces the description that the model sees.

    Raises:
        ConfigurationError: If the sandbox is not available here or fails its escape test.
    """

    state_schema = ShellState  # type: ignore[assignment]  # narrower than the base's, under the same key
    # The shell starts with the first command; a run without commands needs no node and no process.
    before_agent = AgentMiddleware.before_agent
    abefore_agent = AgentMiddleware.abefore_agent

    def __init__(
        self,
        workspace_root: str | Path | None = None,
        *,
        policy: ExecutionPolicy = "sandbox",
        env: Mapping[str, str] | None = None,
        startup_commands: Sequence[str] | str = (),
        redaction_rules: Sequence[RedactionRule] = (),
        tool_description: str | None = None,
    ) -> None:
        chosen = resolve_policy(policy)
        super().__init__(
            workspace_root,
            execution_policy=chosen,
            env=env or {},
            startup_commands=[startup_commands] if isinstance(startup_commands, str) else list(startup_commands),
            redaction_rules=list(redaction_rules),
            tool_name=TOOL_NAME,
        )
        self._setup = ShellSetup(
            chosen, self._shell_command, self._environment or {}, self._workspace_root, self._startup_commands
        )
        self._live: weakref.WeakValueDictionary[tuple[int, str], ShellSession] = weakref.WeakValueDictionary()
        self._finding = threading.Lock()
        self.tools: list[BaseTool] = [
            self._execute_tool(tool_description or f"{load_prompt('execute')} {circumstances(chosen)}")
        ]

    @property
    def policy(self) -> BaseExecutionPolicy:
        return self._setup.policy

    @property
    def workspace_root(self) -> Path | None:
        """The caller's folder, without links; None if each run gets its own."""
        root = self._setup.workspace_root
        return None if root is None else root.resolve()

    def hiding(self, protected: Sequence[ProtectedPath]) -> ShellMiddleware:
        """The same shell, whose commands cannot reach these paths of the workspace."""
        if not isinstance(self.policy, BubblewrapPolicy):
            raise ConfigurationError(
                f"{type(self.policy).__name__} cannot hide what the permissions deny. Use ShellMiddleware(policy='sandbox'), or a "
                "workspace apart from the agent's files."
            )
        other = copy(self)
        other._setup = replace(self._setup, policy=replace(self.policy, protected=tuple(protected)))
        other._live, other._finding = weakref.WeakValueDictionary(), threading.Lock()
        other.tools = [other._execute_tool(self.tools[0].description)]
        return other

    def _execute_tool(self, description: str) -> BaseTool:
        tool = StructuredTool(
            name=TOOL_NAME, description=description, func=self._execute, coroutine=self._aexecute, args_schema=ExecuteArgs
        )
        return with_effect("once")(tool)

    def _execute(self, runtime: ToolRuntime, command: str) -> Command[Any] | ToolMessage:
        return self._answer(self._session(runtime), runtime, command)

    async def _aexecute(self, runtime: ToolRuntime, command: str) -> Command[Any] | ToolMessage:
        session, stop = self._session(runtime), threading.Event()
        try:
            return await asyncio.to_thread(self._answer, session, runtime, command, stop)
        finally:
            stop.set()  # if this task was cancelled, the thread ends the command

    def _session(self, runtime: ToolRuntime) -> ShellSession:
        held = runtime.state.get(STATE_KEY)
        if isinstance(held, ShellSession):
            return held
        with self._finding:
            run = _run_of(runtime)
            if run is None:
                return ShellSession(self._setup)
            control, namespace = run
            session = self._live.get((id(control), namespace))
            if session is None:
                session = self._live[id(control), namespace] = ShellSession(self._setup, run=control)
            return session

    def _answer(
        self, session: ShellSession, runtime: ToolRuntime, command: str, stop: threading.Event | None = None
    ) -> Command[Any] | ToolMessage:
        call_id = runtime.tool_call_id or ""
        earlier = calls_before(runtime.state, TOOL_NAME, call_id)
        try:
            report = session.execute(command, call_id=call_id, earlier=earlier, stop=stop)
            message = self._message(report, call_id, told_new=report.in_new_shell and _has_run_before(runtime))
        except ToolUseError as error:
            message = ToolMessage(str(error), name=TOOL_NAME, tool_call_id=call_id, status="error")
        if runtime.state.get(STATE_KEY) is session:
            return message
        return Command(update={"messages": [message], STATE_KEY: session})

    def _message(self, report: CommandReport, call_id: str, *, told_new: bool) -> ToolMessage:
        result = report.result
        try:
            # We drop the matches, because they are what must not be seen.
            text, _ = self._apply_redactions(report.output.text())
        except PIIDetectionError as error:
            text = f"[the output is withheld: it contains {error.pii_type}]"
        parts = [_NEW_SHELL] if told_new else []
        parts += [text.strip("\n")] if text.strip() else []
        parts += _closing(report, self._setup.policy.command_timeout)
        return ToolMessage(
            "\n".join(parts) or "[no output]",
            name=TOOL_NAME,
            tool_call_id=call_id,
            status="success" if result.ending == "done" and result.exit_code == 0 else "error",
            artifact={"exit_code": result.exit_code, "ending": result.ending, "truncated": report.output.is_cut},
        )

    def after_agent(self, state: Any, runtime: Runtime[Any]) -> None:
        """End the shell with the run."""
        session = state.get(STATE_KEY)
        if isinstance(session, ShellSession):
            session.close()

    async def aafter_agent(self, state: Any, runtime: Runtime[Any]) -> None:
        await asyncio.to_thread(self.after_agent, state, runtime)


_NEW_SHELL = "[a new shell: earlier cd, variables and background processes are gone]"


def _closing(report: CommandReport, timeout_s: float) -> list[str]:
    result = report.result
    if result.ending == "timed_out":
        return [
            f"Error: the command was stopped after {timeout_s:g} s, and its shell with it. The next command gets a new shell."
        ]
    if result.ending == "shell_ended":
        return [f"[the shell ended with exit code {result.exit_code}; the next command gets a new one]"]
    return [f"[exit code {result.exit_code}]"] if result.exit_code else []


def _has_run_before(runtime: ToolRuntime) -> bool:
    """Whether an earlier command reached a shell; a refused or rejected command has no artifact."""
    messages = runtime.state.get("messages") or ()
    return any(isinstance(message, ToolMessage) and message.name == TOOL_NAME and message.artifact for message in messages)


def _run_of(runtime: ToolRuntime) -> tuple[object, str] | None:
    """What all tool calls of one run of one graph have in common: LangGraph's control object and the graph's namespace."""
    info = runtime.execution_info
    try:
        control = get_runtime().control
    except RuntimeError:  # called outside a graph
        return None
    if control is None or info is None:
        return None
    return control, info.checkpoint_ns.rpartition("|")[0]
