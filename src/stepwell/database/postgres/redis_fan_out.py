"""Passes events between processes through Redis Streams, instead of Postgres's notifications. Only Postgres stores anything durably.

```
commit in Postgres ──> XADD to one of SHARDS streams ──XREAD in every process with followers────────> passed to its followers
         │ Redis unreachable: NOTIFY, as without Redis                               │ a number is missing: they read the table
         └ the process dies in between: found by the look at the table             └ Redis unreachable: look every AWAY_S
```

An entry carries the events themselves, so that a server need not query the database for what another one has just written; an entry that
would be too large, or whose text is not at hand, only names the thread. Each stream keeps its newest MOST_ENTRIES entries; a process that
is too slow for that reads the table. Only speed depends on Redis. It may be killed, emptied or restarted at any moment: a follower accepts
only what continues from its own place (`followers`), and every LOOK_S seconds the newest numbers of all followed threads are compared with
the table.

Belongs to one event loop. Nothing here raises: problems with Redis are logged once and counted in the metrics.
"""

from __future__ import annotations

import asyncio
import logging
import zlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from stepwell.database.events.followers import running_loop
from stepwell.database.events.log import EventLog
from stepwell.database.types import RunEvent
from stepwell.errors import ConfigurationError, StorageUnavailableError, needs_extra
from stepwell.supervision import stop

with needs_extra("Events through Redis", "redis"):
    from redis.asyncio import Redis
    from redis.asyncio.retry import Retry
    from redis.backoff import NoBackoff
    from redis.exceptions import AuthenticationError, RedisError

logger = logging.getLogger(__name__)

SHARDS = 16
"""Number of streams, over which threads are spread. It must be the same in all processes of an installation."""
MOST_ENTRIES = 2_000
"""About how many entries a stream keeps."""
LOOK_S = 2.0
AWAY_S = 0.5
"""How often to look at the table while Redis is unreachable."""
_LARGEST_ENTRY = 32 * 1024
_MAX_WAITING = 10_000
_AT_ONCE = 500
_BLOCK_MS = 2_000
_TIMEOUT_S = 5.0
_SOON_S = 1.0
"""How long an event waits for a Redis that does not answer. After that, Redis is checked separately from the events."""
_PASSING_ON, _HEARING = "passing events on", "hearing events"
_TROUBLE = (RedisError, OSError, TimeoutError)

Tell = Callable[[Sequence[str]], Awaitable[None]]
"""Notifies the other processes through Postgres that these threads have new events."""
Newest = Callable[[Sequence[str]], Awaitable[Mapping[str, int]]]
"""Thread -> the number of its newest event in the table."""


