"""A shell that reads commands from a pipe, one at a time, and reports when each is done.

We measured LangChain's own session first, and it falls short: output without a final newline, `exit`, a command that reads its input
and an open quote each look like a time-out; every command costs 50 ms; the collected output has no limit in bytes. So this one is our
own, on top of LangChain's execution policies.

A command is sent as one list (on one line), which the shell has read completely before the command begins:
```
eval '<command>' </dev/null 9>&-;        an open quote or a syntax error ends with the eval; nothing can swallow the next line
printf '%s %s\\n' <mark> "$?" >&9;        reports the end, on a pipe that no program inherits
printf '\\n%s\\n' <fence>               marks the end of the output, on the output stream
```
Only the mark ends a command. It is random and new each time, the list has left the pipe when the command runs (`read -r l <&10` finds
nothing there), and we do not search a program's output for the mark. So output cannot end its own command or choose an exit code. Code that
runs in the shell itself has the shell's powers: it can redefine `printf`, or wait for the next list.

Errors and output share one stream, in the order in which they were written.
"""

from __future__ import annotations

import os
import queue
import secrets
import selectors
import shlex
import signal
import subprocess
import threading
import time
import weakref
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, Literal

from stepwell.tools.shell.output import BoundedOutput

_CHUNK = 65536
_GLANCE_S = 0.2
"""How often to check whether the caller still waits, and whether the shell has ended while something else holds its output open. Also
how long to wait for the fence after the mark: a command may have redirected the shell's output."""
_LONGEST_MARK = 4096


@dataclass(frozen=True)
class CommandResult:
    """How a command ended: by itself, with the whole shell, at its time-out, or because the caller stopped waiting."""

    ending: Literal["done", "shell_ended", "timed_out", "stopped"]
    exit_code: int | None


@dataclass(frozen=True)
class _Waiting:
    """How long the caller waits for a command."""

    deadline: float
    stop: threading.Event

    def glance(self) -> float:
        """How long to wait before checking again; raises `TimeoutError` when the wait is over."""
        remaining = self.deadline - time.monotonic()
        if remaining <= 0 or self.stop.is_set():
            raise TimeoutError
        return min(remaining, _GLANCE_S)


class ShellProcess:
    """One running shell. It ends when its last reference is dropped, or with the interpreter."""

    def __init__(self, spawn: Callable[[], subprocess.Popen[str]]) -> None:
        self._process = _spawn_in_keeper(spawn)
        self._end = weakref.finalize(self, end_process, self._process)
        self._input, self._output = _descriptor(self._process.stdin), _descriptor(self._process.stdout)
        self._marks = _descriptor(self._process.stderr)
        self._unread, self._late_fence = b"", b""
        os.set_blocking(self._input, False)
        # From now on its stderr stream carries the marks.
        self._preamble = b"exec 9>&2 2>&1\n"

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._end.alive and self._process.poll() is None

    def close(self) -> None:
        """Kill the shell and everything it started, and close its pipes."""
        self._end()

    def run(
        self, command: str, output: BoundedOutput, *, timeout_s: float, stop: threading.Event | None = None
    ) -> CommandResult:
        """Run one command and collect its output. If it does not end by itself, the shell is ended too."""
        mark, fence = secrets.token_hex(16).encode(), secrets.token_hex(16).encode()
        telling = b"printf '%%s %%s\\n' %b \"$?\" >&9; printf '\\n%%s\\n' %b" % (mark, fence)
        framed = b"eval %b </dev/null 9>&-; %b\n" % (shlex.quote(command).encode(), telling)
        sending, self._preamble = self._preamble + framed, b""
        waiting = _Waiting(time.monotonic() + timeout_s, stop or threading.Event())
        reader = _Reader(b"\n" + fence + b"\n", output, self._unread, self._late_fence)
        try:
            exit_code = self._converse(sending, reader, _Marks(mark), waiting)
        except TimeoutError:
            reader.flush()
            self.close()
            return CommandResult("stopped" if waiting.stop.is_set() else "timed_out", None)
        except EOFError:
            reader.flush()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(1)
            code = self._process.poll()
            self.close()
            return CommandResult("shell_ended", code)
        self._unread, self._late_fence = reader.rest, reader.missing_fence
        return CommandResult("done", exit_code)

    def _converse(self, sending: bytes, reader: _Reader, marks: _Marks, waiting: _Waiting) -> int:
        """Write the command and read the output at the same time, since a full pipe on either side would block the other."""
        with selectors.DefaultSelector() as ready:
            ready.register(self._output, selectors.EVENT_READ)
            ready.register(self._marks, selectors.EVENT_READ)
            ready.register(self._input, selectors.EVENT_WRITE)
            while True:
                events = ready.select(waiting.glance())
                if not events and marks.exit_code is not None:  # the output was redirected, so no fence will come
                    reader.flush()
                    return marks.exit_code
                if not events and self._process.poll() is not None:
                    raise EOFError
                for key, _ in events:
                    if key.fd == self._input:
                        sending = self._send(sending)
                        if not sending:
                            ready.unregister(self._input)
                    elif key.fd == self._marks:
                        if not marks.take(os.read(self._marks, _CHUNK)):
                            ready.unregister(self._marks)
                    elif reader.take(os.read(self._output, _CHUNK)):
                        ready.unregister(self._output)  # what follows does not belong to this command
                if reader.complete and marks.exit_code is not None:
                    return marks.exit_code

    def _send(self, data: bytes) -> bytes:
        try:
            return data[os.write(self._input, data[:_CHUNK]) :]
        except BlockingIOError:
            return data
        except BrokenPipeError:  # the shell has ended; reading will show how
            return b""


