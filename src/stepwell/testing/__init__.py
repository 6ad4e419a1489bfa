"""What Stepwell ships for other people's tests: a scripted model, and suites that check an implementation of a protocol.

Names are loaded when they are used, so that importing one part does not import the needs of the others.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stepwell.testing.asked import Asked
    from stepwell.testing.backends import BackendConformance
    from stepwell.testing.event_log_conformance import EventLogConformance
    from stepwell.testing.ledger_conformance import LedgerConformance
    from stepwell.testing.maintenance_conformance import MaintenanceConformance
    from stepwell.testing.memory_mint import MemoryMint
    from stepwell.testing.queue_conformance import QueueConformance
    from stepwell.testing.replies import (
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
    from stepwell.testing.repository_conformance import RepositoryConformance
    from stepwell.testing.saver_conformance import FencedSaverConformance, SaverConformance
    from stepwell.testing.scripted import ScriptedModel
    from stepwell.testing.scripts import ScriptExhaustedError, each_run
    from stepwell.testing.store_conformance import OwnedStoreConformance, StoreConformance
    from stepwell.testing.vault_conformance import VaultConformance

__all__ = [
    "Asked",
    "BackendConformance",
    "EventLogConformance",
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
    "asked": ("Asked",),
    "backends": ("BackendConformance",),
    "event_log_conformance": ("EventLogConformance",),
    "ledger_conformance": ("LedgerConformance",),
    "maintenance_conformance": ("MaintenanceConformance",),
    "memory_mint": ("MemoryMint",),
    "queue_conformance": ("QueueConformance",),
    "replies": (
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
    "repository_conformance": ("RepositoryConformance",),
    "saver_conformance": ("FencedSaverConformance", "SaverConformance"),
    "scripted": ("ScriptedModel",),
    "scripts": ("ScriptExhaustedError", "each_run"),
    "store_conformance": ("OwnedStoreConformance", "StoreConformance"),
    "vault_conformance": ("VaultConformance",),
}


def __getattr__(name: str) -> Any:
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