class RedisFanOut:
    """`start()`, then `await close()`."""

    def __init__(self, url: str, installation: str, process: str, events: EventLog, tell: Tell, newest: Newest) -> None:
        self._place = place_of(url)
        self._redis = _connect(url)
        self._keys = [f"stepwell:{installation}:events:{shard}" for shard in range(SHARDS)]
        self._asked = f"stepwell:{installation}:asked"
        self._process = process.encode()
        self._events = events
        self._tell = tell
        self._newest = newest
        self._waiting: list[tuple[str, Sequence[RunEvent]]] = []
        self._something_waits = asyncio.Event()
        self._somebody_follows = asyncio.Event()
        self._failing: set[str] = set()
        self._tasks: list[asyncio.Task[None]] = []
        self._loop = asyncio.get_running_loop()
        self._closing = False
        self.notify_too = False
        """Whether there is a process that only learns of events through Postgres."""
        self.failures = 0
        self.passed_on = 0
        self.heard = 0

    @property
    def up(self) -> bool:
        """Whether Redis answered the last request."""
        return not self._failing

    def start(self) -> None:
        self._events.pass_on = self._pass_on
        self._events.followers.joined = lambda: self._in_our_loop(self._somebody_follows.set)
        self._tasks = [asyncio.create_task(loop()) for loop in (self._keep_passing_on, self._keep_hearing, self._keep_looking)]

    async def close(self) -> None:
        """Passes on what is waiting, then closes."""
        self._closing = True
        self._events.pass_on = None
        await self._pass_on_waiting()
        await stop(self._tasks)
        await self._redis.aclose()

    # Sending

    def _pass_on(self, thread_id: str, events: Sequence[RunEvent]) -> None:
        self._in_our_loop(lambda: self._put(thread_id, events))

    def _in_our_loop(self, step: Callable[[], None]) -> None:
        """Run a step in our loop. The caller may be in another one, because events are appended and followed in any loop of the process."""
        if running_loop() is self._loop:
            step()
        else:
            with suppress(RuntimeError):  # the loop is closed: everything is over
                self._loop.call_soon_threadsafe(step)

    def _put(self, thread_id: str, events: Sequence[RunEvent]) -> None:
        if len(self._waiting) >= _MAX_WAITING:  # Redis is slow: followers read the table
            self._waiting = [(waiting, ()) for waiting in dict.fromkeys(waiting for waiting, _ in self._waiting)]
        self._waiting.append((thread_id, events))
        self._something_waits.set()

    async def _keep_passing_on(self) -> None:
        while not self._closing:
            await self._something_waits.wait()
            self._something_waits.clear()
            await self._pass_on_waiting()

    async def _pass_on_waiting(self) -> None:
        waiting, self._waiting = self._waiting, []
        for start in range(0, len(waiting), _AT_ONCE):
            portion = waiting[start : start + _AT_ONCE]
            sent = await self._send(portion)
            if not sent or self.notify_too:
                await self._notify(list(dict.fromkeys(thread_id for thread_id, _ in portion)))

    async def _send(self, portion: Sequence[tuple[str, Sequence[RunEvent]]]) -> bool:
        if _PASSING_ON in self._failing:
            return False
        try:
            async with self._redis.pipeline(transaction=False) as pipeline:
                for thread_id, events in portion:
                    key = self._keys[zlib.crc32(thread_id.encode()) % SHARDS]
                    pipeline.xadd(key, self._entry(thread_id, events), maxlen=MOST_ENTRIES, approximate=True)
                async with asyncio.timeout(_SOON_S):
                    await pipeline.execute()
        except _TROUBLE as error:
            self._fails(_PASSING_ON, error)
            return False
        self.passed_on += len(portion)
        return True

    async def _notify(self, thread_ids: Sequence[str]) -> None:
        try:
            await self._tell(thread_ids)
        except StorageUnavailableError as error:
            logger.debug("could not notify others of new events; they will look for themselves: %s", error)

    def _entry(self, thread_id: str, events: Sequence[RunEvent]) -> dict[Any, Any]:
        entry: dict[Any, Any] = {b"p": self._process, b"t": thread_id.encode()}
        size = sum(len(event.data) for event in events)
        if events and size <= _LARGEST_ENTRY and _is_plain(events):
            entry[b"r"], entry[b"s"] = events[0].run_id.encode(), events[0].seq
            for number, event in enumerate(events):
                entry[b"%d" % number] = b"%b\n%b" % (event.event.encode(), event.data)
        return entry

    # Receiving

    async def _keep_hearing(self) -> None:
        # A cancellation alone does not end this loop: the client may mistake it for its own time-out.
        while not self._closing:
            await self._somebody_follows.wait()
            try:
                await self._hear_from_now_on()
            except _TROUBLE as error:
                self._fails(_HEARING, error)
                await asyncio.sleep(AWAY_S)

    async def _hear_from_now_on(self) -> None:
        """Receive as long as there are followers. Earlier events are in the table, which followers read once our place in the streams is
        known."""
        places: dict[Any, Any] = {}
        for key in self._keys:
            newest: Any = await self._redis.xrevrange(key, count=1)
            places[key] = newest[0][0] if newest else "0-0"
        self._succeeds(_HEARING)
        self._events.look_again(None)
        while self._events.following and not self._closing:
            heard: Any = await self._redis.xread(places, count=_AT_ONCE, block=_BLOCK_MS)
            for key, entries in heard:
                places[key.decode()] = entries[-1][0]
                for _, entry in entries:
                    self._hear(entry)
        self._somebody_follows.clear()
        if self._events.following > 0:  # a follower joined in between
            self._somebody_follows.set()

    def _hear(self, entry: Mapping[bytes, bytes]) -> None:
        thread_id = entry[b"t"].decode()
        if entry[b"p"] == self._process or not self._events.followers.any(thread_id):
            return
        self.heard += 1
        if b"s" not in entry:
            self._events.look_again(thread_id)
            return
        first, run_id = int(entry[b"s"]), entry[b"r"].decode()
        events = []
        for number in range(len(entry) - 4):
            name, _, data = entry[b"%d" % number].partition(b"\n")
            events.append(RunEvent(first + number, thread_id, run_id, name.decode(), data))
        self._events.followers.give(thread_id, events, ours=False)

    # Checking

    async def _keep_looking(self) -> None:
        await self._ask_again()  # before the first event, so that the operator learns of a wrong address now
        while not self._closing:
            await asyncio.sleep(LOOK_S if self.up else AWAY_S)
            if _PASSING_ON in self._failing:
                await self._ask_again()
            given = self._events.followers.newest_given()
            try:
                newest = await self._newest(list(given)) if given else {}
            except StorageUnavailableError as error:
                logger.debug("cannot look up the newest events now: %s", error)
                continue
            for thread_id, seq in newest.items():
                if seq > given[thread_id]:
                    self._events.followers.found(thread_id, seq)

    async def _ask_again(self) -> None:
        try:
            async with asyncio.timeout(_SOON_S):
                # A write, because a full Redis or a replica still answers everything else.
                await self._redis.set(self._asked, b"", ex=60)
        except _TROUBLE as error:
            self._fails(_PASSING_ON, error)
        else:
            self._succeeds(_PASSING_ON)

    def _fails(self, what: str, error: BaseException) -> None:
        self.failures += 1
        if not self._failing:
            logger.warning(
                "Redis at %s cannot be used: %s. Events go through Postgres until it can.", self._place, type(error).__name__
            )
        self._failing.add(what)

    def _succeeds(self, what: str) -> None:
        if what in self._failing:
            self._failing.discard(what)
            if not self._failing:
                logger.info("Redis at %s is used again", self._place)


