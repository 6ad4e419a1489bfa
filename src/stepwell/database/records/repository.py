"""Records in SQLite: `stepwell.database.records.types.Repository`, one part per noun.

Every statement that a user's request reaches carries the owner; what belongs to somebody else is not found, in the same words as
what is not there.
"""

from __future__ import annotations

from stepwell.database.records.assistants import AssistantRecords
from stepwell.database.records.claims import ClaimRecords
from stepwell.database.records.effects import EffectRecords
from stepwell.database.records.runs import RunRecords
from stepwell.database.records.steps import StepRecords
from stepwell.database.records.threads import ThreadRecords
from stepwell.database.records.turns import TurnRecords
from stepwell.database.records.usage import UsageRecords
from stepwell.database.records.waiting import WaitingRecords


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
