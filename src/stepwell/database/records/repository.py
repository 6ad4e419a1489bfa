"""Records in the database, one part per noun. The queue changes runs and threads while they are driven; this is for everything else.

Every statement that a user's request can reach is restricted to the owner. Another owner's things are reported as not found, in the same
words as things that don't exist.
"""

from __future__ import annotations

from stepwell.database.records.assistants import AssistantRecords
from stepwell.database.records.chains import ChainRecords
from stepwell.database.records.claims import ClaimRecords
from stepwell.database.records.effects import EffectRecords
from stepwell.database.records.runs import RunRecords
from stepwell.database.records.steering import SteeringRecords
from stepwell.database.records.steps import StepRecords
from stepwell.database.records.subagents import SubAgentRecords
from stepwell.database.records.tasks import TaskRecords
from stepwell.database.records.threads import ThreadRecords
from stepwell.database.records.turns import TurnRecords
from stepwell.database.records.usage import UsageRecords
from stepwell.database.records.waiting import WaitingRecords


class Repository(
    AssistantRecords,
    ThreadRecords,
    RunRecords,
    ChainRecords,
    UsageRecords,
    EffectRecords,
    StepRecords,
    SubAgentRecords,
    TurnRecords,
    WaitingRecords,
    ClaimRecords,
    SteeringRecords,
    TaskRecords,
):
    """`Repository(database, clock)`; see `RecordsPart` for further arguments."""