def _is_plain(events: Sequence[RunEvent]) -> bool:
    """Whether the events belong to one run and have their texts and consecutive numbers, as nearly all do."""
    first = events[0]
    return all(
        event.complete and event.run_id == first.run_id and event.seq == first.seq + number
        for number, event in enumerate(events)
    )


def place_of(url: str) -> str:
    """Which Redis is meant, without the credentials."""
    try:
        named = urlsplit(url)
        return f"{named.hostname}:{named.port or 6379}" if named.hostname else named.path or "?"
    except ValueError:
        return "?"


async def find_fault(url: str) -> str | None:
    """Why Redis at this address cannot be used, in a sentence without the address; None if it answers."""
    try:
        client = _connect(url)
    except ConfigurationError as error:
        return str(error)
    try:
        async with asyncio.timeout(_TIMEOUT_S):
            await client.ping()
    except _TROUBLE as error:
        # While it connects, the client raises the cause inside another error.
        if isinstance(error, AuthenticationError) or isinstance(error.__cause__, AuthenticationError):
            return "It rejects the user or the password of STEPWELL_REDIS_URL."
        return f"{place_of(url)} does not answer ({type(error).__name__})."
    finally:
        await client.aclose()
    return None


def _connect(url: str) -> Redis:
    """Does not connect yet. Raises `ConfigurationError` for an invalid address."""
    try:
        # Protocol 2, so that old and new servers answer in the same format.
        client: Redis = Redis.from_url(
            url, protocol=2, socket_timeout=_TIMEOUT_S, socket_connect_timeout=_SOON_S, retry=Retry(NoBackoff(), 1)
        )
    except (ValueError, RedisError) as error:
        raise ConfigurationError(
            "STEPWELL_REDIS_URL is not a valid Redis address. Write redis://host:6379/0, rediss://user:password@host:6379/0 or "
            "unix:///path/to/redis.sock, or leave it out: events then go through Postgres."
        ) from error
    return client
