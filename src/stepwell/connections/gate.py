"""Where a run meets connections: which models it uses, depending on its caller.

```
order ─> admit: choose for the caller ─> pinned into the run: names only, and for whom
claim ─> attend ─> find_models: may that caller still use them? read and decrypt the keys ─> the graph is built with them
```
A run is admitted anew when somebody answers its question, so it then uses the models of the one who answers. An attempt uses what was
pinned, whichever worker drives it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from stepwell.connections.choosing import CHOICE_KEY, pinned_in
from stepwell.connections.models import ModelsOfRuns
from stepwell.database.types import Assistant, Lease, Run
from stepwell.models.connected import RunModels
from stepwell.runs.gates import Arrival, Attendance, Gate, SaidUntilStopped
from stepwell.runs.starting import RunOrder


@dataclass(frozen=True)
class _WithModels(Attendance):
    models: ModelsOfRuns
    run: Run

    async def find_models(self) -> RunModels:
        return await self.models.open(pinned_in(self.run))


@dataclass(frozen=True)
class ModelGate(Gate):
    """Decides which models a run uses."""

    models: ModelsOfRuns

    async def admit(self, arrival: Arrival) -> Arrival:
        asked, by_assistant = _asked(arrival.order), _asked_by_assistant(arrival.assistant)
        pinned = await self.models.choose(arrival.caller, arrival.order.thread_id, asked, by_assistant)
        return replace(arrival, place=replace(arrival.place, pinned={**arrival.place.pinned, **pinned}))

    def attend(self, run: Run, lease: Lease, said_until_stopped: SaidUntilStopped) -> Attendance:
        return _WithModels(self.models, run)


def _asked(order: RunOrder) -> object:
    return next(
        (place[CHOICE_KEY] for place in (order.context, order.config.get("configurable")) if place and CHOICE_KEY in place),
        None,
    )


def _asked_by_assistant(assistant: Assistant) -> object:
    places = (assistant.context, assistant.config.get("configurable"))
    return next((place[CHOICE_KEY] for place in places if place and CHOICE_KEY in place), None)
