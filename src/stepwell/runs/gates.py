"""How a product takes part in runs: whether and how a run is admitted, what its graph is given, and what happens when it ends.

```
order ─> Gate.admit, one after the other ─> admitted            a gate refuses by raising, before anything is stored
claim ─> Gate.attend ─> Attendance.find_models ─> the graph's models
                        Attendance.given ─> the graph's config
                        Attendance.before_end ─> the run is ended ─> Attendance.after_end
```
The engine knows nothing about products: no money, no bucket, no evidence. Each gate sees the order as the gates before it have changed it.
If `attend` raises, the run fails with that error; if `before_end` or `after_end` raises, the error is logged and the run ends all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from stepwell.database.types import Assistant, Lease, Run, RunStatus
from stepwell.models.connected import RunModels
from stepwell.runs.starting import Place, RunOrder

SaidUntilStopped = Callable[[str], tuple[int, int] | None]
"""Checkpoint namespace -> input and output tokens of the answer that was cut off there; None if no answer was."""


@dataclass(frozen=True)
class Arrival:
    """A run that asks to be admitted."""

    caller: str | None
    """Who asks; None if the server starts the run itself."""
    owner: str
    """Whom the run will belong to."""
    thread_id: str
    """The run's thread, which may only be about to be created."""
    assistant: Assistant
    order: RunOrder
    grants: object = None
    """What the caller's key or token tells gates."""
    place: Place = field(default_factory=Place)


@dataclass(frozen=True)
class Attendance:
    """A product's part in one attempt at a run. By default the methods do nothing; a product overrides those it needs."""

    @property
    def given(self) -> Mapping[str, Any]:
        """What the graph finds in its configuration, under names that no caller can set."""
        return {}

    async def find_models(self) -> RunModels | None:
        """The models that the run uses; None if the product does not decide it. They contain keys, so they are not part of `given`, which
        graphs and savers can read."""
        return None

    async def before_end(self, *, delivered: bool) -> None:
        """Before the run is ended, while its lease holds. `delivered`: the caller got all of its answers."""

    async def after_end(self, status: RunStatus) -> None:
        """After the run is ended."""


class Gate:
    """A product's part in every run. By default the methods do nothing; a product overrides those it needs."""

    takes: ClassVar[bool] = False
    """Whether admission by this gate takes something, such as money. Such gates come after all gates that only check."""

    passed_on: ClassVar[frozenset[str]] = frozenset()
    """Names in a run's configuration that also hold for another assistant which the run starts in the background, such as who pays."""

    async def admit(self, arrival: Arrival) -> Arrival:
        """Returns the arrival, changed or not, or raises a `RunError` to refuse the run. Nothing of the run has been stored yet."""
        return arrival

    def check_stored(self, values: Any) -> None:
        """Check values that are stored without a run, such as an update of a thread's state. Raises a `RunError` to refuse them."""

    def attend(self, run: Run, lease: Lease, said_until_stopped: SaidUntilStopped) -> Attendance | None:
        """The product's part in an attempt; None if it has none."""
        return None
