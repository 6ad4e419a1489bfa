"""The log and the metrics of a server process, as an operator sees them."""

from __future__ import annotations

import json
import os
import time
from typing import Any

from tests.integration.operations.conftest import Place, Served


def lines_of(served: Served) -> list[dict[str, Any]]:
    return [json.loads(line) for line in served.log.read_text().splitlines()]


def until(served: Served, **fields: Any) -> dict[str, Any]:
    """The first line with these fields; the log is written a moment later."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        for line in lines_of(served):
            if all(line.get(name) == value for name, value in fields.items()):
                return line
        time.sleep(0.02)
    raise AssertionError(f"no line with {fields}: {served.log.read_text()}")


def figure(served: Served, name: str) -> float:
    for line in served.http.get("/metrics").text.splitlines():
        if line.startswith(name + " "):
            return float(line.rpartition(" ")[2])
    raise AssertionError(f"no figure {name}")


def test_a_run_has_its_line_and_so_has_what_its_nodes_log(place: Place) -> None:
    with place.serving() as served:
        thread_id = served.thread()
        run = served.http.post(f"/threads/{thread_id}/runs", json={"assistant_id": "words", "input": {"words": []}}).json()
        ended = until(served, message="run ended", run_id=run["run_id"])
        assert (ended["status"], ended["attempt"], ended["graph_id"]) == ("success", 1, "words")
        assert ended["thread_id"] == thread_id
        assert ended["seconds"] > 0
        inside = until(served, message="inside a node")
        assert (inside["run_id"], inside["logger"], inside["level"]) == (run["run_id"], "a.users.library", "warning")


def test_every_request_has_an_id_and_a_line(place: Place) -> None:
    with place.serving() as served:
        kept = served.http.get("/assistants/none-such", headers={"X-Request-Id": "from-my.proxy:1"})
        assert kept.headers["x-request-id"] == "from-my.proxy:1"
        line = until(served, request_id="from-my.proxy:1")
        assert line["message"] == "GET /assistants/none-such"
        assert (line["status"], line["route"]) == (kept.status_code, "/assistants/{assistant_id}")
        for odd in ("a b", "x" * 65, 'a"b', ""):
            made = served.http.get("/info", headers={"X-Request-Id": odd}).headers["x-request-id"]
            assert made != odd
            assert 8 <= len(made) <= 64
        served.http.get("/ok")
        assert not [line for line in lines_of(served) if "/ok" in line["message"]], "probes are not worth a line"
        served.http.get("/info?token=verysecret")
        until(served, message="GET /info")
        assert "verysecret" not in served.log.read_text()


def test_metrics_count_what_happens(place: Place) -> None:
    with place.serving() as served:
        thread_id = served.thread()
        for _ in range(3):
            served.wait("words", thread_id, input={"words": []})
        body = {"assistant_id": "words", "input": {"words": []}}
        with served.http.stream("POST", f"/threads/{thread_id}/runs/stream", json=body) as stream:
            stream.read()
        assert figure(served, 'stepwell_runs_started_total{graph="words"}') == 4
        assert figure(served, 'stepwell_runs_finished_total{graph="words",status="success"}') == 4
        assert figure(served, 'stepwell_run_seconds_count{graph="words"}') == 4
        assert figure(served, "stepwell_stream_first_event_seconds_count") == 1
        assert figure(served, "stepwell_events_journaled_total") >= 4 * 4
        assert figure(served, "stepwell_runs_pending") == figure(served, "stepwell_runs_driving") == 0
        assert figure(served, "stepwell_runs_oldest_pending_seconds") == 0
        assert figure(served, "stepwell_streams_open") == figure(served, "stepwell_runs_running") == 0
        assert figure(served, "stepwell_workers") == 1
        assert figure(served, "stepwell_lease_age_seconds") == 0
        assert figure(served, "stepwell_database_group_size_count") > 4
        assert figure(served, "stepwell_database_commit_seconds_count") > 4
        assert figure(served, "stepwell_database_bytes") > 10_000
        assert figure(served, "stepwell_log_lines_lost") == 0
        assert figure(served, "process_resident_memory_bytes") > 1_000_000
        route = 'method="POST",route="/threads/{thread_id}/runs/wait"'
        assert figure(served, f'stepwell_http_requests_total{{{route},status="200"}}') == 3
        assert thread_id not in served.http.get("/metrics").text


def test_a_log_that_nobody_reads_stops_neither_runs_nor_the_end(place: Place) -> None:
    """A log sink that is down never blocks a run: standard error is a full pipe."""
    reading, writing = os.pipe()
    try:
        with place.serving(error=writing, STEPWELL_LOG_LEVEL="debug") as served:
            thread_id = served.thread()
            for _ in range(400):  # far more than a pipe holds
                served.http.get("/info", headers={"X-Request-Id": "x" * 64}).raise_for_status()
            assert served.wait("words", thread_id, input={"words": []})["words"] == ["hello", "world"]
            process = served.process
        assert process.returncode == 0
    finally:
        os.close(reading)
        os.close(writing)


def test_a_log_whose_reader_is_gone_does_not_matter_either(place: Place) -> None:
    reading, writing = os.pipe()
    with place.serving(error=writing) as served:
        os.close(reading)
        os.close(writing)
        assert served.wait("words", served.thread(), input={"words": []})["words"] == ["hello", "world"]
        while not figure(served, "stepwell_log_lines_lost"):  # the log is written a moment later
            time.sleep(0.02)
        process = served.process
    assert process.returncode == 0
