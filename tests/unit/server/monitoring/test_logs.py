"""The log: what a line holds, whose it is, and that a sink that is slow, stuck or gone never holds anybody up."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from stepwell.database.types import ModelUsage, Run, RunOutcome, RunRequest
from stepwell.secrets.text import hiding
from stepwell.server.monitoring import logs
from stepwell.server.monitoring.log_context import enter_request, owner_hash
from stepwell.server.monitoring.logs import open_logs
from stepwell.server.monitoring.run_log import RunLog
from stepwell.server.settings import LogFormat, LogLevel

KEY = "sw_0123456789ab_" + "s" * 43
NOW = datetime(2026, 1, 2, tzinfo=UTC)
log = logging.getLogger("stepwell.test")


def run_of(run_id: str = "run-1", attempt: int = 1) -> Run:
    request = RunRequest("assistant-1", "graph-1")
    return Run(run_id, "thread-1", "ada@example.org", request, "running", NOW, NOW, attempt=attempt)


def logged(work: Callable[[], object], **options: Any) -> list[dict[str, Any]]:
    lines: list[bytes] = []
    with open_logs("json", write=lines.append, **options):
        work()
    return [json.loads(line) for line in lines]


def test_a_line_is_json_with_time_level_logger_message_and_extras() -> None:
    [line] = logged(lambda: log.warning("%d of %s", 2, "them", extra={"count": 2, "odd": object}))
    assert datetime.fromisoformat(line["time"]).tzinfo is not None
    assert (line["level"], line["logger"], line["message"], line["count"]) == ("warning", "stepwell.test", "2 of them", 2)
    assert line["odd"] == str(object)


def test_an_exception_comes_with_its_traceback() -> None:
    def fail() -> None:
        try:
            raise ValueError("broken")
        except ValueError:
            log.exception("it failed")

    [line] = logged(fail)
    assert line["exception"].startswith("Traceback")
    assert line["exception"].endswith("ValueError: broken")


@pytest.mark.parametrize("form", ["json", "text"])
def test_the_keys_of_a_runs_models_are_taken_out_whatever_their_form(form: Any) -> None:
    """The line is made by another thread, outside the block that knows the key."""
    lines: list[bytes] = []
    with open_logs(form, write=lines.append), hiding(["quite ordinary words"]):
        try:
            raise ValueError("the provider refuses 'quite ordinary words'")
        except ValueError as error:
            log.info("run failed", extra={"said": "quite ordinary words"}, exc_info=error)
    assert b"run failed" in b"".join(lines)
    assert b"quite ordinary words" not in b"".join(lines)


@pytest.mark.parametrize("form", ["json", "text"])
def test_secrets_are_taken_out_of_messages_extras_and_tracebacks(form: Any) -> None:
    lines: list[bytes] = []

    def leak() -> None:
        try:
            raise ValueError(KEY)
        except ValueError:
            log.exception("key %s", KEY, extra={"key": KEY, "deep": {"keys": [KEY, Opaque()]}})

    with open_logs(form, write=lines.append):
        leak()
    text = b"".join(lines)
    assert KEY.encode() not in text
    assert b"[hidden]" in text


class Opaque:
    def __str__(self) -> str:
        return f"the key {KEY}"


def test_a_terminal_gets_words_and_short_ids() -> None:
    lines: list[bytes] = []
    with open_logs("text", write=lines.append):
        log.info("heard", extra={"run_id": "0123456789abcdef", "status": "success", "seconds": 1.23456, "owner_hash": "x"})
    [line] = lines
    assert line.decode().endswith("heard  run=01234567  status=success  seconds=1.235\n")


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"status": "success"}, "research finished after 1.2 s · run 01234567"),
        (
            {"status": "success", "input_tokens": 3000, "output_tokens": 210, "cost_usd": 0.0123},
            "research finished after 1.2 s · 3,210 tokens · $0.0123 · run 01234567",
        ),
        ({"status": "success", "questions": 1}, "research waits for 1 answer after 1.2 s · run 01234567"),
        ({"status": "error"}, "research failed after 1.2 s · run 01234567"),
        ({"status": "interrupted"}, "research was stopped after 1.2 s · run 01234567"),
    ],
)
def test_a_terminal_gets_one_sentence_per_run(fields: dict[str, Any], words: str) -> None:
    lines: list[bytes] = []
    with open_logs("text", write=lines.append):
        known = {"run_id": "0123456789abcdef", "graph_id": "research", "seconds": 1.23456, "attempt": 1, "thread_id": "t"}
        logging.getLogger("stepwell.runs").info("run ended", extra=known | fields)
    [line] = lines
    assert line.decode().split(" ", 1)[1] == words + "\n"


@pytest.mark.parametrize(("form", "level", "shown"), [("text", "info", 1), ("text", "debug", 2), ("json", "info", 2)])
def test_a_terminal_shows_requests_only_if_the_server_failed(form: LogFormat, level: LogLevel, shown: int) -> None:
    lines: list[bytes] = []
    with open_logs(form, level, write=lines.append):
        requests = logging.getLogger("stepwell.requests")
        requests.info("GET /threads", extra={"status": 200})
        requests.warning("GET /runs", extra={"status": 500})
    assert len(lines) == shown


def test_nobody_can_forge_a_line_or_command_a_terminal() -> None:
    """A path comes decoded: `/a%0A12:00:00 all is well%1B[2J` would be two lines and an empty screen."""
    lines: list[bytes] = []

    def leave_traces() -> None:
        log.warning("GET %s", "/a\n12:00:00 all is well\x1b[2J", extra={"said": "b\r\x9bc"})
        try:
            raise ValueError("x\x1b[31m")
        except ValueError:
            log.exception("it failed")

    with open_logs("text", write=lines.append):
        leave_traces()
    first, second = (line.decode() for line in lines)
    assert first.endswith("GET /a\\n12:00:00 all is well\\x1b[2J  said=b\\r\\x9bc\n")
    assert second.count("\n") > 2
    assert "\x1b" not in second


def test_libraries_are_heard_from_warning_on_and_ours_from_the_chosen_level() -> None:
    def speak() -> None:
        for name in ("some.library", "stepwell.test"):
            for level in (logging.DEBUG, logging.INFO, logging.WARNING):
                logging.getLogger(name).log(level, "x")

    heard = [(line["logger"], line["level"]) for line in logged(speak)]
    assert heard == [("some.library", "warning"), ("stepwell.test", "info"), ("stepwell.test", "warning")]
    assert len(logged(speak, level="debug")) == 4
    assert len(logged(speak, level="error")) == 0


def test_the_log_is_as_it_was_after_closing() -> None:
    root, before = logging.getLogger(), logging.getLogger().handlers[:]
    with open_logs("json", write=bytes):
        assert root.handlers != before
    assert root.handlers == before


async def test_every_line_inside_a_run_names_it_also_in_tasks_and_threads() -> None:
    lines: list[bytes] = []

    async def drive(run: Run) -> None:
        watcher.began(run)
        await asyncio.create_task(inside())
        await asyncio.to_thread(logging.getLogger("a.library").warning, "from a thread")
        watcher.ended(run, RunOutcome("success", "idle"))
        log.info("afterwards")

    async def inside() -> None:
        log.info("from a task")

    watcher = RunLog()
    with open_logs("json", write=lines.append):
        enter_request("request-1")
        await asyncio.gather(drive(run_of("run-1")), drive(run_of("run-2")))
        log.info("outside")
    for run_id in ("run-1", "run-2"):
        mine = [json.loads(line) for line in lines if run_id.encode() in line]
        assert [line["message"] for line in mine] == ["from a task", "from a thread", "run ended"]
        assert {line["thread_id"] for line in mine} == {"thread-1"}
        assert {line["graph_id"] for line in mine} == {"graph-1"}
        assert {line["owner_hash"] for line in mine} == {owner_hash("ada@example.org")}
        assert {line["request_id"] for line in mine} == {"request-1"}
    assert b"ada@" not in b"".join(lines)
    assert [json.loads(line).get("run_id") for line in lines if b"afterwards" in line or b"outside" in line] == [None] * 3


def test_a_finished_run_has_one_line_with_status_attempt_seconds_tokens_and_cost() -> None:
    ticks = iter([10.0, 12.5])
    watcher = RunLog(lambda: next(ticks))
    usage = (ModelUsage("a:b", 2, 10, 20, 0.25), ModelUsage("a:c", 1, 1, 2, 0.5))

    def drive() -> None:
        watcher.began(run_of(attempt=3))
        watcher.ended(run_of(attempt=3), RunOutcome("error", "error", usage=usage))

    [line] = logged(drive)
    assert (line["status"], line["attempt"], line["seconds"]) == ("error", 3, 2.5)
    assert (line["input_tokens"], line["output_tokens"], line["cost_usd"]) == (11, 22, 0.75)


def test_an_unknown_price_is_not_logged_as_a_number() -> None:
    watcher = RunLog()

    def drive() -> None:
        watcher.began(run_of())
        watcher.ended(
            run_of(), RunOutcome("success", "idle", usage=[ModelUsage("a:b", 1, 1, 1, 0.1), ModelUsage("c", 1, 1, 1)])
        )
        watcher.began(run_of())
        watcher.ended(run_of(), None)

    ended, given_up = logged(drive)
    assert ended["cost_usd"] is None
    assert given_up["status"] == "given up"


def test_a_stuck_sink_drops_and_counts_and_says_so_when_it_is_free() -> None:
    """A log sink that is down holds nothing up."""
    free, begun = threading.Event(), threading.Event()
    lines: list[bytes] = []

    def write(line: bytes) -> None:
        begun.set()
        free.wait(60)
        lines.append(line)

    with open_logs("json", write=write, most_waiting=5) as sink:
        log.info("first")
        assert begun.wait(60)
        for number in range(100):
            log.info("line %d", number)
        assert sink.dropped == 95
        free.set()
    told = [json.loads(line) for line in lines]
    assert [line["message"] for line in told[:6]] == ["first", *(f"line {n}" for n in range(5))]
    assert (told[6]["level"], told[6]["count"]) == ("warning", 95)


def test_a_sink_that_stays_stuck_does_not_hold_up_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "CLOSE_S", 0.01)
    free = threading.Event()
    with open_logs("json", write=lambda line: free.wait(60), most_waiting=5):
        for _ in range(20):
            log.info("x")
    free.set()


def test_a_sink_that_is_gone_is_counted_and_raises_nowhere() -> None:
    def gone(line: bytes) -> None:
        raise BrokenPipeError

    with open_logs("json", write=gone) as sink:
        log.info("one")
        log.info("two")
    assert sink.dropped >= 2


def test_a_value_whose_text_fails_costs_only_its_own_line() -> None:
    class Bad:
        def __str__(self) -> str:
            raise ValueError("no text")

    def speak() -> None:
        log.info("bad", extra={"bad": Bad()})
        log.info("good")

    assert "good" in [line["message"] for line in logged(speak)]
