"""Runs the shell inside bubblewrap. It sees nothing of the host but read-only system folders and one workspace.

Rules to keep:
- bubblewrap itself starts with an empty environment: with `--clearenv` the parent's environment would stay readable in
  `/proc/1/environ`.
- Options go through a pipe, not on the command line, which `/proc/1/cmdline` shows inside the sandbox and `ps` outside.
- The limits are set while bubblewrap waits for that pipe, so nothing ever runs without them.
- Nothing falls back to the host: `sandbox_check` raises an error if the sandbox is not available or can be escaped.

Linux only. The module can be imported anywhere, but using the policy on another system raises `ConfigurationError`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from langchain.agents.middleware._execution import BaseExecutionPolicy

from stepwell.errors import ConfigurationError
from stepwell.tools.shell.protected_paths import ProtectedPath, mount_options
from stepwell.tools.shell.sandbox_limits import SandboxLimits, with_process_limit
from stepwell.tools.shell.sandbox_options import ETC_FILES, WORKSPACE, can, host_folders, more_folders, variables, walls
from stepwell.tools.shell.seccomp import filter_for

# Fixed places: we must not trust a program named bwrap in a folder of the user's own PATH.
_PROGRAM_PLACES = "/usr/bin:/bin:/usr/local/bin:/run/wrappers/bin:/run/current-system/sw/bin"

WAY_OUT = 'To run commands without any protection, on a machine you can lose: ShellMiddleware(policy="unsandboxed_host").'


@dataclass
class BubblewrapPolicy(BaseExecutionPolicy):
    """Starts the session's shell inside bubblewrap. The base class's fields set time-outs and how much output is kept."""

    command_timeout: float = 120.0
    max_output_lines: int = 400
    max_output_bytes: int | None = 30_000
    network: bool = False
    """Share the host's network, including its local services."""
    read_only_paths: Sequence[str | Path] = ()
    """More paths of the host to show read-only, under the same names: a compiler in its own folder, for example."""
    limits: SandboxLimits = field(default_factory=SandboxLimits)
    protected: Sequence[ProtectedPath] = ()
    """What commands must not reach below the workspace; an agent's permissions set it."""
    program: str | None = None
    """The path of bubblewrap, if it is not in one of the system's usual places."""

    def resolve_program(self) -> str:
        """The path of bubblewrap. Raises `ConfigurationError`, which says what to do, if it is missing."""
        if sys.platform != "linux":
            raise ConfigurationError(f"The sandbox for commands needs Linux. Pass LangChain's DockerExecutionPolicy. {WAY_OUT}")
        found = shutil.which(self.program or "bwrap", path=_PROGRAM_PLACES)
        if found is None:
            raise ConfigurationError(
                "The sandbox for commands needs bubblewrap (the program bwrap), which was not found. "
                f"Install the package bubblewrap with the system's package manager. {WAY_OUT}"
            )
        return found

    def spawn(self, *, workspace: Path, env: Mapping[str, str], command: Sequence[str]) -> subprocess.Popen[str]:
        """Start the shell. It dies with the calling thread, which must therefore outlive the session."""
        program = self.resolve_program()
        with ExitStack() as opened:
            options, passed = self._options(program, workspace, env, opened)
            reading, writing = os.pipe()
            opened.callback(os.close, reading)
            sending = opened.enter_context(os.fdopen(writing, "wb"))
            process = subprocess.Popen(  # noqa: S603  a fixed program, and no shell of the host
                [program, "--args", str(reading), "--", *with_process_limit(self.limits.processes, command)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={},
                cwd="/",
                pass_fds=(reading, *passed),
                start_new_session=True,
                text=True,
                encoding="utf-8",
                errors="replace",
            )
            try:
                self.limits.apply_to(process.pid)
                sending.write(b"".join(os.fsencode(option) + b"\0" for option in options))
                sending.flush()
            except BaseException:
                process.kill()
                process.communicate()
                raise
        return process

    def _options(self, program: str, workspace: Path, env: Mapping[str, str], opened: ExitStack) -> tuple[list[str], list[int]]:
        """The options for bubblewrap, and the open files that they refer to."""
        options = [
            *walls(program, network=self.network),
            *host_folders(network=self.network),
            "--proc",
            "/proc",
            "--dev",
            "/dev",
        ]
        options += [*self.limits.memory_folders(sized=can(program, "--size")), *more_folders(self.read_only_paths)]
        passed: list[int] = []
        for path, content in ETC_FILES.items():
            passed.append(_in_memory(content, opened))
            options += ["--ro-bind-data", str(passed[-1]), path]
        if (calls := filter_for(os.uname().machine, network=self.network)) is not None:
            passed.append(_in_memory(calls, opened))
            options += ["--seccomp", str(passed[-1])]
        options += ["--bind", str(workspace.resolve()), WORKSPACE, "--chdir", WORKSPACE]
        if self.protected:
            passed.append(_in_memory(b"", opened))
            options += mount_options(self.protected, workspace.resolve(), WORKSPACE, str(passed[-1]))
        # /proc too: if the host process is root, /proc/sys/kernel/core_pattern would be a way to run programs on the host.
        options += ["--remount-ro", "/proc", "--remount-ro", "/dev", "--remount-ro", "/", *variables(env)]
        return options, passed


def _in_memory(content: bytes, opened: ExitStack) -> int:
    """An open file without a name."""
    file = opened.enter_context(os.fdopen(os.memfd_create("stepwell"), "w+b"))
    file.write(content)
    file.flush()
    file.seek(0)
    return file.fileno()
