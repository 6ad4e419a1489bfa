"""The shell of one run: started at its first command, replaced if it dies, closed when the run drops it.

```
not started ── first command ──▶ running ── exit, time-out, kill ──▶ ended ── next command ──▶ running (reported as new)
                                    └────────────── close, or the last reference dropped ──▶ closed
```
The session lives in agent state and is never stored in a checkpoint. It knows nothing about messages; the middleware writes the results.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from langchain.agents.middleware._execution import BaseExecutionPolicy

from stepwell.errors import ToolUseError
from stepwell.tools.shell.call_order import CallOrder
from stepwell.tools.shell.output import BoundedOutput
from stepwell.tools.shell.process import CommandResult, ShellProcess

MAX_COMMAND_BYTES = 128 * 1024
_UNBOUNDED = 1 << 40


@dataclass(frozen=True)
class ShellSetup:
    """What a session is made from."""

    policy: BaseExecutionPolicy
    shell: tuple[str, ...]
    env: Mapping[str, str]
    workspace_root: Path | None
    startup_commands: Sequence[str] = ()


@dataclass(frozen=True)
class CommandReport:
    """How a command ended, and what it printed."""

    result: CommandResult
    output: BoundedOutput
    in_new_shell: bool


@dataclass
class _Held:
    """What must be released, kept apart from the session so that it can be released after the session is gone."""

    process: ShellProcess | None = None
    temporary: Path | None = field(default=None)

    def release(self) -> None:
        if self.process is not None:
            self.process.close()
        if self.temporary is not None:
            shutil.rmtree(self.temporary, ignore_errors=True)
        self.process = self.temporary = None


class ShellSession(str):
    """Runs commands one after the other; `cd` and variables last.

    It is a string, so that code that serialises the agent's state (a stream, a log, a saver) writes a word and not a process.
    """

    def __new__(cls, setup: ShellSetup, *, run: object = None) -> ShellSession:
        return super().__new__(cls, "shell session")

    def __init__(self, setup: ShellSetup, *, run: object = None) -> None:
        self.setup = setup
        self.run_identity = run
        """Kept alive, so that the id of this session's run cannot be reused for another object."""
        self.order = CallOrder()
        self._held = _Held()
        self._release = weakref.finalize(self, self._held.release)

    def __deepcopy__(self, memo: object) -> ShellSession:
        # LangGraph copies what a tool returns, but a running shell cannot be copied.
        return self

    @property
    def pid(self) -> int | None:
        """The process that holds the shell, while there is one."""
        process = self._held.process
        return process.pid if process is not None and process.is_running else None

    def execute(
        self, command: str, *, call_id: str = "", earlier: Sequence[str] = (), stop: threading.Event | None = None
    ) -> CommandReport:
        """Run a command when its turn comes; setting `stop` ends it early. Raises `ToolUseError` if it cannot be run."""
        _check(command)
        with self.order.turn(call_id, earlier):
            if stop is not None and stop.is_set():
                raise ToolUseError("Error: the command was not run, because the caller stopped waiting.")
            process, fresh = self._running()
            output = self._new_output()
            result = process.run(command, output, timeout_s=self.setup.policy.command_timeout, stop=stop)
            return CommandReport(result, output, fresh)

    def close(self) -> None:
        """End the shell and remove a temporary workspace."""
        self._release()

    def _running(self) -> tuple[ShellProcess, bool]:
        """The shell, and whether it had to be started."""
        process = self._held.process
        if process is not None and process.is_running:
            return process, False
        return self._start(), True

    def _start(self) -> ShellProcess:
        if not self._release.alive:
            raise ToolUseError("Error: the run is over, and its shell with it.")
        if self._held.process is not None:
            self._held.process.close()
        try:
            self._held.process = self._spawn(self._workspace())
        except (OSError, RuntimeError) as error:
            raise ToolUseError(f"Error: the shell could not be started ({type(error).__name__}). Tell the user.") from error
        for command in (":", *self.setup.startup_commands):
            self._start_up(self._held.process, command)
        return self._held.process

    def _spawn(self, workspace: Path) -> ShellProcess:
        setup = self.setup
        return ShellProcess(lambda: setup.policy.spawn(workspace=workspace, env=setup.env, command=setup.shell))

    def _start_up(self, process: ShellProcess, command: str) -> None:
        output = self._new_output()
        result = process.run(command, output, timeout_s=self.setup.policy.startup_timeout)
        if result.ending == "done" and result.exit_code == 0:
            return
        process.close()
        what = "The shell could not be started" if command == ":" else f"A start-up command of the shell failed: {command}"
        raise ToolUseError(
            f"Error: {what} ({result.ending}, exit code {result.exit_code}). Tell the user.\n{output.text()}".strip()
        )

    def _workspace(self) -> Path:
        root = self.setup.workspace_root
        if root is None:
            if self._held.temporary is None:
                self._held.temporary = Path(tempfile.mkdtemp(prefix="stepwell-shell-"))
            return self._held.temporary
        root.mkdir(parents=True, exist_ok=True)
        return root

    def _new_output(self) -> BoundedOutput:
        policy = self.setup.policy
        return BoundedOutput(max_bytes=policy.max_output_bytes or _UNBOUNDED, max_lines=policy.max_output_lines)


def _check(command: str) -> None:
    if "\0" in command:
        raise ToolUseError("Error: the command contains a NUL character, which no shell accepts. Leave it out.")
    try:
        size = len(command.encode())
    except UnicodeEncodeError:
        raise ToolUseError("Error: the command is not valid Unicode text. Write it again.") from None
    if size > MAX_COMMAND_BYTES:
        raise ToolUseError(
            f"Error: the command has {size} bytes, more than {MAX_COMMAND_BYTES}. Put the content into a file first."
        )
