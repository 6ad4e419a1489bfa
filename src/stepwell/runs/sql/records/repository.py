"""Records in SQLite: `stepwell.runs.repository.Repository`, one part per noun.

Every statement that a user's request reaches carries the owner; what belongs to somebody else is not found, in the same words as
what is not there.
"""

from __future__ import annotations

from stepwell.runs.sql.records.assistants import AssistantRecords
from stepwell.runs.sql.records.claims import ClaimRecords
from stepwell.runs.sql.records.effects import EffectRecords
from stepwell.runs.sql.records.runs import RunRecords
from stepwell.runs.sql.records.steps import StepRecords
from stepwell.runs.sql.records.threads import ThreadRecords
from stepwell.runs.sql.records.turns import TurnRecords
from stepwell.runs.sql.records.usage import UsageRecords
from stepwell.runs.sql.records.waiting import WaitingRecords


class SqlRepository(
    AssistantRecords,
    ThreadRecords,
    RunRecords,
    UsageRecords,
    EffectRecords,
    StepRecords,
    TurnRecords,
    WaitingRecords,
    ClaimRecords,
):
    """`SqlRepository(database, clock)`; see `RecordsPart` for what else it can be given."""
