"""Reads foreign documents in separate processes, a few at a time, each with limits on time, CPU and memory.

```
read_page ──> queue ──> keeper (a thread, at most `size`) ──> reader_child (its process)
```

For a document that exceeds them, the caller gets a `FetchFailedError`: the process is killed, and the keeper starts another before the
next document comes. A cancelled call frees its reader in the same way. Keepers and their processes start when there is something to
read and end after a while without work, so a program that reads no pages has none. The pool belongs to the process, so it works from
any thread and any event loop.
"""

from __future__ import annotations

import asyncio
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from functools import cache
from itertools import accumulate, pairwise
from typing import IO, Any, cast

from stepwell.errors import ConfigurationError, FetchFailedError, FetchRefusedError, MissingExtraError, StepwellError
from stepwell.settings import bare_environment
from stepwell.tools.documents import reader_child
from stepwell.tools.documents.formats.pdf_pages import Pages
from stepwell.tools.documents.page import PageText
from stepwell.tools.documents.papers import PaperList
from stepwell.tools.documents.parts import Part
from stepwell.tools.documents.reader_child import Message, receive, send
from stepwell.tools.documents.result_page import ResultPage
from stepwell.tools.documents.robots_rules import Rules

READ_TIMEOUT_S = 12.0
"""An honest page of the maximum size takes about five seconds on a slow core."""
MOST_MEMORY_MB = 256
_ROBOTS = "The robots.txt"
_IDLE_S = 120.0
_START_S = 60.0
_OUT_OF_CPU, _KILLED = getattr(signal, "SIGXCPU", 0), getattr(signal, "SIGKILL", 0)


@cache
def _readers_of(_process_id: int) -> ReaderPool:
    return ReaderPool()


def usual_readers() -> ReaderPool:
    """The pool that everything in this process shares, because cores and memory are shared too; a forked process has its own."""
    return _readers_of(os.getpid())


