"""What Stepwell ships for other people's tests: a scripted model, and suites that check an implementation of a protocol.

Names are loaded when they are used, so that importing one part does not import the needs of the others.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stepwell.testing.backends.conformance import BackendConformance
    from stepwell.testing.event_log.conformance import EventLogConformance
    from stepwell.testing.maintenance import MaintenanceConformance
    from stepwell.testing.objects.server import FakeObjectStore
    from stepwell.testing.payments.conformance import LedgerConformance
    from stepwell.testing.payments.mint import MemoryMint
    from stepwell.testing.queue.conformance import QueueConformance
    from stepwell.testing.repository.conformance import RepositoryConformance
    from stepwell.testing.saver.conformance import FencedSaverConformance, SaverConformance
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
    from stepwell.testing.store import OwnedStoreConformance, StoreConformance
    from stepwell.testing.vault import VaultConformance

__all__ = [
    "Asked",
    "BackendConformance",
    "EventLogConformance",
    "FakeObjectStore",
    "FencedSaverConformance",
    "LedgerConformance",
    "MaintenanceConformance",
    "MemoryMint",
    "OwnedStoreConformance",
    "QueueConformance",
    "Reply",
    "RepositoryConformance",
    "SaverConformance",
    "ScriptError",
    "ScriptExhaustedError",
    "ScriptedModel",
    "StoreConformance",
    "VaultConformance",
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
    "event_log.conformance": ("EventLogConformance",),
    "maintenance": ("MaintenanceConformance",),
    "objects.server": ("FakeObjectStore",),
    "payments.conformance": ("LedgerConformance",),
    "payments.mint": ("MemoryMint",),
    "queue.conformance": ("QueueConformance",),
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
    "repository.conformance": ("RepositoryConformance",),
    "saver.conformance": ("FencedSaverConformance", "SaverConformance"),
    "scripted.model": ("ScriptedModel",),
    "scripted.scripts": ("ScriptExhaustedError", "each_run"),
    "store": ("OwnedStoreConformance", "StoreConformance"),
    "vault": ("VaultConformance",),
}


def __getattr__(name: str) -> Any:
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
