"""W9: no tenant sees another's names, bytes or existence, whatever paths, patterns and roots are tried."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from tests.contract.test_path_fuzz import hostile_paths, hostile_patterns

from stepwell.backends.objects import Bucket, ObjectBackend, check_root, memory_bucket
from stepwell.backends.objects.bucket import Row
from stepwell.errors import InvalidRequestError

SECRET = "secret-of-the-neighbour"
NEIGHBOURS = ("t1/w10", "t10/w1", "t1/w", "t2/w1")
"""Beside `/t1/w1/`: roots that begin alike, and one that does not."""


async def fill(bucket: Bucket) -> None:
    for neighbour in NEIGHBOURS:
        files = ObjectBackend(bucket, neighbour)
        for path in ("/a.md", f"/{SECRET}.md", "/docs/b.md", "/only-here/c.md"):
            assert (await files.awrite(path, f"{SECRET} one two\n")).error is None


async def ask_everything(files: ObjectBackend, path: Any, pattern: Any = "**") -> list[str]:
    """What all verbs say about a path, as text without times."""
    answers = [
        await files.als_info(path),
        await files.aread(path),
        await files.agrep_raw("secret|one", path),
        await files.agrep_raw("one", "/", pattern),
        await files.aglob_info(pattern, path),
        await files.aglob_info(pattern, "/"),
        await files.aedit(path, "one", "two"),
        await files.awrite(path, "mine: one\n"),
        await files.awrite(path, "mine: one\n", overwrite=True),
        await files.als_info("/"),
    ]
    for rows in answers:
        for row in rows if isinstance(rows, list) else ():
            row.pop("modified_at", None)
            row.pop("version", None)  # the mark of a store in memory is a counter; it never reaches a model
    return [f"{answer!r} {getattr(answer, 'error', '')} {getattr(answer, 'note', '')}" for answer in answers]


async def test_a_tenant_is_answered_the_same_whether_others_exist_or_not():
    """W9: the two-tenant differential, over every verb."""
    alone, among = memory_bucket(), memory_bucket()
    await fill(among)
    for path in (
        "/a.md",
        "/docs/b.md",
        "/docs",
        "/only-here",
        "/only-here/c.md",
        f"/{SECRET}.md",
        "/t2/w1/a.md",
        "/w10/a.md",
        "/",
        "/new/d.md",
    ):
        lonely = await ask_everything(ObjectBackend(alone, "/t1/w1/"), path)
        assert await ask_everything(ObjectBackend(among, "/t1/w1/"), path) == lonely


class Street:
    """A bucket with neighbours, one without; each case gets a root that nobody has used. One event loop for all."""

    def __init__(self) -> None:
        self.runner = asyncio.Runner()
        self.alone, self.among = memory_bucket(), memory_bucket()
        self.runner.run(fill(self.among))
        self.numbers = count(100)
        self.before = self.runner.run(self.neighbours())

    async def neighbours(self) -> list[Row]:
        """Everything of theirs, with the time of its last change."""
        return [row for neighbour in NEIGHBOURS async for page in self.among.list_below(f"{neighbour}/") for row in page]

    async def try_path(self, path: str, pattern: str) -> None:
        root = f"/t1/w{next(self.numbers)}/"  # w10 is a neighbour
        said = await ask_everything(ObjectBackend(self.among, root), path, pattern)
        assert said == await ask_everything(ObjectBackend(self.alone, root), path, pattern)
        assert SECRET not in str(said)
        assert await self.neighbours() == self.before


@pytest.fixture(scope="module")
def street() -> Iterator[Street]:
    street = Street()
    with street.runner:
        yield street


@pytest.mark.prove
@pytest.mark.timeout(1800)
@given(path=hostile_paths(), pattern=hostile_patterns())
def test_no_path_or_pattern_leads_to_a_neighbour(street: Street, path: str, pattern: str) -> None:
    """W9: 10,000 fuzzed paths, 0 leaks: nothing of theirs is shown, nothing of theirs is changed."""
    street.runner.run(street.try_path(path, pattern))


@pytest.mark.prove
@pytest.mark.timeout(1800)
@given(raw=hostile_paths())
def test_no_root_leads_to_a_neighbour_but_the_neighbours_own(street: Street, raw: str) -> None:
    """W9: a root is refused, or is exactly the one that it says."""
    try:
        root = check_root(raw)
    except InvalidRequestError:
        return
    parts = [part for part in raw.split("/") if part not in ("", ".")]
    assert root == "/" + "/".join(parts) + "/"
    assert not root.startswith(tuple(f"/{neighbour}/" for neighbour in NEIGHBOURS))
    shown = str(street.runner.run(ask_everything(ObjectBackend(street.among, root), "/docs/b.md")))
    assert SECRET not in shown
    assert street.runner.run(street.neighbours()) == street.before


async def test_roots_that_begin_alike_are_apart_in_every_order(effort: Any) -> None:
    """W9: `t1` against `t10`."""
    rng = random.Random(7)
    roots = ["t", "t1", "t10", "t1/w", "t1/w1", "t1/w10", "t1x", "T1"]
    for _ in range(effort.cases(3, 50)):
        rng.shuffle(roots)
        await fill_and_compare(roots)


async def fill_and_compare(roots: list[str]) -> None:
    bucket = memory_bucket()
    for root in roots:
        assert (await ObjectBackend(bucket, root).awrite("/mine.md", f"I am {root}.")).error is None
    for root in roots:
        files = ObjectBackend(bucket, root)
        assert await files.aread("/mine.md") == f"     1\tI am {root}."
