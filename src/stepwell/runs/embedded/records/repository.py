"""Records in SQLite: `stepwell.runs.repository.Repository`, one part per noun.

Every statement that a user's request reaches carries the owner; what belongs to somebody else is not found, in the same words as
what is not there.
"""

from __future__ import annotations

from stepwell.runs.embedded.records.assistants import AssistantRecords
from stepwell.runs.embedded.records.claims import ClaimRecords
from stepwell.runs.embedded.records.effects import EffectRecords
from stepwell.runs.embedded.records.runs import RunRecords
from stepwell.runs.embedded.records.steps import StepRecords
from stepwell.runs.embedded.records.threads import ThreadRecords
from stepwell.runs.embedded.records.turns import TurnRecords
from stepwell.runs.embedded.records.usage import UsageRecords
from stepwell.runs.embedded.records.waiting import WaitingRecords


class EmbeddedRepository(
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
    """`EmbeddedRepository(database, clock)`; see `RecordsPart` for what else it can be given."""
