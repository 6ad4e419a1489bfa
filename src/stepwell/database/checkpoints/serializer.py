"""Rules for every checkpoint saver: which types may be deserialised, and that ids only grow.

**Types.** A checkpoint can name any callable, and by default LangGraph's serializer calls it when the checkpoint is loaded. So anyone
who can write one row could run code here. Ours (`strict_serializer`) accepts a list of types and leaves everything else as plain data; it
never unpickles. Messages, which are most of what a thread holds, are put together directly (`stored_messages`). `check_strict` reads data
that names such calls and checks whether they happen; a server runs this check before it accepts requests.

**Ids.** Checkpoints are ordered by their ids, which LangGraph makes from the clock. Within a process, each id is greater than the one
before. Across processes nothing ensures that: if the clock was set back in between, a new run's checkpoints would sort before those of the
previous run, and the new run's output would not become the thread's newest state. So the newest stored id must be passed to
`continue_ids_after` first. LangGraph's counter has a private name. Only this module uses it, and a test checks that it still exists.
"""

from __future__ import annotations

import json
import logging
import pickle  # only used to write a pickle, to see whether a serializer would load it
import uuid
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import ormsgpack
from langgraph.checkpoint.base import id as langgraph_ids
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from stepwell.database.checkpoints.packing import unpack
from stepwell.database.checkpoints.stored_messages import revive
from stepwell.errors import ConfigurationError
from stepwell.state.channels import snapshot

# LangGraph's codes for "call this with": one value, a list, keywords, through a method, and for the two kinds of pydantic models. The code
# after those of NumPy is a snapshot's.
_ONE, _LIST, _KEYWORDS, _METHOD, _PYDANTIC_1, _PYDANTIC_2 = range(6)
_SNAPSHOT = 7
_TIME_UUID_VERSION = 6


@lru_cache(maxsize=64)
def strict_serializer(allowed: frozenset[tuple[str, ...]] = frozenset()) -> JsonPlusSerializer:
    """A serializer that deserialises only LangGraph's own safe types and those named here, as (module, class). It holds nothing else, so
    all runs with the same list share one: every run asks for it, and making it takes a twentieth of the event loop's time."""
    return _StrictSerializer(pickle_fallback=False, allowed_msgpack_modules=tuple(allowed))


class _StrictSerializer(JsonPlusSerializer):
    def with_msgpack_allowlist(self, extra_allowlist: Iterable[tuple[str, ...] | type]) -> JsonPlusSerializer:
        return _widened(self, frozenset(extra_allowlist))

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        form, packed = data
        return self._unpack(packed) if form == "msgpack" else super().loads_typed(data)

    def _unpack(self, packed: bytes) -> Any:
        return ormsgpack.unpackb(packed, ext_hook=self._revive, option=ormsgpack.OPT_NON_STR_KEYS)

    def _revive(self, code: int, packed: bytes) -> Any:
        if code == _SNAPSHOT:
            return snapshot(self._unpack(packed))
        if code == _PYDANTIC_2:
            called = self._unpack(packed)
            message = revive(*called[:3]) if type(called) is list and len(called) > 2 else None
            if message is not None:
                return message
        return self._unpack_ext_hook(code, packed)


@lru_cache(maxsize=256)
def _widened(serializer: _StrictSerializer, extra: frozenset[tuple[str, ...] | type]) -> JsonPlusSerializer:
    return JsonPlusSerializer.with_msgpack_allowlist(serializer, extra)


def stored_channels(checkpoint: tuple[str, bytes]) -> Collection[str] | None:
    """The channels whose values a stored checkpoint holds, without deserialising them; `None` if only a full read can tell."""
    form, packed = unpack(checkpoint)
    if form != "msgpack":
        return None
    shallow = ormsgpack.unpackb(packed, ext_hook=lambda code, data: None, option=ormsgpack.OPT_NON_STR_KEYS)
    names: Collection[str] = shallow["channel_values"].keys()
    return names


class Planted:
    """What a planted call creates: if reading produces an instance, the call has happened."""

    def __init__(self, *_: Any, **__: Any) -> None: ...

    @classmethod
    def make(cls, _: Any) -> Planted:
        return cls()


def check_strict(serde: SerializerProtocol) -> None:
    """Raise `ConfigurationError` if this serializer calls what a checkpoint names."""
    for form, payload in _planted_calls():
        try:
            with _unheard():
                loaded = serde.loads_typed(payload)
        except Exception:  # noqa: S112  refusing to read it, with any error, is as good as leaving it alone
            continue
        if isinstance(loaded, Planted):
            raise ConfigurationError(
                f"The checkpoint serializer {type(serde).__name__} calls whatever a stored checkpoint names ({form}): one row "
                "written by another program could run code here. Use stepwell.database.checkpoints.serializer.strict_serializer()."
            )


@contextmanager
def _unheard() -> Iterator[None]:
    """Silences LangGraph's warnings about types that it does not load: operators should not see those about our planted calls."""
    logger = logging.getLogger("langgraph.checkpoint.serde.jsonplus")
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before


def _planted_calls() -> Iterator[tuple[str, tuple[str, bytes]]]:
    module, name = Planted.__module__, Planted.__qualname__
    calls: dict[int, tuple[Any, ...]] = {
        _ONE: (module, name, 1),
        _LIST: (module, name, [1]),
        _KEYWORDS: (module, name, {"a": 1}),
        _METHOD: (module, name, 1, "make"),
        _PYDANTIC_1: (module, name, {"a": 1}),
        _PYDANTIC_2: (module, name, {"a": 1}, "make"),
    }
    for code, call in calls.items():
        yield "msgpack", ("msgpack", ormsgpack.packb(ormsgpack.Ext(code, ormsgpack.packb(call))))
    constructor = {"lc": 2, "type": "constructor", "id": [*module.split("."), name], "kwargs": {"a": 1}}
    yield "json", ("json", json.dumps(constructor).encode())
    yield "pickle", ("pickle", pickle.dumps(Planted()))


def continue_ids_after(checkpoint_id: str) -> None:
    """Make all further checkpoint ids of this process greater than this one. Ids that are not LangGraph's are ignored."""
    try:
        last = uuid.UUID(checkpoint_id)
    except ValueError:
        return
    if last.version != _TIME_UUID_VERSION:
        return
    # Version 6: 48 bits of time, four of version, twelve more of time.
    ticks = (last.int >> 80) << 12 | (last.int >> 64) & 0xFFF
    known: int | None = langgraph_ids._last_v6_timestamp
    langgraph_ids._last_v6_timestamp = ticks if known is None else max(ticks, known)  # type: ignore[assignment]  # untyped there