class _Marks:
    """Reads the pipe of marks and finds the one that ends this command. Everything else there is ignored."""

    def __init__(self, mark: bytes) -> None:
        self._mark = mark
        self._held = b""
        self.exit_code: int | None = None

    def take(self, chunk: bytes) -> bool:
        """Look at what was read. Returns whether more can come."""
        *lines, self._held = (self._held + chunk).split(b"\n")
        self._held = self._held[-_LONGEST_MARK:]
        for line in lines:
            mark, _, code = line.partition(b" ")
            if mark == self._mark and code.isdigit():
                self.exit_code = int(code)
        return bool(chunk)


class _Reader:
    """Passes output on and finds the fence at its end, wherever the chunks are split."""

    def __init__(self, fence: bytes, output: BoundedOutput, unread: bytes, late_fence: bytes) -> None:
        self._fence = fence
        self._late_fence = late_fence
        """The fence of the previous command, if it had not arrived when that command ended."""
        self._output = output
        self._held = unread
        self.rest = b""
        self.complete = False

    @property
    def missing_fence(self) -> bytes:
        """This command's fence, if it is still to come; it must not appear in any output."""
        return b"" if self.complete else self._fence

    def take(self, chunk: bytes) -> bool:
        """Returns whether the command's output ends with this chunk."""
        if not chunk:
            raise EOFError
        self._held += chunk
        if self._late_fence and self._late_fence in self._held:
            self._held, self._late_fence = self._held.replace(self._late_fence, b"", 1), b""
        found = self._held.find(self._fence)
        if found >= 0:
            self._output.feed(self._held[:found])
            self.rest, self._held = self._held[found + len(self._fence) :], b""
            self.complete = True
            return True
        self._output.feed(self._held[: -len(self._fence)])
        self._held = self._held[-len(self._fence) :]
        return False

    def flush(self) -> None:
        """Pass on what was held back because it might have been the beginning of the fence."""
        self._output.feed(self._held)
        self._held = b""


def _spawn_in_keeper(spawn: Callable[[], subprocess.Popen[str]]) -> subprocess.Popen[str]:
    """Start a process from a thread that lives as long as the process.

    The kernel's "die with the parent" means the parent *thread*, and the thread that runs a tool ends with the tool.
    """
    answer: queue.SimpleQueue[subprocess.Popen[str] | BaseException] = queue.SimpleQueue()

    def keep() -> None:
        try:
            process = spawn()
        except BaseException as error:  # raised in the caller below
            answer.put(error)
            return
        answer.put(process)
        process.wait()

    threading.Thread(target=keep, name="stepwell-shell", daemon=True).start()
    started = answer.get()
    if isinstance(started, BaseException):
        raise started
    return started


def end_process(process: subprocess.Popen[str]) -> None:
    """Kill a process and all it started, wait until they are gone, and close the pipes. Safe to call from a finalizer."""
    _close(process.stdin)
    # bubblewrap's child first: then bubblewrap itself reaps it, and no zombie is left for process 1.
    for child in _children_of(process.pid):
        with suppress(ProcessLookupError, PermissionError):
            os.kill(child, signal.SIGKILL)
    with suppress(subprocess.TimeoutExpired):
        process.wait(0.5)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    with suppress(subprocess.TimeoutExpired):
        process.wait(2)
    _wait_for_end_of(_descriptor(process.stdout), time.monotonic() + 1)
    _close(process.stdout)
    _close(process.stderr)


def _children_of(pid: int) -> list[int]:
    """The direct children of a running process; empty if the kernel does not list them."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as told:
            return [int(child) for child in told.read().split()]
    except OSError:
        return []


def _close(stream: IO[str] | None) -> None:
    if stream is not None:
        with suppress(OSError):
            stream.close()


def _wait_for_end_of(output: int, deadline: float) -> None:
    """Read until the other end is closed everywhere: only then is every process of a sandbox gone."""
    with selectors.DefaultSelector() as ready:
        ready.register(output, selectors.EVENT_READ)
        while (remaining := deadline - time.monotonic()) > 0 and ready.select(remaining):
            if not os.read(output, _CHUNK):
                return


def _descriptor(stream: IO[str] | None) -> int:
    if stream is None:
        raise OSError("The execution policy gave the shell no pipes.")
    return stream.fileno()
