"""Backends that also run commands: what they look like, and which backend runs a tree's commands.

A command runs where the files of a backend are. In a `CompositeBackend` that is its default backend: the files of the mounts are
elsewhere, so commands do not see them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, cast, runtime_checkable

from stepwell.backends.protocol import BackendProtocol
from stepwell.backends.sync_async import run_in_portal
from stepwell.errors import BackendError
from stepwell.in_thread import in_thread

if TYPE_CHECKING:
    _Files = BackendProtocol
else:

    class _Files(Protocol):
        """Nothing, at run time: the empty bodies of the file verbs would hide those of a sandbox's second base class."""


@dataclass
class ExecuteResponse:
    """What a command printed (output and errors in one stream), and how it ended."""

    output: str
    exit_code: int | None = None
    """0 is success; None if the sandbox does not know."""
    truncated: bool = False
    """Whether the sandbox left out a part of the output."""


@runtime_checkable
class SandboxBackendProtocol(_Files, Protocol):
    """A backend that runs commands where its files are. Implement `execute`; derive from this class to get its async form. A text
    `about_commands`, if there is one, is added to what the model reads about the tool."""

    @property
    def id(self) -> str:
        """What identifies this sandbox, in logs for example."""
        ...

    def execute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
        """Run a shell command. `timeout` is in seconds; None leaves the choice to the sandbox."""
        ...

    async def aexecute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:  # noqa: ASYNC109  # the sandbox's own limit
        answer: ExecuteResponse = await in_thread(self.execute, command, **_options(self, timeout))
        return answer


def command_backend(backend: Any) -> Any | None:
    """The backend that runs a tree's commands; None if none does, and for a factory, whose backend is not known before a call."""
    if isinstance(backend, type):
        return None
    if hasattr(type(backend), "command_backend"):  # a tree of several backends, or a wrapper around one
        return backend.command_backend
    has_files = any(callable(getattr(backend, verb, None)) for verb in ("ls_info", "als_info", "ls", "als"))
    runs = any(callable(getattr(backend, verb, None)) for verb in ("execute", "aexecute"))
    return backend if has_files and runs else None


def takes_timeout(backend: Any) -> bool:
    """Whether a backend's `execute` has an argument `timeout`. Older sandboxes do not."""
    method = getattr(backend, "execute", None) or getattr(backend, "aexecute", None)
    try:
        known = inspect.signature(method).parameters if callable(method) else {}
    except (TypeError, ValueError):
        return False
    return "timeout" in known or any(each.kind is inspect.Parameter.VAR_KEYWORD for each in known.values())


def run_command(backend: Any, command: str, timeout: int | None = None) -> Any:
    """Run a command in a backend, from sync code. A sandbox with only the async form is called through a portal."""
    options = _options(backend, timeout)
    if callable(run := getattr(backend, "execute", None)):
        return run(command, **options)
    return run_in_portal(_async_form(backend)(command, **options))


async def arun_command(backend: Any, command: str, timeout: int | None = None) -> Any:  # noqa: ASYNC109  # the sandbox's own limit
    """Run a command in a backend, from async code. A sandbox with only the sync form is called in a thread."""
    options = _options(backend, timeout)
    if not hasattr(backend, "aexecute") and callable(run := getattr(backend, "execute", None)):
        return await in_thread(run, command, **options)
    return await _async_form(backend)(command, **options)


def _async_form(backend: Any) -> Callable[..., Coroutine[Any, Any, Any]]:
    if callable(run := getattr(backend, "aexecute", None)):
        return cast("Callable[..., Coroutine[Any, Any, Any]]", run)
    raise BackendError(
        f"{type(backend).__name__} does not run commands. Use a backend with execute(command), or add ShellMiddleware to the agent."
    )


def _options(backend: Any, timeout: int | None) -> dict[str, Any]:
    return {"timeout": timeout} if timeout is not None and takes_timeout(backend) else {}
