"""Crons as JSON: LangGraph's `CronCreate`, `CronPatch` and `Cron`, and what became of their slots."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from stepwell.database.crons import Cron, CronAccess, CronFilter, CronSlot, SlotState
from stepwell.database.types import Durability
from stepwell.runs.crons.operations import UNCHANGED, CronChange, NewCron, on_run_completed, order_of
from stepwell.secrets.values import without_secrets
from stepwell.server.login.principal import Principal
from stepwell.server.schemas.config import RunConfig
from stepwell.server.schemas.fields import AssistantRef, Body, JsonObject, Limit, Moment, Offset, ResponseBody, SortOrder, Uuid
from stepwell.server.schemas.runs import Nodes, RunCreate, StreamMode, run_order_of

CronField = Literal[
    "cron_id", "assistant_id", "thread_id", "on_run_completed", "end_time", "schedule", "timezone", "created_at", "updated_at",
    "user_id", "payload", "next_run_date", "metadata", "enabled", "ended_because",
]  # fmt: skip
SortBy = Literal["cron_id", "assistant_id", "thread_id", "next_run_date", "end_time", "created_at", "updated_at"]
ScheduleText = Annotated[
    str,
    Field(
        min_length=1,
        max_length=256,
        description="Minute, hour, day of month, month and day of week, such as `0 9 * * mon-fri`; or `@hourly`, `@daily`, `@weekly`, "
        "`@monthly`, `@yearly`",
    ),
]
TimeZone = Annotated[
    str,
    Field(
        min_length=1, max_length=100, description="A time zone of the IANA database, such as `Europe/Berlin`; without it, UTC"
    ),
]
WebhookUrl = Annotated[str, Field(min_length=1, max_length=65_536)]
Strategy = Literal["reject", "rollback", "interrupt", "enqueue"]
StreamModes = StreamMode | Annotated[list[StreamMode], Field(max_length=20)]


class _CronRun(Body):
    """What the runs of a cron are asked to do."""

    input: Any = None
    config: RunConfig | None = None
    context: JsonObject | None = None
    webhook: WebhookUrl | None = None
    interrupt_before: Nodes | None = None
    interrupt_after: Nodes | None = None
    stream_mode: StreamModes | None = None
    stream_subgraphs: bool | None = None
    stream_resumable: bool | None = None
    durability: Durability | None = None
    checkpoint_during: bool | None = Field(default=None, json_schema_extra={"deprecated": True})


class ThreadCronCreate(_CronRun):
    """A request for runs on a thread, by a schedule."""

    assistant_id: AssistantRef
    schedule: ScheduleText
    timezone: TimeZone | None = None
    end_time: Moment | None = Field(default=None, description="No run starts after this time; without an offset, in UTC")
    enabled: bool | None = None
    metadata: JsonObject | None = None
    multitask_strategy: Strategy | None = None

    def wanted(self, thread_id: str | None) -> NewCron:
        # What this body and a request for a run have in common has the same meaning.
        names = RunCreate.model_fields.keys() & type(self).model_fields.keys()
        run = RunCreate(**{name: getattr(self, name) for name in names if name != "metadata"})
        run = run.model_copy(update={"on_completion": getattr(self, "on_run_completed", None)})
        return NewCron(
            order=run_order_of(run, thread_id),
            schedule=self.schedule,
            timezone=self.timezone,
            end_time=self.end_time,
            enabled=self.enabled is not False,
            metadata=self.metadata or {},
        )


class CronCreate(ThreadCronCreate):
    """A request for runs by a schedule, each on a new thread."""

    on_run_completed: Literal["delete", "keep"] | None = Field(
        default=None, description="What happens to a run's thread when the run has ended; by default, it is deleted"
    )

    @model_validator(mode="before")
    @classmethod
    def _refuse_thread(cls, given: Any) -> Any:
        """Each run would have a thread of its own, which is not what the caller asked for."""
        if isinstance(given, dict) and given.get("thread_id") is not None:
            raise ValueError(
                "thread_id: each run has a new thread here. For runs on one thread, use /threads/{thread_id}/runs/crons"
            )
        return given


class CronPatch(_CronRun):
    """What to change about a cron. `null` means the same as leaving a field out, except for `end_time`: there it removes the end."""

    schedule: ScheduleText | None = None
    timezone: TimeZone | None = None
    end_time: Moment | None = None
    enabled: bool | None = None
    metadata: JsonObject | None = Field(default=None, description="Merged into the cron's metadata")
    multitask_strategy: Strategy | None = None
    on_run_completed: Literal["delete", "keep"] | None = None

    def wanted(self) -> CronChange:
        return CronChange(
            order=self._order(),
            schedule=self.schedule,
            timezone=self.timezone,
            end_time=self.end_time if "end_time" in self.model_fields_set else UNCHANGED,
            enabled=self.enabled,
            metadata=self.metadata,
        )

    def _order(self) -> dict[str, Any]:
        names = RunCreate.model_fields.keys() & type(self).model_fields.keys() - {"metadata"}
        given = {name: value for name in names if (value := getattr(self, name)) is not None}
        if self.on_run_completed is not None:
            given["on_completion"] = self.on_run_completed
        order = run_order_of(RunCreate(assistant_id="-", **given), None)
        renamed = {"stream_mode": "stream_modes", "checkpoint_during": "durability"}
        chosen = {renamed.get(name, name) for name in given} - {"stream_resumable"}
        return {name: getattr(order, name) for name in chosen}


class CronCount(Body):
    assistant_id: AssistantRef | None = None
    thread_id: Uuid | None = None
    metadata: JsonObject | None = None

    def wanted(self) -> CronFilter:
        return CronFilter(self.assistant_id, self.thread_id, None, self.metadata or {})


class CronSearch(CronCount):
    enabled: bool | None = None
    limit: Limit | None = None
    offset: Offset | None = None
    sort_by: SortBy | None = None
    sort_order: SortOrder | None = None
    select: list[CronField] | None = None

    def wanted(self) -> CronFilter:
        return CronFilter(self.assistant_id, self.thread_id, self.enabled, self.metadata or {})


class CronResponse(ResponseBody):
    """Runs on a schedule. `next_run_date` is null if there is no next run; `ended_because` says why a cron was ended for its owner."""

    cron_id: str
    assistant_id: str
    thread_id: str | None
    on_run_completed: Literal["delete", "keep"] | None
    end_time: datetime | None
    schedule: str
    timezone: str | None
    created_at: datetime
    updated_at: datetime
    user_id: str | None
    payload: JsonObject
    next_run_date: datetime | None
    metadata: JsonObject
    enabled: bool
    ended_because: str | None


class CronSlotResponse(ResponseBody):
    """What became of a slot of a cron, or of all its slots from `slot` to `last_slot`."""

    slot: datetime
    last_slot: datetime | None
    state: SlotState
    run_id: str | None
    thread_id: str | None
    note: str | None
    noted_at: datetime


def cron_wire(cron: Cron) -> dict[str, Any]:
    return {
        "cron_id": cron.cron_id,
        "assistant_id": cron.assistant_id,
        "thread_id": cron.thread_id,
        "on_run_completed": on_run_completed(cron),
        "end_time": cron.end_time,
        "schedule": cron.schedule,
        "timezone": cron.timezone,
        "created_at": cron.created_at,
        "updated_at": cron.updated_at,
        "user_id": cron.owner,
        "payload": payload_of(cron),
        "next_run_date": cron.next_run,
        "metadata": cron.metadata,
        "enabled": cron.enabled,
        "ended_because": cron.ended_because,
    }


def payload_of(cron: Cron) -> dict[str, Any]:
    """What the cron's runs are asked to do, under LangGraph's names and without secrets: they are only for the graph."""
    order = order_of(cron)
    given: dict[str, Any] = {
        "assistant_id": cron.assistant_id,
        "schedule": cron.schedule,
        "timezone": cron.timezone,
        "input": order.input,
        "config": without_secrets(order.config),
        "context": None if order.context is None else without_secrets(order.context),
        "metadata": cron.metadata,
        "webhook": order.webhook,
        "interrupt_before": order.interrupt_before,
        "interrupt_after": order.interrupt_after,
        "stream_mode": list(order.stream_modes),
        "stream_subgraphs": order.stream_subgraphs,
        "multitask_strategy": order.multitask_strategy,
        "durability": order.durability,
    }
    return {name: value for name, value in given.items() if value not in (None, (), {})}


def slot_wire(slot: CronSlot) -> Mapping[str, Any]:
    return {name: getattr(slot, name) for name in CronSlotResponse.model_fields}


def access_of(principal: Principal) -> CronAccess:
    """How the caller has signed in: an API key, or a session that was opened with one, can be looked up again when a run starts."""
    has_key = principal.via in ("api_key", "session") and bool(principal.credential_id)
    return CronAccess.of(principal.owner, principal.via, principal.credential_id if has_key else None, principal.grants)
