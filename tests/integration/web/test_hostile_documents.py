"""Hostile pages, PDFs and robots files hurt nobody but themselves: the loop goes on, memory is bounded, nothing is left running."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.integration.web.hostile import Hostile, hostile_documents

from stepwell.errors import FetchFailedError, WebError
from stepwell.testing.web import ScriptedWeb, answer
from stepwell.testing.web.rendering import html
from stepwell.tools.web.fetch import PageFetcher
from stepwell.tools.web.reader_pool import ReaderPool

LONGEST_STALL_S = 0.25
MOST_MEMORY_MB = 300
SENTENCE = "The bridge is 482 metres long and was opened in spring, as everybody here remembers."

pytestmark = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="looks at processes through /proc")


class Watch:
    """What a server on this loop would feel, and what the readers' processes take."""

    def __init__(self) -> None:
        self.longest_stall_s = 0.0
        self.most_memory_mb = 0.0
        self.seen: set[int] = set()

    async def look(self) -> None:
        while True:
            began = time.thread_time()
            await asyncio.sleep(0.005)
            # CPU of the loop's own thread between two turns: what others take of the machine is not our stall.
            self.longest_stall_s = max(self.longest_stall_s, time.thread_time() - began)
            for process in children():
                self.seen.add(process)
                self.most_memory_mb = max(self.most_memory_mb, resident_mb(process))


def children(process: int | None = None) -> list[int]:
    """The processes that this one, or another, has started and that still run."""
    process = process or os.getpid()
    return [int(each) for task in Path(f"/proc/{process}/task").iterdir() for each in (task / "children").read_text().split()]


def resident_mb(process: int) -> float:
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:  # it has ended in between
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")), 0.0)


@asynccontextmanager
async def watched() -> AsyncIterator[Watch]:
    watch = Watch()
    task = asyncio.create_task(watch.look())
    try:
        yield watch
    finally:
        task.cancel()


@pytest.fixture
def readers():
    pool = ReaderPool(size=2)
    yield pool
    pool.close()


async def fetch(document: Hostile, readers: ReaderPool, timeout_s: float) -> str:
    """Fetch a page that is hostile, or one behind a robots.txt that is; what came of it in a word."""
    page, robots = "https://a.example/page", "https://a.example/robots.txt"
    content = answer(await asyncio.to_thread(document.make), content_type=document.content_type)
    honest = answer(html("T", [SENTENCE]), content_type="text/html")
    web = ScriptedWeb({page: content} if document.kind == "page" else {robots: content, page: honest})
    try:
        await PageFetcher(web, readers=readers, timeout_s=timeout_s).fetch_page(page)
    except WebError as error:
        return error.reason
    return "read"


@pytest.mark.prove
@pytest.mark.timeout(1200)
async def test_hostile_documents_neither_stall_the_loop_nor_fill_the_memory(readers, effort, record_property):
    documents = hostile_documents()
    assert len(documents) >= 100
    chosen = documents[: effort.cases(12, len(documents))]
    timeout_s = effort.seconds(1, 10)
    outcomes: dict[str, int] = {}
    async with watched() as watch:
        for start in range(0, len(chosen), 4):
            for outcome in await asyncio.gather(*(fetch(each, readers, timeout_s) for each in chosen[start : start + 4])):
                outcomes[outcome] = outcomes.get(outcome, 0) + 1
    readers.close()
    for name, value in {"stall_s": watch.longest_stall_s, "memory_mb": watch.most_memory_mb, **outcomes}.items():
        record_property(name, round(value, 3))
    assert watch.seen
    assert watch.longest_stall_s <= LONGEST_STALL_S
    assert watch.most_memory_mb <= MOST_MEMORY_MB
    assert not watch.seen.intersection(children())
    # An honest page is read as ever.
    honest = Hostile("honest", "page", "text/html", lambda: html("T", [SENTENCE]))
    assert await fetch(honest, readers, 20.0) == "read"


