"""Where the shell runs: inside bubblewrap, with nothing of the host but read-only system folders and one workspace.

```
/workspace            the caller's folder, read and write; the only thing that outlives the session
/tmp /dev/shm         private, in memory, bounded; HOME is /tmp
/usr /bin /lib ...    the host's, read only; of /etc only what programs need to start
/proc /dev            private; no process of the host is in sight
everything else       is not there
```
Rules to keep:
- bubblewrap itself starts with an empty environment: `--clearenv` would leave the parent's readable in `/proc/1/environ`.
- Options travel through a pipe, not on the command line, which `/proc/1/cmdline` shows inside and `ps` outside.
- While bubblewrap waits for that pipe its limits are set, so nothing ever runs without them.
- Nothing falls back to the host: `check` refuses where the sandbox cannot be had or does not hold.

Linux only. The module imports anywhere; using the policy elsewhere raises `ConfigurationError`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from langchain.agents.middleware._execution import BaseExecutionPolicy

from stepwell.errors import ConfigurationError
from stepwell.tools.sandbox_limits import SandboxLimits, with_process_limit
from stepwell.tools.seccomp import filter_for

WORKSPACE = "/workspace"
SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# Fixed places: a program of that name in a folder of the user's own PATH must not become the wall.
_PROGRAM_PLACES = "/usr/bin:/bin:/usr/local/bin:/run/wrappers/bin:/run/current-system/sw/bin"
_SYSTEM_FOLDERS = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
_ETC = (
    "alternatives", "ca-certificates", "ca-certificates.conf", "fonts", "ld.so.cache", "ld.so.conf", "ld.so.conf.d",
    "localtime", "mime.types", "pki/tls/certs", "ssl/certs", "ssl/openssl.cnf",
)  # fmt: skip
_ETC_NETWORK = ("hosts", "nsswitch.conf", "resolv.conf", "services", "protocols")
_UID = "1000"
_PASSWD = f"user:x:{_UID}:{_UID}::/tmp:/bin/sh\n".encode()
_GROUP = f"user:x:{_UID}:\n".encode()

WAY_OUT = 'Or run commands without any protection on a machine you can lose: ShellMiddleware(policy="unsandboxed_host").'


@dataclass
class BubblewrapPolicy(BaseExecutionPolicy):
    """Starts the session's shell inside bubblewrap. Fields of the base set time-outs and how much output is kept."""

    command_timeout: float = 120.0
    termination_timeout: float = 2.0
    max_output_lines: int = 400
    max_output_bytes: int | None = 30_000
    network: bool = False
    """Share the host's network, local services included."""
    read_only_paths: Sequence[str | Path] = ()
    """More of the host to show, read only, at the same paths: a compiler in its own folder, say."""
    limits: SandboxLimits = SandboxLimits()
    program: str | None = None
    """Where bubblewrap is, if not in one of the system's usual places."""

    def check(self) -> None:
        """Refuse to go on unless the sandbox starts and holds. The escape test runs once per process and kind of sandbox."""
        from stepwell.tools.sandbox_check import escape_routes

        found = escape_routes(self.resolve_program(), self.network)
        if found:
            raise ConfigurationError(f"The sandbox for commands does not hold here: {'; '.join(found)}. {WAY_OUT}")

    def resolve_program(self) -> str:
        """The path of bubblewrap, or `ConfigurationError` with the way out."""
        if sys.platform != "linux":
            raise ConfigurationError(f"The sandbox for commands needs Linux. Use LangChain's DockerExecutionPolicy here. {WAY_OUT}")
        found = shutil.which(self.program or "bwrap", path=None if self.program else _PROGRAM_PLACES)
        if found is None:
            raise ConfigurationError(
                "The sandbox for commands needs bubblewrap (the program bwrap), which is not installed. "
                f"Install the package bubblewrap with the system's package manager. {WAY_OUT}"
            )
        return found

    def spawn(self, *, workspace: Path, env: Mapping[str, str], command: Sequence[str]) -> subprocess.Popen[str]:
        """Start the shell. bubblewrap dies with the thread that calls this, so that thread must outlive the session."""
        program = self.resolve_program()
        with ExitStack() as opened:
            options, passed = self._options(workspace, env, opened)
            reading, writing = os.pipe()
            opened.callback(os.close, reading)
            sending = opened.enter_context(os.fdopen(writing, "wb"))
            process = subprocess.Popen(  # noqa: S603  a fixed program; everything else goes through the pipe
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
                sending.write(b"".join(option.encode() + b"\0" for option in options))
                sending.flush()
            except BaseException:
                process.kill()
                process.communicate()
                raise
        return process

    def _options(self, workspace: Path, env: Mapping[str, str], opened: ExitStack) -> tuple[list[str], list[int]]:
        """What bubblewrap is told, and the files it is told it in."""
        options = [*_walls(self.network, _abilities(self.resolve_program())), *_host_folders(self.network, self.read_only_paths)]
        passed = [_in_memory(content, opened) for content in (_PASSWD, _GROUP)]
        options += ["--ro-bind-data", str(passed[0]), "/etc/passwd", "--ro-bind-data", str(passed[1]), "/etc/group"]
        if (calls := filter_for(os.uname().machine)) is not None:
            passed.append(_in_memory(calls, opened))
            options += ["--seccomp", str(passed[-1])]
        options += self.limits.memory_folders(sized="--size" in _abilities(self.resolve_program()))
        options += ["--bind", str(workspace.resolve()), WORKSPACE, "--remount-ro", "/", "--chdir", WORKSPACE]
        variables = {"PATH": SEARCH_PATH, "HOME": "/tmp", "LANG": "C.UTF-8", "TERM": "dumb", **env}  # noqa: S108  private there
        for name, value in variables.items():
            options += ["--setenv", name, value]
        return options, passed


def _walls(network: bool, abilities: frozenset[str]) -> Iterator[str]:
    yield from ("--unshare-all", "--unshare-user", "--uid", _UID, "--gid", _UID, "--hostname", "sandbox")
    if network:
        yield "--share-net"
    if "--disable-userns" in abilities:  # from 0.8 on; before, the call filter alone refuses new user namespaces
        yield "--disable-userns"
    yield from ("--cap-drop", "ALL", "--die-with-parent", "--new-session")


def _host_folders(network: bool, more: Sequence[str | Path]) -> Iterator[str]:
    yield from ("--ro-bind", "/usr", "/usr", "--ro-bind-try", "/nix/store", "/nix/store")
    for name in _SYSTEM_FOLDERS:
        folder = Path("/", name)
        if folder.is_symlink():
            yield from ("--symlink", os.readlink(folder), str(folder))
        elif folder.is_dir():
            yield from ("--ro-bind", str(folder), str(folder))
    for name in (*_ETC, *(_ETC_NETWORK if network else ())):
        yield from ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")
    for path in more:
        yield from ("--ro-bind", str(Path(path).resolve()), str(Path(path).absolute()))
    yield from ("--proc", "/proc", "--dev", "/dev")


def _in_memory(content: bytes, opened: ExitStack) -> int:
    """An open file that has no name anywhere."""
    file = opened.enter_context(os.fdopen(os.memfd_create("stepwell"), "w+b"))
    file.write(content)
    file.flush()
    file.seek(0)
    return file.fileno()


def _abilities(program: str) -> frozenset[Literal["--disable-userns", "--size"]]:
    """Which of the newer options this bubblewrap has."""
    raise NotImplementedError