class ReaderPool:
    """Reads at most `size` documents at the same time; the others wait for their turn."""

    def __init__(
        self,
        *,
        size: int | None = None,
        memory_mb: int = MOST_MEMORY_MB,
        timeout_s: float = READ_TIMEOUT_S,
        idle_s: float = _IDLE_S,
    ) -> None:
        self._size = size or min(4, max(2, os.cpu_count() or 1))
        self._memory_mb = memory_mb
        self._timeout_s = timeout_s
        self._idle_s = idle_s
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._keepers: set[threading.Thread] = set()
        self._open_jobs = 0

    async def read_page(
        self, content: bytes, content_type: str | None, timeout_s: float | None = None, *, name: str = ""
    ) -> PageText:
        """The text of a page. Its file `name` decides where the type says nothing. Raises `FetchRefusedError` for a type we do not read,
        `FetchFailedError` if it cannot be read."""
        return await self._read("The page", content, content_type, name, timeout_s)

    async def read_file(self, content: bytes, name: str, timeout_s: float | None = None) -> PageText:
        """The text of a file: its bytes decide what it is, then its name. Raises like `read_page`."""
        return await self._read("The file", content, None, name, timeout_s)

    def read_file_blocking(self, content: bytes, name: str, timeout_s: float | None = None) -> PageText:
        """`read_file` for callers without an event loop. It blocks its thread."""
        job = self._job({"job": "page", "content_type": None, "name": name}, content, timeout_s)
        self._enter(job)
        return _page(self._check("The file", job, job.answer.result()))

    def show_pages_blocking(self, content: bytes, first: int, count: int, most_bytes: int, *, as_pdf: bool) -> Pages:
        """Pages of a PDF as they look: as one smaller PDF, or as images. Blocks its thread; raises like `read_page`."""
        head = {"job": "pdf_pages", "first": first, "count": count, "most_bytes": most_bytes, "as_pdf": as_pdf}
        job = self._job(head, content, None)
        self._enter(job)
        found, body = self._check("The file", job, job.answer.result())
        ends = list(accumulate(map(int, found["sizes"]), initial=0))
        return Pages(int(found["total"]), int(found["count"]), [body[start:end] for start, end in pairwise(ends)])

    async def _read(self, what: str, content: bytes, content_type: str | None, name: str, timeout_s: float | None) -> PageText:
        return _page(await self._ask(what, {"job": "page", "content_type": content_type, "name": name}, content, timeout_s))

    async def read_robots(self, content: bytes) -> Rules:
        """The rules of a robots.txt; raises `FetchFailedError` if it cannot be read."""
        head, body = await self._ask(_ROBOTS, {"job": "robots"}, content)
        return Rules(tuple((bool(allow), str(pattern)) for allow, pattern in json.loads(body)), float(head["delay_s"]))

    async def check_robots(self, rules: Rules, target: str) -> bool:
        """`rules.allow(target)`, for rules that are too many to check on an event loop."""
        body = await asyncio.to_thread(lambda: json.dumps(rules.lines).encode())
        head, _ = await self._ask(_ROBOTS, {"job": "check_robots", "target": target}, body)
        return bool(head["allowed"])

    async def read_results(self, content: bytes) -> ResultPage:
        """The content of a page of results; raises `FetchFailedError` if it cannot be read."""
        head, body = await self._ask("The page of results", {"job": "results"}, content)
        rows = tuple((str(title), str(link), str(snippet)) for title, link, snippet in json.loads(body))
        return ResultPage(rows, bool(head["says_none"]), bool(head["has_bot_check"]))

    async def read_papers(self, content: bytes) -> PaperList:
        """The papers in a list; raises `FetchFailedError` if it cannot be read."""
        head, body = await self._ask("The list of papers", {"job": "papers"}, content)
        rows = tuple((str(title), str(link), str(excerpt)) for title, link, excerpt in json.loads(body))
        return PaperList(str(head["form"]), rows, str(head["total"]))

    def close(self) -> None:
        """End all processes once they have answered. Later calls start new ones."""
        with self._lock:
            keepers = list(self._keepers)
        for _ in keepers:
            self._jobs.put(None)
        for keeper in keepers:
            keeper.join()

    async def _ask(self, what: str, head: Mapping[str, Any], body: bytes, timeout_s: float | None = None) -> Message:
        job = self._job(head, body, timeout_s)
        self._enter(job)
        try:
            answer = await asyncio.wrap_future(job.answer)
        except asyncio.CancelledError:
            job.drop()
            raise
        return self._check(what, job, answer)

    def _job(self, head: Mapping[str, Any], body: bytes, timeout_s: float | None) -> _Job:
        timeout_s = timeout_s or self._timeout_s
        return _Job({**head, "timeout_s": timeout_s}, body, timeout_s)

    def _check(self, what: str, job: _Job, answer: Message) -> Message:
        if "error" in answer[0]:
            raise _failure(what, answer[0], job.timeout_s, self._memory_mb)
        return answer

    def _enter(self, job: _Job) -> None:
        with self._lock:
            self._open_jobs += 1
            self._jobs.put(job)
            self._hire()

    def _hire(self) -> None:
        """Start a keeper if there are too few for the work. The caller holds the lock."""
        if len(self._keepers) < min(self._size, self._open_jobs):
            # A daemon: a page that is being read must not delay the program's exit.
            keeper = threading.Thread(target=self._keep, name="stepwell-page-reader", daemon=True)
            self._keepers.add(keeper)
            keeper.start()

    def _keep(self) -> None:
        child: _Child | None = None
        while (job := self._next_job()) is not None:
            child = self._serve(job, child)
        if child is not None:
            child.end()

    def _next_job(self) -> _Job | None:
        """The next job; None if this keeper should end, because it was told to or has been idle for long."""
        job = None
        with suppress(queue.Empty):
            job = self._jobs.get(timeout=self._idle_s)
        if job is None:
            with self._lock:
                self._keepers.discard(threading.current_thread())
                self._hire()  # a job may have arrived at this moment
        return job

    def _serve(self, job: _Job, child: _Child | None) -> _Child | None:
        """Do a job with the given child or a new one, and return the child for the next job."""
        was_waiting, answer = child is not None, None
        if job.answer.set_running_or_notify_cancel():
            child, answer = self._attempt(job, child)
            if answer is None and was_waiting and not job.is_dropped:
                # A child that was idle may have been killed from outside in the meantime; a new one has no such excuse.
                child, answer = self._attempt(job, None)
        with self._lock:
            self._open_jobs -= 1  # before the result is set, so that the next caller needs no second keeper
        if not job.answer.cancelled():
            job.answer.set_result(answer or ({"error": "reader"}, b""))
        return child

    def _attempt(self, job: _Job, child: _Child | None) -> tuple[_Child | None, Message | None]:
        """The child for the next job, and the answer; None if the child could not be asked."""
        answer: Message | None = None
        with suppress(EOFError, OSError):
            child = child or _Child(self._memory_mb)
            answer = child.ask(job)
            if not answer[0].get("last"):
                return child, answer
        if child is not None:
            child.end()
        with suppress(OSError):
            # The new child starts up while nothing waits for it yet.
            return _Child(self._memory_mb) if answer else None, answer
        return None, answer


