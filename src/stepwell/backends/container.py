"""Files in one folder, and commands in a container that sees this folder and nothing else of the machine.

```
execute(command) ─> docker run --rm, one container for each command ─┬─> it ends: output and exit code
                    no network, no privileges, read-only system      └─> out of time: docker kill, what it printed so far
```
One container for each command: nothing is left of it but the files, whatever happens to this process; a clock inside the container ends
it even if nobody here is left to do so. Only the program of the container engine is used (docker, or podman, which takes the same
options); neither its socket nor its library is touched.

Rule to keep: the command is an argument of `sh -c` in the container, never of a shell of ours.
"""

from __future__ import annotations

import os
import re
import selectors
import shutil
import subprocess
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from stepwell.backends.commands import ExecuteResponse, SandboxBackendProtocol
from stepwell.backends.filesystem import FilesystemBackend
from stepwell.errors import ConfigurationError
from stepwell.settings import child_environment

WORKSPACE = "/workspace"
DEFAULT_IMAGE = "python:3.12-slim"
_ENGINE_S = 30.0
"""How long the engine may take for what is not a command: to say that it is there, or to end a container."""
_GRACE_S = 10.0
"""Added to a command's time for starting the container. After that it is ended from outside."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NO_ENGINE = (125,)
"""The exit code with which the engine itself fails, before the command has begun."""


class ContainerBackend(SandboxBackendProtocol, FilesystemBackend):
    """Keeps files below `root_dir`, and runs commands in a container of `image` with this folder as `/workspace`.

    `engine` is the program: "docker" or "podman". `network` gives commands the engine's default network. `env` is visible to every
    command. `memory` and `cpus` are limits in the engine's own form, `processes` is a number; `timeout_s` is the time of a command whose
    caller names none.

    Raises:
        ConfigurationError: The engine is not installed or does not run, or the image is not there. Nothing ever runs on the host instead.
    """

    def __init__(
        self,
        root_dir: str | Path,
        *,
        image: str = DEFAULT_IMAGE,
        engine: str = "docker",
        network: bool = False,
        env: Mapping[str, str] | None = None,
        memory: str = "1g",
        cpus: float = 1.0,
        processes: int = 256,
        timeout_s: int = 120,
        max_output_bytes: int = 30_000,
        **files: Any,
    ) -> None:
        FilesystemBackend.__init__(
            self, root_dir, **files
        )  # not `super()`: the protocol stands first, and has no such arguments
        self._folder = Path(root_dir).resolve()
        self._image = image
        self._env = dict(env or {})
        self._timeout_s = timeout_s
        self._most_bytes = max_output_bytes
        if wrong := [name for name in self._env if not _NAME.fullmatch(name)]:
            raise ConfigurationError(
                f"'{wrong[0]}' cannot be the name of a variable for commands. Use letters, digits and '_'."
            )
        if ":" in str(self._folder) or "," in str(self._folder):
            raise ConfigurationError(
                "A folder with ':' or ',' in its path cannot be mounted into a container. Use another one."
            )
        self._engine = _find_engine(engine)
        self._limits = [f"--memory={memory}", f"--memory-swap={memory}", f"--cpus={cpus:g}", f"--pids-limit={processes}"]
        self._network = [] if network else ["--network=none"]
        _require_image(self._engine, image)

    @property
    def id(self) -> str:
        return f"container:{self._image}"

    @property
    def about_commands(self) -> str:
        """What the model must know beyond the tool's usual description."""
        return (
            f"Commands start in {WORKSPACE}, which is / of the file tools. Each runs in a new container: only files there stay."
        )

    def execute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
        """Run a shell command in a new container."""
        seconds = timeout or self._timeout_s
        name = f"stepwell-{uuid.uuid4().hex}"
        process = subprocess.Popen(  # noqa: S603  a fixed program with a list of arguments, and no shell of the host
            [self._engine, "run", *self._options(name), self._image, *_bounded(command, seconds)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=child_environment(self._env),  # values by name only: the command line of a process can be read by others
        )
        with process:
            output = _Output(self._most_bytes)
            ended = output.read(process, time.monotonic() + seconds + _GRACE_S)
            if not ended:
                _call(self._engine, "kill", name)
                process.kill()
            code = process.wait()
        if not ended or code == 137:
            return ExecuteResponse(f"{output.text}\n[ended after {seconds} s, or out of memory]", 137, output.truncated)
        if code in _NO_ENGINE:
            return ExecuteResponse(f"The command did not run: the container could not be started. {output.text}", code)
        return ExecuteResponse(output.text, code, output.truncated)

    def _options(self, name: str) -> list[str]:
        user = [f"--user={os.getuid()}:{os.getgid()}"] if hasattr(os, "getuid") else []
        variables = [part for variable in self._env for part in ("--env", variable)]
        return [
            "--rm",
            "--init",
            "--pull=never",
            f"--name={name}",
            "--label=stepwell=execute",
            *self._network,
            *self._limits,
            *user,
            "--read-only",
            "--tmpfs=/tmp:rw,size=512m,mode=1777",
            "--cap-drop=ALL",
            "--security-opt=no-new-privileges",
            f"--volume={self._folder}:{WORKSPACE}",
            f"--workdir={WORKSPACE}",
            "--env=HOME=/tmp",
            *variables,
            "--entrypoint=",
        ]


def _bounded(command: str, seconds: int) -> Sequence[str]:
    """The command under a clock of its own, for the case that this process is killed meanwhile."""
    return ("timeout", "-s", "KILL", str(seconds), "sh", "-c", command)


class _Output:
    """The beginning and the end of what a command prints."""

    def __init__(self, most_bytes: int) -> None:
        self._half = max(most_bytes // 2, 1)
        self._head = b""
        self._tail = b""
        self.truncated = False

    def read(self, process: subprocess.Popen[bytes], until: float) -> bool:
        """Read until the command ends. Returns False if it did not end in time."""
        assert process.stdout is not None  # noqa: S101  it was opened as a pipe
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while (left := until - time.monotonic()) > 0:
                if not selector.select(left):
                    continue
                if not (piece := os.read(process.stdout.fileno(), 65_536)):
                    return True
                self._add(piece)
        return False

    def _add(self, piece: bytes) -> None:
        room = self._half - len(self._head)
        self._head += piece[:room]
        self._tail += piece[room:] if room > 0 else piece
        if len(self._tail) > self._half:
            self._tail, self.truncated = self._tail[-self._half :], True

    @property
    def text(self) -> str:
        between = b"\n[...]\n" if self.truncated else b""
        return (self._head + between + self._tail).decode("utf-8", "replace").rstrip("\n")


def _find_engine(engine: str) -> str:
    if engine not in ("docker", "podman"):
        raise ConfigurationError(f"'{engine}' is not a container engine that can be used here. Choose docker or podman.")
    found = shutil.which(engine)
    if found is None:
        raise ConfigurationError(
            f"Commands in containers need the program {engine}, which was not found. Install it, or use ShellMiddleware, which runs "
            "commands in bubblewrap on Linux."
        )
    if _call(found, "version", "--format", "{{.Server.Version}}") != 0:
        raise ConfigurationError(
            f"The program {engine} is installed, but its engine does not answer. Start it and give this user access "
            f"(`{engine} version` must show a server), or use ShellMiddleware, which runs commands in bubblewrap on Linux."
        )
    return found


def _require_image(engine: str, image: str) -> None:
    if image.startswith("-") or _call(engine, "image", "inspect", image) != 0:
        raise ConfigurationError(
            f"The image '{image}' for commands is not on this machine. Fetch it first: {Path(engine).name} pull {image}"
        )


def _call(engine: str, *arguments: str) -> int | None:
    """The exit code of the engine's program; None if it does not end."""
    try:
        done = subprocess.run([engine, *arguments], capture_output=True, timeout=_ENGINE_S, check=False)  # noqa: S603  a fixed program
    except subprocess.TimeoutExpired:
        return None
    return done.returncode
