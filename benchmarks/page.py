"""Claim: the web page is small, there at once, and stays smooth under load. Debian's Chromium against `stepwell serve` on this machine.

Wall time, because waiting is the point; the CPU of the page's process stands beside it in the notes, and that of the longest task in
a row of its own: on a busy machine a task is long because others take its core. Each figure is the median of
three rounds and the note tells the worst; of text that is missing the most counts. There is no floor and no peer.
"""

from __future__ import annotations

import gzip
import json
import re
import urllib.request
from collections.abc import Callable
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from benchmarks.bench import ROOT, Bench, ContestantError, Row
from benchmarks.servers.process import start

STATIC = ROOT / "src" / "stepwell" / "server" / "page" / "static"
GRAPHS = Path(__file__).parent / "browser" / "graphs.py"
GRAPH_NAMES = ("talker", "one_change", "many_changes")
ROUNDS = 3
SLOW, FAST = 50, 1_000
"""Words a second: as a quick model speaks, and far more."""
MESSAGES = 10_000
EARLIER_TURNS = 300
LONG_TASK_MS = 50
"""What the browser calls a long task; shorter ones it does not tell."""
SCROLL_UP = """(turns) => {
    document.querySelector("[data-testid=transcript]").scrollTo({ top: 0 });
    return document.querySelectorAll("[data-turn]").length >= turns;
}"""
"""To the top as soon as there is more, until so many turns are there."""
COMPOSER = "textarea:enabled[data-testid=composer]"
DIFF = '[aria-label^="Change of /report.md"]'
Figures = dict[str, list[float]]
Step = Callable[[], dict[str, float]]


def rows(bench: Bench) -> list[Row]:
    figures: Figures = {}
    try:
        figures["entry_kb"] = [_entry_kb()]
        _measure(bench, figures)
    except (ContestantError, OSError, ImportError) as failure:
        bench.problems["ours: page"] = str(failure) or type(failure).__name__
    bench.raw["page"] = {"rounds": ROUNDS, "figures": figures}
    return _table(figures)


def _entry_kb() -> float:
    """The script, its static imports and the style sheet, gzipped: what a first visit loads before anything is drawn."""
    try:
        html = (STATIC / "index.html").read_text()
    except FileNotFoundError:
        raise ContestantError("the page is not built; run `make page`") from None
    files = set(re.findall(r'(?:src|href)="/(assets/[^"]+)"', html))
    return sum(len(gzip.compress((STATIC / file).read_bytes(), 6)) for file in files) / 1000


def _measure(bench: Bench, figures: Figures) -> None:
    from benchmarks.browser.chromium import start_chromium

    if (python := bench.pythons["ours"]) is None:
        raise ContestantError("stepwell is not installed here; run `make bench`")
    rounds = 1 if bench.quick else ROUNDS
    with start("ours", python, graphs=GRAPHS, graph_names=GRAPH_NAMES) as server:
        url = f"http://127.0.0.1:{server.port}"
        with start_chromium(url) as browser:
            long = _make_long_thread(url)
            talking: list[Step] = [
                lambda: _visit(browser),
                lambda: _speak(browser, "slow", SLOW, seconds=4),
                lambda: _speak(browser, "fast", FAST, seconds=3 if bench.quick else 10),
                lambda: _open_long(browser, long),
            ]
            _take_rounds(rounds, talking, figures)
            # Asked only now: what waits for an answer is in the inbox of every page.
            one, many = _make_question(url, "one_change"), _make_question(url, "many_changes")
            reading: list[Step] = [
                lambda: _open_diff(browser, "one_change", one),
                lambda: _open_diff(browser, "many_changes", many),
            ]
            _take_rounds(rounds, reading, figures)


def _take_rounds(rounds: int, steps: list[Step], figures: Figures) -> None:
    from playwright.sync_api import Error

    for _ in range(rounds):
        for step in steps:
            try:
                found = step()
            except Error as failure:
                raise ContestantError(f"the browser: {failure.message.splitlines()[0]}") from failure
            for name, value in found.items():
                figures.setdefault(name, []).append(value)


def _visit(browser: Any) -> dict[str, float]:
    """The first screen, for somebody who has never been here."""
    before = browser.renderer_cpu_ms()
    with browser.open("/", until=(COMPOSER, "")) as page:
        cpu_ms = browser.cpu_ms_since(before)
        paint = page.evaluate("() => performance.getEntriesByName('first-contentful-paint')[0].startTime")
        loaded = page.evaluate("() => performance.getEntriesByType('resource').map((entry) => entry.transferSize)")
        composer = page.evaluate("() => bench.seen")
    return {
        "paint_ms": paint,
        "composer_ms": composer,
        "visit_cpu_ms": cpu_ms,
        "visit_kb": sum(loaded) / 1000,
        "visit_requests": len(loaded),
    }