class _Job:
    """A request to a reader, and the child that is working on it."""

    def __init__(self, head: Mapping[str, Any], body: bytes, timeout_s: float) -> None:
        self.head, self.body, self.timeout_s = head, body, timeout_s
        self.answer: Future[Message] = Future()
        self.is_dropped = False
        self._child: _Child | None = None
        self._lock = threading.Lock()

    def drop(self) -> None:
        """Kill the child that reads the document, because the caller has stopped waiting."""
        with self._lock:
            self.is_dropped = True
            if self._child is not None:
                self._child.kill()

    @contextmanager
    def read_by(self, child: _Child) -> Iterator[None]:
        """A context in which the child does this job: dropping the job kills the child only while the context is open."""
        with self._lock:
            if self.is_dropped:
                raise EOFError
            self._child = child
        try:
            yield
        finally:
            with self._lock:
                self._child = None


class _Child:
    """One process of `reader_child`. It ends when its last reference is dropped, or with the interpreter."""

    def __init__(self, memory_mb: int) -> None:
        self._is_overdue = False
        self._is_ready = False
        places = os.pathsep.join(place or os.getcwd() for place in sys.path)
        self._process = subprocess.Popen(  # noqa: S603  this interpreter and a module of ours
            [sys.executable, "-P", "-m", reader_child.__name__, str(memory_mb << 20)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            cwd=os.path.abspath(os.sep),
            env=bare_environment({"PYTHONPATH": places}),
            start_new_session=True,  # Ctrl-C is for the program, which ends its readers itself
        )
        self._end = weakref.finalize(self, _end, self._process)

    def ask(self, job: _Job) -> Message:
        """The answer to a job; raises `EOFError` or `OSError` if the process ended for a reason other than the job."""
        requests, answers = _descriptor(self._process.stdin), _descriptor(self._process.stdout)
        with job.read_by(self):
            if not self._is_ready:
                with self._deadline(_START_S):
                    receive(answers)
                self._is_ready = True
            with self._deadline(job.timeout_s):
                send(requests, job.head, job.body)
                try:
                    return receive(answers)
                except (EOFError, OSError):
                    return self._how_it_ended(), b""

    def _how_it_ended(self) -> dict[str, Any]:
        code = self._process.wait()
        if self._is_overdue or code == -_OUT_OF_CPU:
            return {"error": "time", "last": True}
        if code == -_KILLED:
            raise EOFError  # killed from outside, not by the document
        return {"error": "ended", "code": code, "last": True}

    def kill(self) -> None:
        """Kill the process. Its keeper sees the pipe close, and cleans up."""
        self._process.kill()

    def end(self) -> None:
        """Kill the process, wait for it and close its pipes."""
        self._end()

    @contextmanager
    def _deadline(self, seconds: float) -> Iterator[None]:
        def overdue() -> None:
            self._is_overdue = True
            self.kill()

        timer = threading.Timer(seconds, overdue)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()


def _page(answer: Message) -> PageText:
    head, body = answer
    parts = tuple(Part(int(start), str(name), str(cells)) for start, name, cells in head["parts"])
    return PageText(str(head["media_type"]), str(head["title"]), body.decode("utf-8", "replace"), str(head["note"]), parts)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()


def _descriptor(pipe: IO[bytes] | None) -> int:
    return cast("IO[bytes]", pipe).fileno()  # we requested both pipes


def _failure(what: str, answer: Mapping[str, Any], timeout_s: float, memory_mb: int) -> StepwellError:
    """The error for an answer that reports a failure."""
    kind = str(answer["error"])
    if kind == "extra":
        return MissingExtraError(str(answer["what"]), str(answer["extra"]))
    if kind == "configuration":
        return ConfigurationError(str(answer["message"]))
    if kind == "refused":
        return FetchRefusedError(_of(what, answer), str(answer["reason"]))
    if kind == "failed":
        return FetchFailedError(_of(what, answer), str(answer["reason"]))
    said, reason = {
        "time": (f"{what} is too complex to be read within {timeout_s:g} s.", "time"),
        "memory": (f"{what} is too complex to be read with {memory_mb} MB of memory.", "memory"),
        "nested": (f"{what} is nested too deeply to be read.", "unreadable"),
        "unreadable": (f"{what} cannot be read: {answer.get('type', 'unknown')}.", "unreadable"),
        "ended": (f"{what} cannot be read: its reader broke down over it (code {answer.get('code')}).", "unreadable"),
    }.get(kind, (f"{what} cannot be read: its process could not be started, or was ended from outside.", "reader"))
    return FetchFailedError(said, reason)


def _of(what: str, answer: Mapping[str, Any]) -> str:
    return str(answer["message"]).replace("The page", what)