async def test_a_page_that_takes_too_long_is_stopped_at_its_deadline(readers):
    endless = next(each for each in hostile_documents() if each.name == "a giant table").make()
    await readers.read_page(b"a few words", "text/plain")  # the reader is ready
    begun = time.monotonic()
    with pytest.raises(FetchFailedError, match=r"too complex to be read within 0\.5 s") as failed:
        await readers.read_page(endless, "text/html", 0.5)
    assert failed.value.reason == "time"
    assert time.monotonic() - begun < 5
    assert (await readers.read_page(b"a few words", "text/plain")).text == "a few words"


async def test_a_page_that_takes_too_much_memory_is_a_failure_of_that_page(readers):
    greedy = next(each for each in hostile_documents() if each.name == "200,000 links").make()
    with pytest.raises(FetchFailedError, match="256 MB of memory"):
        await readers.read_page(greedy, "text/html", 30.0)


async def test_a_cancelled_caller_frees_its_reader_at_once(readers):
    endless = next(each for each in hostile_documents() if each.name == "a giant table").make()
    await readers.read_page(b"a few words", "text/plain")
    (reader,) = children()
    begun = cpu_ticks(reader)
    waiting = asyncio.create_task(readers.read_page(endless, "text/html", 60.0))
    await asyncio.to_thread(wait_for, lambda: cpu_ticks(reader) >= begun + 10)  # it is at work
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await asyncio.to_thread(wait_for, lambda: reader not in children())


def test_a_program_that_is_killed_leaves_no_reader_behind():
    program = subprocess.Popen([sys.executable, Path(__file__).with_name("orphan.py")], stdout=subprocess.PIPE, text=True)
    assert program.stdout is not None
    reader = int(program.stdout.readline())
    begun = cpu_ticks(reader)
    wait_for(lambda: cpu_ticks(reader) >= begun + 10)  # it is at work
    program.kill()
    program.wait()
    program.stdout.close()
    wait_for(lambda: not Path(f"/proc/{reader}").exists())


async def test_a_reader_that_somebody_ended_is_replaced_unnoticed(readers):
    await readers.read_page(b"a few words", "text/plain")
    (reader,) = children()
    os.kill(reader, 9)
    assert (await readers.read_page(b"a few more words", "text/plain")).text == "a few more words"
    assert reader not in children()


async def test_at_most_so_many_documents_are_read_at_once(readers):
    async with watched() as watch:
        pages = await asyncio.gather(*(readers.read_page(b"words number %d" % n, "text/plain") for n in range(12)))
    assert [page.text for page in pages] == [f"words number {n}" for n in range(12)]
    assert len(watch.seen) <= 2


async def test_readers_end_when_there_is_nothing_to_read():
    readers = ReaderPool(size=1, idle_s=0.1)
    await readers.read_page(b"a few words", "text/plain")
    await asyncio.to_thread(wait_for, lambda: not children())
    assert (await readers.read_page(b"more words", "text/plain")).text == "more words"
    readers.close()


async def test_a_reader_knows_no_secret_and_holds_no_file_of_ours(readers, monkeypatch, tmp_path):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    with (tmp_path / "open.txt").open("w") as ours:
        os.set_inheritable(ours.fileno(), True)
        await readers.read_page(b"a few words", "text/plain")
        (reader,) = children()
        environment, held = await asyncio.to_thread(look_into, reader)
    assert b"secret" not in environment
    assert not any("open.txt" in each or "socket" in each for each in held), held


def wait_for(fact: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not fact():
        assert time.monotonic() < deadline, "it did not come to pass in a minute"
        time.sleep(0.01)


def look_into(process: int) -> tuple[bytes, list[str]]:
    """The variables of a process, and what its descriptors lead to."""
    place = Path(f"/proc/{process}")
    return (place / "environ").read_bytes(), [os.readlink(each) for each in (place / "fd").iterdir()]


def cpu_ticks(process: int) -> int:
    parts = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return int(parts[11]) + int(parts[12])
