"""What research gives to runs: a place to store the evidence of their thread."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from stepwell.database.persistence import Persistence
from stepwell.database.types import Lease, Run
from stepwell.research.audit.vault import VAULT
from stepwell.research.database_vault import SqlVault
from stepwell.runs.gates import Attendance, Gate, SaidUntilStopped


@dataclass(frozen=True)
class _WithEvidence(Attendance):
    vault: SqlVault

    @property
    def given(self) -> Mapping[str, Any]:
        return {VAULT: self.vault}


class EvidenceGate(Gate):
    """Gives every run a vault for its thread's evidence. Nothing is stored unless the run's graph uses the vault."""

    def __init__(self, persistence: Persistence) -> None:
        self._persistence = persistence

    def attend(self, run: Run, lease: Lease, said_until_stopped: SaidUntilStopped) -> Attendance:
        return _WithEvidence(self.open_vault(run.thread_id, lease))

    def open_vault(self, thread_id: str, lease: Lease) -> SqlVault:
        """The evidence of a thread, for the run that holds the lease."""
        return SqlVault(self._persistence.database, thread_id, lease, self._persistence.clock)
