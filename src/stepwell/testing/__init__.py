"""Stepwell's tools for other people's tests: a scripted model, a mint and an object store, and the suite for backends.

Names are imported on first use, so that importing one part does not import the dependencies of the others.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stepwell.testing.backends.conformance import BackendConformance
    from stepwell.testing.mint import MemoryMint
    from stepwell.testing.objects.server import FakeObjectStore
    from stepwell.testing.scripted.asked import Asked
    from stepwell.testing.scripted.model import ScriptedModel
    from stepwell.testing.scripted.replies import (
        Reply,
        ScriptError,
        call,
        calls,
        expect,
        fail,
        raw,
        repeat,
        reply,
        say,
        slow,
        stream_then_fail,
    )
    from stepwell.testing.scripted.scripts import ScriptExhaustedError, each_run

__all__ = [
    "Asked",
    "BackendConformance",
    "FakeObjectStore",
    "MemoryMint",
    "Reply",
    "ScriptError",
    "ScriptExhaustedError",
    "ScriptedModel",
    "call",
    "calls",
    "each_run",
    "expect",
    "fail",
    "raw",
    "repeat",
    "reply",
    "say",
    "slow",
    "stream_then_fail",
]

_HOMES = {
    "scripted.asked": ("Asked",),
    "backends.conformance": ("BackendConformance",),
    "objects.server": ("FakeObjectStore",),
    "mint": ("MemoryMint",),
    "scripted.replies": (
        "Reply",
        "ScriptError",
        "call",
        "calls",
        "expect",
        "fail",
        "raw",
        "repeat",
        "reply",
        "say",
        "slow",
        "stream_then_fail",
    ),
    "scripted.model": ("ScriptedModel",),
    "scripted.scripts": ("ScriptExhaustedError", "each_run"),
}


def __getattr__(name: str) -> Any:
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
