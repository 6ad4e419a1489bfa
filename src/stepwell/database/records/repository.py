"""Records in the database, one part per noun. The queue changes runs and threads while they are driven; this is for everything else.

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


class Repository(
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
    """`Repository(database, clock)`; see `RecordsPart` for what else it can be given."""