def _speak(browser: Any, name: str, per_second: int, *, seconds: int) -> dict[str, float]:
    """Ask for so many words, and compare when each was due, when it arrived and when it was drawn."""
    count = per_second * seconds
    with browser.open("/new/talker", until=(COMPOSER, "")) as page:
        before = browser.renderer_cpu_ms()
        page.evaluate(
            """() => {
                bench.tasks.length = 0;
                bench.followWords();
                bench.watch("[data-testid=agent-message][data-status=done]", "w");
            }"""
        )
        with browser.record_tasks(page) as task_cpu_ms:
            page.locator(COMPOSER).fill(f"{count} at {per_second}")
            page.locator(COMPOSER).press("Enter")
            page.wait_for_function("() => bench.seen !== null", polling=500)
        cpu_ms = browser.cpu_ms_since(before)
        arrived = page.evaluate("() => bench.readArrivals()")
        drawn = page.evaluate("() => bench.drawn")
        tasks = page.evaluate("() => bench.tasks")
        text = page.evaluate("() => bench.answer()")
    said = {int(number) for number in re.findall(r"w(\d+)", text)}
    due_ms = float(re.findall(r"began (\d{13})", text)[0]) - arrived["began"]
    times = _times_drawn(drawn, count)
    from_arrival = [at - arrived["words"][number] for number, at in times.items()]
    from_due = [at - due_ms - 1000 * number / per_second for number, at in times.items()]
    took_s = (arrived["words"][count - 1] - arrived["words"][0]) / 1000
    return {
        f"{name}_p50_ms": median(from_arrival),
        f"{name}_p95_ms": quantiles(from_arrival, n=20)[-1],
        f"{name}_due_p95_ms": quantiles(from_due, n=20)[-1],
        f"{name}_task_ms": max(tasks, default=0.0),
        f"{name}_task_cpu_ms": max(task_cpu_ms),
        f"{name}_tasks": len(tasks),
        f"{name}_lost": len(set(range(count)) - said),
        f"{name}_events_per_s": arrived["events"] / took_s,
        f"{name}_cpu_share": cpu_ms / 1000 / took_s,
    }


def _times_drawn(drawn: list[dict[str, float]], count: int) -> dict[int, float]:
    """When each word was first on the screen. A frame shows a word with all those before it."""
    times: dict[int, float] = {}
    for shown in drawn:
        for number in range(len(times), min(int(shown["number"]) + 1, count)):
            times[number] = shown["at"]
    return times


def _open_long(browser: Any, thread_id: str) -> dict[str, float]:
    """A thread of many messages: its end, and then 600 messages before it, as fast as they come."""
    before = browser.renderer_cpu_ms()
    with browser.open(f"/t/{thread_id}", until=("[data-testid=transcript]", f"message {MESSAGES - 1} ")) as page:
        opened, cpu_ms = page.evaluate("() => bench.seen"), browser.cpu_ms_since(before)
        opening = page.evaluate("() => bench.tasks.splice(0)")
        with browser.record_tasks(page) as task_cpu_ms:
            page.wait_for_function(SCROLL_UP, arg=EARLIER_TURNS, polling=100)
        tasks = page.evaluate("() => bench.tasks")
    return {
        "long_open_ms": opened,
        "long_cpu_ms": cpu_ms,
        "long_open_task_ms": max(opening, default=0.0),
        "long_scroll_task_ms": max(tasks, default=0.0),
        "long_scroll_task_cpu_ms": max(task_cpu_ms),
        "long_scroll_tasks": len(tasks),
    }


def _open_diff(browser: Any, name: str, thread_id: str) -> dict[str, float]:
    before = browser.renderer_cpu_ms()
    with browser.open(f"/t/{thread_id}", until=(DIFF, ", mended")) as page:
        opened, cpu_ms = page.evaluate("() => bench.seen"), browser.cpu_ms_since(before)
        tasks = page.evaluate("() => bench.tasks")
        lines = page.locator(f"{DIFF} .row").count()
    return {
        f"{name}_ms": opened,
        f"{name}_cpu_ms": cpu_ms,
        f"{name}_task_ms": max(tasks, default=0.0),
        f"{name}_lines": lines,
    }


def _make_long_thread(url: str) -> str:
    thread_id = str(_post(f"{url}/threads", {"metadata": {"graph_id": "talker", "title": "Long"}})["thread_id"])
    for first in range(0, MESSAGES, 2_000):
        messages = [_message(number) for number in range(first, first + 2_000)]
        _post(f"{url}/threads/{thread_id}/state", {"values": {"messages": messages}, "as_node": "model"})
    return thread_id


