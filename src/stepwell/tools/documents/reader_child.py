"""The process that reads foreign documents: `python -m stepwell.tools.documents.reader_child <maximum bytes of memory>`.

It reads one document after the other from its input and answers on its output, until its input ends. A document that exceeds the limits
ends the process, and `reader_pool`, on the other side, starts another. Everything that parsers need is loaded before the first
document, so only such a document costs a new start. For each document the process also limits its own CPU time and lifetime, so it does
not outlive a parent that was killed. Its environment contains no keys, and it has no open descriptors but its two pipes.

A message is two lengths, a JSON object and bytes; nothing is unpickled.
"""

from __future__ import annotations

import json
import logging
import math
import os
import signal
import struct
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from stepwell.errors import ConfigurationError, FetchFailedError, MissingExtraError, WebError
from stepwell.tools.documents.formats.pdf_pages import cut_pages, draw_pages
from stepwell.tools.documents.page import read_page, warm_up
from stepwell.tools.documents.papers import read_papers
from stepwell.tools.documents.result_page import read_result_page
from stepwell.tools.documents.robots_rules import Rules, parse

Message = tuple[dict[str, Any], bytes]

_LENGTHS = struct.Struct(">II")
_MAX_HEAD = 8 << 20
_MAX_BODY = 64 << 20
_MAX_DOCUMENTS = 500
_SHARE_TO_GO_ON = 0.7
"""Share of the memory limit: a process that has used more is replaced by a new one, so that the next document has room."""
_NICENESS = 2
_GRACE_S = 5
"""How long after the deadline the process ends itself, in case the parent, which kills it at the deadline, is gone."""


def send(descriptor: int, head: Mapping[str, Any], body: bytes = b"") -> None:
    """Write a whole message."""
    text = json.dumps(head).encode()
    for part in (_LENGTHS.pack(len(text), len(body)) + text, body):
        rest = memoryview(part)
        while rest:
            rest = rest[os.write(descriptor, rest) :]


def receive(descriptor: int) -> Message:
    """Read a whole message; raises `EOFError` if the other side is gone."""
    head_length, body_length = _LENGTHS.unpack(_read(descriptor, _LENGTHS.size))
    if head_length > _MAX_HEAD or body_length > _MAX_BODY:
        raise EOFError("a message that is too long is no message")
    head = json.loads(_read(descriptor, head_length))
    return head, _read(descriptor, body_length)


def _read(descriptor: int, length: int) -> bytes:
    pieces = []
    while length:
        piece = os.read(descriptor, min(length, 1 << 20))
        if not piece:
            raise EOFError
        pieces.append(piece)
        length -= len(piece)
    return b"".join(pieces)


def main() -> None:
    """Answer requests until the input ends."""
    logging.disable(logging.CRITICAL)  # parsers log a line for each fault in a damaged file; the caller gets one sentence
    requests, answers = _take_pipes()
    with suppress(ConfigurationError):  # raised again for each page that needs it
        warm_up()
    _limit_process(int(sys.argv[1]))
    send(answers, {"ready": True})
    with suppress(EOFError, BrokenPipeError):
        for count in range(1, _MAX_DOCUMENTS + 1):
            head, body = receive(requests)
            _limit_document(float(head["timeout_s"]))
            answer, text = _do(head, body)
            _lift_document_limit()
            is_last = count == _MAX_DOCUMENTS or _is_full()
            send(answers, {**answer, "last": is_last}, text)
            if is_last:
                return


def _take_pipes() -> tuple[int, int]:
    """Move our two pipes away from where a parser might print or read."""
    pipes = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    os.close(nothing)
    return pipes


def _limit_process(memory_bytes: int) -> None:
    if sys.platform == "win32":  # there the parent's deadline is the only limit
        return
    import resource

    for limit, most in ((_memory_limit(), memory_bytes), (resource.RLIMIT_CORE, 0), (resource.RLIMIT_FSIZE, 0)):
        with suppress(ValueError, OSError):  # macOS refuses some of them; the time limit still applies
            resource.setrlimit(limit, (most, most))
    os.nice(_NICENESS)


