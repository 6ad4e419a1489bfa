"""The server's log: one line per record on standard error, written by a separate thread.

```
any thread ──stamp, put──> bounded queue ──> stepwell-log: line, write ──> standard error
                            full: dropped, counted, and reported in the log once there is room again
```

Code that logs never waits for the sink, even if it is slow, stuck or gone. Lines go straight to the file descriptor: Python's own stream
would hold its lock while a stuck sink blocks it, and the process could not exit.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from queue import Full, Queue

from stepwell.server.monitoring.log_context import current_fields, current_secrets
from stepwell.server.monitoring.log_lines import Line, json_line, text_line
from stepwell.server.monitoring.redaction import hide_in_record
from stepwell.server.monitoring.request_log import REQUESTS
from stepwell.server.settings import LogFormat, LogLevel

Write = Callable[[bytes], object]

MOST_WAITING = 10_000
CLOSE_S = 2.0
_OURS = "stepwell"


class LogSink(logging.Handler):
    """Accepts records immediately and writes them when it can."""

    def __init__(self, write: Write, line: Line, *, most_waiting: int = MOST_WAITING) -> None:
        super().__init__()
        self._write = write
        self._line = line
        self._waiting: Queue[logging.LogRecord | None] = Queue(most_waiting)
        self._dropped = 0
        self._told = 0
        self._thread = threading.Thread(target=self._work, name="stepwell-log", daemon=True)
        self._thread.start()

    @property
    def dropped(self) -> int:
        """Number of records lost because the queue was full or they could not be written."""
        return self._dropped

    def emit(self, record: logging.LogRecord) -> None:
        record = copy(record)  # other handlers may use the record too
        for name, value in current_fields().items():
            record.__dict__.setdefault(name, value)
        # Format the message now: its arguments may change before it is written.
        record.msg, record.args = record.getMessage(), None
        if record.exc_info and not record.exc_text:
            record.exc_text = logging.Formatter().formatException(record.exc_info)
            record.exc_info = None
        if secrets := current_secrets():  # the run's keys, known only here; `log_lines` removes keys of a known form
            hide_in_record(record, secrets)
        try:
            self._waiting.put_nowait(record)
        except Full:
            self._dropped += 1

    def close(self) -> None:
        """Write the queued records, with a short time limit. A stuck sink is abandoned."""
        try:
            self._waiting.put(None, timeout=CLOSE_S)
        except Full:
            self._dropped += 1
        else:
            self._thread.join(CLOSE_S)
        super().close()

    def _work(self) -> None:
        while (record := self._waiting.get()) is not None:
            self._put(record)
            if self._dropped > self._told and self._waiting.empty():
                self._tell_dropped()

    def _tell_dropped(self) -> None:
        lost, self._told = self._dropped - self._told, self._dropped
        fields = {"name": "stepwell.server.monitoring.logs", "levelname": "WARNING", "levelno": logging.WARNING, "count": lost}
        self._put(logging.makeLogRecord({**fields, "msg": "log lines were lost: they could not be written in time"}))

    def _put(self, record: logging.LogRecord) -> None:
        try:
            self._write(self._line(record))
        except Exception:  # an error in a value's `__str__` or in the sink: the log must survive it, and cannot log it
            self._dropped += 1


@contextmanager
def open_logs(
    form: LogFormat = "auto", level: LogLevel = "info", *, write: Write | None = None, most_waiting: int = MOST_WAITING
) -> Iterator[LogSink]:
    """Redirect the process's log until the block ends. `auto`: text on a terminal, JSON elsewhere. Libraries log from `warning` on. As text
    the log is for a person, who wants to see runs, not requests; level `debug` shows both."""
    as_text = form == "text" or (form == "auto" and write is None and sys.stderr.isatty())
    sink = LogSink(write or _to_standard_error(), text_line if as_text else json_line, most_waiting=most_waiting)
    root, ours, requests = logging.getLogger(), logging.getLogger(_OURS), logging.getLogger(REQUESTS)
    before = (root.handlers[:], root.level, ours.level, requests.level)
    root.handlers[:] = [sink]
    root.setLevel(max(logging.WARNING, _number(level)))
    ours.setLevel(_number(level))
    requests.setLevel(max(logging.WARNING, _number(level)) if as_text and level != "debug" else logging.NOTSET)
    try:
        yield sink
    finally:
        root.handlers[:], root.level, ours.level, requests.level = before
        root.setLevel(before[1])  # also clears the loggers' cache of enabled levels
        sink.close()


def _number(level: LogLevel) -> int:
    return logging.getLevelNamesMapping()[level.upper()]


def _to_standard_error() -> Write:
    descriptor = sys.stderr.fileno()

    def write(line: bytes) -> None:
        while line:
            line = line[os.write(descriptor, line) :]

    return write