def _message(number: int) -> dict[str, str]:
    text = f"message {number} asks about the **pumps** of station {number % 40}, and what they cost."
    if number % 2:
        text += (
            f"\n\nThere are three:\n\n1. one of `{number}` W\n2. one that *leaks*\n3. a spare\n\n" + "They run at night. " * 12
        )
    return {"type": "ai" if number % 2 else "human", "content": text, "id": f"m{number}"}


def _make_question(url: str, graph: str) -> str:
    """A thread in which an agent waits for somebody to read a diff."""
    thread_id = str(_post(f"{url}/threads", {"metadata": {"graph_id": graph, "title": graph}})["thread_id"])
    order = {"assistant_id": graph, "input": {"messages": [{"role": "user", "content": "Mend the report."}]}}
    _post(f"{url}/threads/{thread_id}/runs/wait", order)
    return thread_id


def _post(url: str, body: dict[str, Any]) -> dict[str, Any]:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=120) as response:
        answer: dict[str, Any] = json.load(response)
        return answer


def _table(figures: Figures) -> list[Row]:
    def row(claim: str, target: str, key: str, limit: float | None, form: Callable[[float], str], *said: str) -> Row:
        values = figures.get(key, [])
        worst = [f"worst {form(max(values))}"] if len(values) > 1 else []
        return Row(
            claim, target, median(values) if values else None, None, None, limit, form=form, note=", ".join([*worst, *said])
        )

    def tell(key: str, form: str) -> str:
        return form.format(median(figures[key])) if figures.get(key) else "not measured"

    ms, task = "{:,.0f} ms".format, _form_task
    lost = max(figures.get("fast_lost", []), default=None)
    loaded = f"a first visit loads {tell('visit_kb', '{:.0f} kB')} in {tell('visit_requests', '{:.0f}')} requests"
    speed = f"{tell('fast_events_per_s', '{:,.0f}')} events a second, {tell('fast_cpu_share', '{:.0%}')} of a core in the page's process"
    return [
        row("page: entry bundle, gzipped", "≤ 90 kB", "entry_kb", 90.0, "{:.1f} kB".format, loaded),
        row("page: first visit, first paint", "≤ 1 s", "paint_ms", 1000.0, ms),
        row("the same, composer ready", "≤ 1 s", "composer_ms", 1000.0, ms, tell("visit_cpu_ms", "{:.0f} ms of CPU")),
        row(f"page: {SLOW} tokens/s, from arrival to screen, p50", "≤ 100 ms", "slow_p50_ms", 100.0, "{:.1f} ms".format),
        row("the same, p95", "≤ 100 ms", "slow_p95_ms", 100.0, "{:.1f} ms".format),
        row("the same, from when the model was due to say it, p95", "≤ 100 ms", "slow_due_p95_ms", 100.0, "{:.1f} ms".format),
        row(f"page: {FAST:,} tokens/s, longest task", "≤ 100 ms", "fast_task_ms", 100.0, task, speed),
        row("the same, CPU of the longest", "≤ 100 ms", "fast_task_cpu_ms", 100.0, ms),
        row("the same, from arrival to screen, p95", "–", "fast_p95_ms", None, ms),
        Row("the same, words missing", "0", lost, None, None, 0.0, form="{:,.0f}".format),
        row(
            f"page: thread of {MESSAGES:,} messages opens",
            "≤ 0.7 s",
            "long_open_ms",
            700.0,
            ms,
            tell("long_cpu_ms", "{:.0f} ms of CPU"),
        ),
        row("the same, to 600 earlier messages, longest task", "≤ 100 ms", "long_scroll_task_ms", 100.0, task),
        row("the same, CPU of the longest", "≤ 100 ms", "long_scroll_task_cpu_ms", 100.0, ms),
        *(
            row(f"page: diff of 5,000 lines, {what}, opens", "≤ 0.8 s", f"{name}_ms", 800.0, ms, _tell_diff(name, tell))
            for name, what in (("one_change", "one changed"), ("many_changes", "every tenth changed"))
        ),
    ]


def _tell_diff(name: str, tell: Callable[[str, str], str]) -> str:
    lines, cpu = tell(f"{name}_lines", "{:,.0f}"), tell(f"{name}_cpu_ms", "{:.0f} ms")
    return f"{lines} lines drawn, {cpu} of CPU, longest task {tell(f'{name}_task_ms', '{:.0f} ms')}"


def _form_task(value: float) -> str:
    return f"{value:.0f} ms" if value else f"< {LONG_TASK_MS} ms"
