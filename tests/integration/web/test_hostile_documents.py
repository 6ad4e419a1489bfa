"""Hostile pages, PDFs and robots files hurt nobody but themselves: the loop goes on, memory is bounded, nothing is left running."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.integration.web.hostile import Hostile, hostile_documents
from tests.support.growth import unit_s

from stepwell.demo.web import ScriptedWeb, answer
from stepwell.demo.web.rendering import html
from stepwell.errors import FetchFailedError, WebError
from stepwell.tools.documents.reader_pool import ReaderPool
from stepwell.tools.web.fetch import PageFetcher

LONGEST_STALL = 200
"""How many times as long as a small piece of work (`unit_s`) the loop may stand still. Reading one of the documents takes thousands."""
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
        others = started()
        while True:
            began = time.thread_time()
            await asyncio.sleep(0.005)
            # CPU of the loop's own thread between two turns: what others take of the machine is not our stall.
            self.longest_stall_s = max(self.longest_stall_s, time.thread_time() - began)
            for process in started() - others:
                self.seen.add(process)
                self.most_memory_mb = max(self.most_memory_mb, resident_mb(process))


def started() -> set[int]:
    """The processes that this one has started and that still run; those of other tests are among them."""
    return {int(each) for task in Path("/proc/self/task").iterdir() for each in read_if_there(task / "children").split()}


def read_if_there(path: Path) -> str:
    """What a file of /proc says; nothing if its thread or process has just ended."""
    try:
        return path.read_text()
    except OSError:
        return ""


def resident_mb(process: int) -> float:
    """The memory a reader has now: its peak may be that of the process that started it. One that has not become a reader yet still
    shows what belongs to us."""
    if "reader_child" not in read_if_there(Path(f"/proc/{process}/cmdline")):
        return 0.0
    lines = read_if_there(Path(f"/proc/{process}/status")).splitlines()
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS")), 0.0)


@asynccontextmanager
async def watched() -> AsyncIterator[Watch]:
    watch = Watch()
    task = asyncio.create_task(watch.look())
    try:
        yield watch
    finally:
        task.cancel()


@dataclass(frozen=True)
class Alone:
    """A pool with one reader, and how to find its process."""

    pool: ReaderPool
    others: frozenset[int]

    def reader(self) -> int:
        (process,) = started() - self.others
        return process


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Alone]:
    """Started by a program with a secret in its environment and an open file that children would inherit."""
    pool, others = ReaderPool(size=1), frozenset(started())
    with pytest.MonkeyPatch.context() as patch, (tmp_path_factory.mktemp("ours") / "open.txt").open("w") as ours:
        patch.setenv("OPENAI_API_KEY", "sk-secret")
        os.set_inheritable(ours.fileno(), True)
        asyncio.run(pool.read_page(b"a few words", "text/plain"))
        yield Alone(pool, others)
    pool.close()


def endless_table() -> bytes:
    return next(each for each in hostile_documents() if each.name == "a giant table").make()


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
async def test_hostile_documents_neither_stall_the_loop_nor_fill_the_memory(effort, record_property):
    documents = hostile_documents()
    assert len(documents) >= 100
    chosen = documents[: effort.cases(12, len(documents))]
    timeout_s = 10 if effort.long else 1
    outcomes: dict[str, int] = {}
    readers = ReaderPool(size=2)
    async with watched() as watch:
        for start in range(0, len(chosen), 4):
            for outcome in await asyncio.gather(*(fetch(each, readers, timeout_s) for each in chosen[start : start + 4])):
                outcomes[outcome] = outcomes.get(outcome, 0) + 1
        honest = Hostile("honest", "page", "text/html", lambda: html("T", [SENTENCE]))
        assert await fetch(honest, readers, 120.0) == "read"
        await asyncio.to_thread(readers.close)
    for name, value in {"stall_s": watch.longest_stall_s, "memory_mb": watch.most_memory_mb, **outcomes}.items():
        record_property(name, round(value, 3))
    assert watch.seen
    assert watch.longest_stall_s <= LONGEST_STALL * unit_s()
    assert watch.most_memory_mb <= MOST_MEMORY_MB
    assert not watch.seen & started()


async def test_a_reader_knows_no_secret_and_holds_no_file_of_ours(alone: Alone):
    environment, held = await asyncio.to_thread(look_into, alone.reader())
    assert b"secret" not in environment
    assert not any("open.txt" in each or "socket" in each for each in held), held


async def test_a_page_that_takes_too_long_is_stopped_at_its_deadline(alone: Alone):
    reader = alone.reader()
    with pytest.raises(FetchFailedError, match=r"too complex to be read within 0\.5 s") as failed:
        await alone.pool.read_page(endless_table(), "text/html", 0.5)
    assert failed.value.reason == "time"
    assert (await alone.pool.read_page(b"a few words", "text/plain")).text == "a few words"
    assert alone.reader() != reader


async def test_a_cancelled_caller_frees_its_reader_at_once(alone: Alone):
    reader = alone.reader()
    begun = cpu_ticks(reader)
    waiting = asyncio.create_task(alone.pool.read_page(endless_table(), "text/html", 60.0))
    await asyncio.to_thread(wait_for, lambda: cpu_ticks(reader) >= begun + 10)  # it is at work
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await asyncio.to_thread(wait_for, lambda: reader not in started())
    assert (await alone.pool.read_page(b"a few words", "text/plain")).text == "a few words"


async def test_a_page_that_takes_too_much_memory_is_a_failure_of_that_page(alone: Alone):
    greedy = next(each for each in hostile_documents() if each.name == "200,000 links").make()
    with pytest.raises(FetchFailedError, match="256 MB of memory"):
        await alone.pool.read_page(greedy, "text/html", 60.0)


async def test_a_reader_that_somebody_ended_is_replaced_unnoticed(alone: Alone):
    await alone.pool.read_page(b"a few words", "text/plain")
    os.kill(reader := alone.reader(), 9)
    assert (await alone.pool.read_page(b"a few more words", "text/plain")).text == "a few more words"
    assert alone.reader() != reader


async def test_a_large_program_keeps_its_readers(alone: Alone):
    ballast = bytearray(b"x" * (300 << 20))  # a process that is started inherits the peak of the one that starts it
    os.kill(alone.reader(), 9)
    await alone.pool.read_page(b"a few words", "text/plain")
    reader = alone.reader()
    await alone.pool.read_page(html("T", [SENTENCE]), "text/html")
    assert alone.reader() == reader
    assert len(ballast) > 0


async def test_at_most_so_many_documents_are_read_at_once_and_readers_end_when_idle():
    readers = ReaderPool(size=2, idle_s=0.1)
    async with watched() as watch:
        pages = await asyncio.gather(*(readers.read_page(b"words number %d" % n, "text/plain") for n in range(12)))
        await asyncio.to_thread(wait_for, lambda: bool(watch.seen) and not watch.seen & started())
    assert [page.text for page in pages] == [f"words number {n}" for n in range(12)]
    assert len(watch.seen) <= 2


def test_a_program_that_is_killed_leaves_no_reader_behind():
    with subprocess.Popen(
        [sys.executable, Path(__file__).with_name("orphan.py")], stdout=subprocess.PIPE, text=True
    ) as program:
        try:
            assert program.stdout is not None
            reader = int(program.stdout.readline())
            begun = cpu_ticks(reader)
            wait_for(lambda: cpu_ticks(reader) >= begun + 10)  # it is at work
        finally:
            program.kill()
    wait_for(lambda: not Path(f"/proc/{reader}").exists())


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