def _memory_limit() -> int:
    """Which limit to set: on Linux that of the data segment, which counts written memory; elsewhere that of the address space."""
    import resource

    return resource.RLIMIT_DATA if sys.platform == "linux" else resource.RLIMIT_AS


def _is_full() -> bool:
    """Whether this process is close to its memory limit."""
    if sys.platform == "win32":
        return False
    import resource

    return _most_memory() > _SHARE_TO_GO_ON * resource.getrlimit(_memory_limit())[0] > 0


def _limit_document(timeout_s: float) -> None:
    """Limit the time for one document. Both limits kill this process at once, so no parser gets a chance to catch anything."""
    if sys.platform == "win32":
        return
    import resource

    used = resource.getrusage(resource.RUSAGE_SELF)
    seconds = math.ceil(used.ru_utime + used.ru_stime + timeout_s)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, resource.RLIM_INFINITY))
    signal.alarm(math.ceil(timeout_s) + _GRACE_S)


def _lift_document_limit() -> None:
    if sys.platform != "win32":
        signal.alarm(0)


def _most_memory() -> int:
    """The peak memory of this process in bytes; memory once taken is not given back."""
    if sys.platform == "win32":
        return 0
    import resource

    if sys.platform != "linux":
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # On Linux `ru_maxrss` starts with the parent's value: with a large server every reader would look full.
    with open("/proc/self/status", "rb") as status:
        return next((int(line.split()[1]) * 1024 for line in status if line.startswith(b"VmHWM:")), 0)


def _do(head: dict[str, Any], body: bytes) -> Message:
    """Do the job, and turn every way in which a document can fail into an answer."""
    try:
        return _JOBS[head["job"]](head, body)
    except MissingExtraError as error:
        return {"error": "extra", "what": error.what, "extra": error.extra}, b""
    except ConfigurationError as error:
        return {"error": "configuration", "message": str(error)}, b""
    except WebError as error:
        kind = "failed" if isinstance(error, FetchFailedError) else "refused"
        return {"error": kind, "message": str(error), "reason": error.reason}, b""
    except MemoryError:
        return {"error": "memory"}, b""
    except RecursionError:
        return {"error": "nested"}, b""
    except Exception as error:  # a parser may raise anything for foreign input
        if _is_full():  # lxml reports it under many names
            return {"error": "memory"}, b""
        return {"error": "unreadable", "type": type(error).__name__}, b""


def _read_page_job(head: dict[str, Any], body: bytes) -> Message:
    page = read_page(body, head["content_type"], head["timeout_s"], head["name"])
    return {"media_type": page.media_type, "title": page.title, "note": page.note, "parts": page.parts}, page.text.encode()


def _read_robots_job(_head: dict[str, Any], body: bytes) -> Message:
    rules = parse(body.decode("utf-8", "replace"))
    return {"delay_s": rules.delay_s}, json.dumps(rules.lines).encode()


def _check_robots_job(head: dict[str, Any], body: bytes) -> Message:
    lines = tuple((bool(allow), str(pattern)) for allow, pattern in json.loads(body))
    return {"allowed": Rules(lines).allow(head["target"])}, b""


def _read_results_job(_head: dict[str, Any], body: bytes) -> Message:
    page = read_result_page(body.decode("utf-8", "replace"))
    return {"says_none": page.says_none, "has_bot_check": page.has_bot_check}, json.dumps(page.rows).encode()


def _read_papers_job(_head: dict[str, Any], body: bytes) -> Message:
    papers = read_papers(body)
    return {"form": papers.form, "total": papers.total}, json.dumps(papers.rows).encode()


def _pdf_pages_job(head: dict[str, Any], body: bytes) -> Message:
    show = cut_pages if head["as_pdf"] else draw_pages
    pages = show(body, head["first"], head["count"], head["most_bytes"])
    return {"total": pages.total, "count": pages.count, "sizes": [len(file) for file in pages.files]}, b"".join(pages.files)


_JOBS: dict[str, Callable[[dict[str, Any], bytes], Message]] = {
    "page": _read_page_job,
    "robots": _read_robots_job,
    "check_robots": _check_robots_job,
    "results": _read_results_job,
    "papers": _read_papers_job,
    "pdf_pages": _pdf_pages_job,
}


if __name__ == "__main__":
    main()
