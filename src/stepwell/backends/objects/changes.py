"""Changes one object exactly once or not at all, however many writers there are and even if answers are lost.

```
read what is there ──> make the new content from it ──> write it over exactly that version
   ^                                                     │ written: done
   ├── another writer was faster: rebase, at most 5 times ┤ changed: start again from the current version
   └── no answer: it may have been written ──────────────┘ check whether our id is in the object's lineage
```

Each write has an id, and each object stores the ids of its last writes (its lineage, in its metadata). After a lost answer we read again:

| what is there now | then our write |
|---|---|
| a lineage with our id | happened, even if others have written since |
| what we had read | has not happened (yet); we send the same write again, and its precondition lets only one of the two through |
| a lineage with the id before ours, and not ours | did not happen, and no longer can |
| anything else (more writes since than a lineage stores, or another program's) | is unknown: a conflict that says so |
"""

from __future__ import annotations

import asyncio
import mimetypes
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal

from stepwell.backends.objects.bucket import LINEAGE, Bucket, Held, ObjectChangedError, ObjectsUnavailableError
from stepwell.errors import VersionConflictError

MAX_REBASES = 5
MAX_REPEATS = 5
"""How often a write is sent again if no answer comes."""
REMEMBERED = 48
"""The number of ids in a lineage. They take about 500 bytes of the 2 kB that the strictest store (S3) allows for metadata."""

Read = Callable[[], Awaitable[Held | None]]
Make = Callable[[Held | None], Awaitable[bytes]]
"""Makes the new content from the current one. If it raises an error, the change ends before anything is written."""


class WriteUnknownError(VersionConflictError):
    """No answer came, and the current version does not show whether it contains our change."""

    retryable = False


@dataclass(frozen=True)
class Attempt:
    """A write that was sent but not answered."""

    over: Held | None


async def change_object(bucket: Bucket, key: str, read: Read, make: Make, write_id: str | None = None) -> bytes:
    """Change an object; returns the content that was written. Raises `VersionConflictError` after too many rebases."""
    write_id = write_id or bucket.new_id()
    unanswered: Attempt | None = None
    rebases = repeats = 0
    written = b""
    while True:
        held = await _read_again(read, unanswered)
        if unanswered:
            fate = judge(unanswered, held, write_id)
            if fate == "written":
                return written
            if fate == "unknown":
                raise WriteUnknownError("the storage did not answer, and others have written since")
            if fate == "not written":
                unanswered = None
        written = await make(held)
        try:
            await bucket.put(key, written, _attributes(key, held, write_id), held)
            return written
        except ObjectChangedError:
            rebases += 1
            if rebases > MAX_REBASES:
                return await _settle(read, unanswered, write_id, written)
        except ObjectsUnavailableError as failure:
            if failure.refused and unanswered is None:
                raise
            unanswered = Attempt(held)
            repeats += 1
            if repeats > MAX_REPEATS:
                return await _settle(read, unanswered, write_id, written)
        await _pause(bucket, max(rebases, repeats))


def judge(unanswered: Attempt, held: Held | None, write_id: str) -> Literal["written", "pending", "not written", "unknown"]:
    """What happened to an unanswered write, judged by the current version; see the table above."""
    before = unanswered.over
    if held is not None and write_id in held.lineage:
        return "written"
    if (before.mark if before else None) == (held.mark if held else None):
        return "pending"
    if before is None or held is None:
        return "not written"  # and it no longer can be, because others have created the object, or deleted it
    return "not written" if before.lineage[-1] in held.lineage else "unknown"


async def _read_again(read: Read, unanswered: Attempt | None) -> Held | None:
    try:
        return await read()
    except ObjectsUnavailableError:
        if unanswered:
            raise WriteUnknownError("the storage did not answer") from None
        raise


async def _settle(read: Read, unanswered: Attempt | None, write_id: str, written: bytes) -> bytes:
    """Check one last time, after too many attempts."""
    fate = judge(unanswered, await _read_again(read, unanswered), write_id) if unanswered else "not written"
    if fate == "written":
        return written
    if fate == "not written":
        raise VersionConflictError("others kept changing the object")
    raise WriteUnknownError("the storage did not answer")


def _attributes(key: str, held: Held | None, write_id: str) -> dict[str, str]:
    """The object's attributes as they were, with one more id in the lineage."""
    lineage = [*(held.lineage if held else ()), write_id][-REMEMBERED:]
    kind = mimetypes.guess_type(key)[0] or "text/plain; charset=utf-8"
    return {"Content-Type": kind, **(held.attributes if held else {}), LINEAGE: ",".join(lineage)}


async def _pause(bucket: Bucket, times: int) -> None:
    longest = min(bucket.patience.longest_pause_s, bucket.patience.first_pause_s * 2 ** (times - 1))
    await asyncio.sleep(bucket.jitter(longest))
