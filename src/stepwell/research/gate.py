"""What research gives to runs: a place to store the evidence of their thread, and what is known about their judges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from stepwell.database.persistence import Persistence
from stepwell.database.types import Lease, Run
from stepwell.research.audit.judged import Figures
from stepwell.research.audit.vault import VAULT
from stepwell.research.database_vault import SqlVault
from stepwell.research.evidence.judged_by import JUDGES, FindFigures
from stepwell.runs.gates import Attendance, Gate, SaidUntilStopped


@dataclass(frozen=True)
class _WithEvidence(Attendance):
    vault: SqlVault
    judges: FindFigures

    @property
    def given(self) -> Mapping[str, Any]:
        return {VAULT: self.vault, JUDGES: self.judges}


class EvidenceGate(Gate):
    """Gives every run a vault for its thread's evidence. Nothing is stored unless the run's graph uses the vault."""

    def __init__(self, persistence: Persistence, judges: FindFigures | None = None) -> None:
        """`judges`: the figures of judges, if they are not in this database."""
        self._persistence = persistence
        self._judges = judges or self._find_figures

    def attend(self, run: Run, lease: Lease, said_until_stopped: SaidUntilStopped) -> Attendance:
        return _WithEvidence(self.open_vault(run.thread_id, lease), self._judges)

    async def _find_figures(self, model: str) -> Figures | None:
        from stepwell.research.judges.figures import (
            read_figures,  # imported on demand: a graph that judges has loaded the checks
        )

        return await self._persistence.database.read(lambda connection: read_figures(connection, model))

    def open_vault(self, thread_id: str, lease: Lease) -> SqlVault:
        """The evidence of a thread, for the run that holds the lease."""
        return SqlVault(self._persistence.database, thread_id, lease, self._persistence.clock)
