"""Claim: hundreds of streams at once are delivered in time and whole. 500 runs, each followed by its own client, each writing 10
events a second; every event is journaled before it is sent. Delivery is told twice: while all of them are open, and over the whole
load, in which 50 runs a second are started and later end.

The floor is a bare Starlette server that writes the same events itself. The peer does not take part: it drives as many runs at
once as it has jobs, so most of the streams would wait for the others to end.
"""

from __future__ import annotations

from typing import Any

from benchmarks.bench import Bench, Row, best
from benchmarks.servers.load import stream_load
from benchmarks.servers.process import serving

STREAMS = 500
EVENTS = 150
RAMP_S = 10.0
WHO = ("floor", "ours")


def rows(bench: Bench) -> list[Row]:
    load: dict[str, Any] = {"streams": STREAMS, "events": EVENTS, "ramp_s": RAMP_S}
    if bench.quick:
        load = {"streams": 100, "events": 60, "ramp_s": 3.0}
    figures: dict[str, list[dict[str, Any]]] = {name: [] for name in WHO}
    with serving(bench, claim="server_streams", who=WHO) as servers:
        for _ in range(1 if bench.quick else 2):
            for server in servers.values():
                stream_load(server, streams=20, events=5, ramp_s=0.5)  # warm
                figures[server.name].append(stream_load(server, **load))
    for name, results in figures.items():
        if broken := [reason for result in results for reason in result["broken"]]:
            bench.problems[f"{name}: server_streams"] = f"{broken[0]}, and perhaps more"
    bench.raw["server_streams"] = {"parameters": load, "figures": figures}
    return _table(figures, load["streams"])


def _table(figures: dict[str, list[dict[str, Any]]], streams: int) -> list[Row]:
    def row(claim: str, target: str, key: str, limit: float | None, form: str, note: str = "") -> Row:
        ours, floor = best(figures, "ours", key), best(figures, "floor", key)
        return Row(claim, target, ours, floor, None, limit, form=form.format, note=note)

    due = best(figures, "ours", "since_due_p99_ms")
    share = max((result["driver_cpu_share"] for results in figures.values() for result in results), default=0.0)
    note = f"from writing to arrival; from when an event was due, p99 {due or 0:.0f} ms; the driver used {share:.0%} of a core at most"
    # The worst round counts: an event that is lost once is lost.
    lost = [max((result["lost"] for result in figures[name]), default=None) for name in ("ours", "floor")]
    return [
        row(
            f"{streams} streams of 10 events/s, delivery, p99",
            "≤ 250 ms",
            "all_open_p99_ms",
            250.0,
            "{:.0f} ms",
            "while all are open",
        ),
        row("the same, while they are started and end too, p99", "≤ 200 ms", "delivery_p99_ms", 200.0, "{:.0f} ms", note),
        row("the same, slowest first event", "≤ 2 s", "first_event_max_s", 2.0, "{:.2f} s"),
        Row("the same, events lost or out of order", "0", lost[0], lost[1], None, 0.0, form="{:,}".format),
        row("the same, CPU of the server per event", "–", "cpu_us_per_event", None, "{:.0f} µs", "starting the runs included"),
    ]
