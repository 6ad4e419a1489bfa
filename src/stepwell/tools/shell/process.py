"""A shell that reads commands from a pipe, one at a time, and says when each is done.

LangChain's own session was measured first and falls short: output without a final newline, `exit`, a command that reads its input
and an open quote each look like a time-out; every command costs 50 ms; output has no bound in bytes while it is collected. So this
one is ours, on top of LangChain's execution policies.

How a command is framed, in one list (on one line) that the shell has read to its end before the command begins:
```
eval '<command>' </dev/null 9>&-;        an open quote or a syntax error ends with the eval; nothing can swallow the next line
printf '%s %s\\n' <mark> "$?" >&9;        tells the end, on a pipe that no program inherits
printf '\\n%s\\n' <fence>               tells where the output ends, on the stream of the output
```
Only the mark ends a command. It is random and new each time, the list is out of the pipe when the command runs (`read -r l <&10`
finds nothing there), and what a program prints is not looked through for it: output cannot end its own command, nor choose an exit
code. Code that runs in the shell itself stays the shell's equal: it can redefine `printf`, or lie in wait for the next list.

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
"""How often to look whether the caller still waits, and whether the shell has ended while something else holds its output open. Also
how long the fence is waited for after the mark: a command may have sent the shell's output elsewhere."""
_LONGEST_MARK = 4096


@dataclass(frozen=True)
class CommandResult:
    """How a command ended: by itself, with the whole shell, because its time was up, or because nobody waits any more."""

    ending: Literal["done", "shell_ended", "timed_out", "stopped"]
    exit_code: int | None


@dataclass(frozen=True)
class _Waiting:
    """How long the caller waits for a command."""

    deadline: float
    stop: threading.Event

    def glance(self) -> float:
        """How long to wait before looking again; `TimeoutError` when waiting is over."""
        remaining = self.deadline - time.monotonic()
        if remaining <= 0 or self.stop.is_set():
            raise TimeoutError
        return min(remaining, _GLANCE_S)


class ShellProcess:
    """One running shell. Whoever drops the last reference ends it, and so does the end of the interpreter."""

    def __init__(self, spawn: Callable[[], subprocess.Popen[str]]) -> None:
        self._process = _spawn_in_keeper(spawn)
        self._end = weakref.finalize(self, end_process, self._process)
        self._input, self._output = _descriptor(self._process.stdin), _descriptor(self._process.stdout)
        self._marks = _descriptor(self._process.stderr)
        self._unread, self._late_fence = b"", b""
        os.set_blocking(self._input, False)
        # What was its stream for errors carries the marks from now on.
        self._preamble = b"exec 9>&2 2>&1\n"

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._end.alive and self._process.poll() is None

    def close(self) -> None:
        """Kill the shell and everything it started, and let go of its pipes."""
        self._end()

    def run(
        self, command: str, output: BoundedOutput, *, timeout_s: float, stop: threading.Event | None = None
    ) -> CommandResult:
        """Run one command and collect what it prints. If it does not end by itself, the shell ends with it."""
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
        """Write the command and read what comes at once, since a full pipe on either side would stop the other."""
        with selectors.DefaultSelector() as ready:
            ready.register(self._output, selectors.EVENT_READ)
            ready.register(self._marks, selectors.EVENT_READ)
            ready.register(self._input, selectors.EVENT_WRITE)
            while True:
                events = ready.select(waiting.glance())
                if not events and marks.exit_code is not None:  # the output has gone elsewhere, so no fence will come
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
                        ready.unregister(self._output)  # what follows is not this command's
                if reader.complete and marks.exit_code is not None:
                    return marks.exit_code

    def _send(self, data: bytes) -> bytes:
        try:
            return data[os.write(self._input, data[:_CHUNK]) :]
        except BlockingIOError:
            return data
        except BrokenPipeError:  # the shell has ended; reading will tell how
            return b""


class _Marks:
    """Reads the pipe of marks for the one that ends this command. Whatever else is written there says nothing."""

    def __init__(self, mark: bytes) -> None:
        self._mark = mark
        self._held = b""
        self.exit_code: int | None = None

    def take(self, chunk: bytes) -> bool:
        """Look at what was read; gives whether more can come."""
        *lines, self._held = (self._held + chunk).split(b"\n")
        self._held = self._held[-_LONGEST_MARK:]
        for line in lines:
            mark, _, code = line.partition(b" ")
            if mark == self._mark and code.isdigit():
                self.exit_code = int(code)
        return bool(chunk)


class _Reader:
    """Passes output on and finds the fence at its end, wherever the chunks are cut."""

    def __init__(self, fence: bytes, output: BoundedOutput, unread: bytes, late_fence: bytes) -> None:
        self._fence = fence
        self._late_fence = late_fence
        """Of the command before, if it was not there when that had ended."""
        self._output = output
        self._held = unread
        self.rest = b""
        self.complete = False

    @property
    def missing_fence(self) -> bytes:
        """What is still to come of this command, and belongs to nobody's output."""
        return b"" if self.complete else self._fence

    def take(self, chunk: bytes) -> bool:
        """Whether the command's output has ended with this."""
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
        """Pass on what was held back in case it was the beginning of the fence."""
        self._output.feed(self._held)
        self._held = b""


def _spawn_in_keeper(spawn: Callable[[], subprocess.Popen[str]]) -> subprocess.Popen[str]:
    """Start a process in a thread that lives as long as it does.

    The kernel's "die with the parent" means the parent *thread*, and the thread that runs a tool ends with the tool.
    """
    answer: queue.SimpleQueue[subprocess.Popen[str] | BaseException] = queue.SimpleQueue()

    def keep() -> None:
        try:
            process = spawn()
        except BaseException as error:  # handed to the caller below
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
    # bubblewrap's child first: then bubblewrap itself collects it, and no zombie is left to whoever is process 1.
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
    """The direct children of a process that runs; none where the kernel does not tell."""
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
    """Read until nobody holds the other end: only then is every process of a sandbox gone."""
    with selectors.DefaultSelector() as ready:
        ready.register(output, selectors.EVENT_READ)
        while (remaining := deadline - time.monotonic()) > 0 and ready.select(remaining):
            if not os.read(output, _CHUNK):
                return


def _descriptor(stream: IO[str] | None) -> int:
    if stream is None:
        raise OSError("The execution policy gave the shell no pipes.")
    return stream.fileno()
