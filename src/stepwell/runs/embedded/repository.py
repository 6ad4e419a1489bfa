"""Records in SQLite: `stepwell.runs.repository.Repository`, one part per noun.

Every statement that a user's request reaches carries the owner; what belongs to somebody else is not found, in the same words as
what is not there.
"""

from __future__ import annotations

from stepwell.runs.embedded.assistant_records import AssistantRecords
from stepwell.runs.embedded.effect_records import EffectRecords
from stepwell.runs.embedded.run_records import RunRecords
from stepwell.runs.embedded.step_records import StepRecords
from stepwell.runs.embedded.thread_records import ThreadRecords
from stepwell.runs.embedded.turn_records import TurnRecords
from stepwell.runs.embedded.usage_records import UsageRecords
from stepwell.runs.embedded.waiting_records import WaitingRecords


class EmbeddedRepository(
    AssistantRecords, ThreadRecords, RunRecords, UsageRecords, EffectRecords, StepRecords, TurnRecords, WaitingRecords
):
    """`EmbeddedRepository(database, clock)`; see `RecordsPart` for what else it can be given."""
