"""Which models a run uses, decided for the run's caller.

```
asked for in the order ─ may the caller use it? ── no ──> refused with a sentence
the thread's metadata, then the assistant's config ── no ──> ignored
the caller's default, then everyone's, then the first model that the caller has connected
```
The first two are explicit: they replace the environment's models. For the rest, the environment comes first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from stepwell.connections.offers import Offers
from stepwell.connections.tables import TASKS, Ref, Task
from stepwell.database.types import Run
from stepwell.errors import InvalidRequestError
from stepwell.models.connected import TaskKind

CHOICE_KEY = "stepwell_models"
"""Where an order, a thread's metadata and an assistant's config name the models, and where the gate pins them."""
FOR_KEY = "stepwell_models_for"
"""Where the gate pins for whom the models were chosen. No caller can set it."""

KINDS: Mapping[Task, TaskKind] = {"plan": "plan", "write": "write", "judge": "audit"}
"""How people call a kind of work -> how the code does."""


@dataclass(frozen=True)
class Chosen:
    """The models of a run, by name."""

    models: Mapping[Task, Ref] = field(default_factory=dict)
    explicit: bool = False
    reasons: Mapping[Task, str] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        return {task: {"connection": ref.connection, "model": ref.model} for task, ref in self.models.items()}


def choose_explicit(offers: Offers, asked: object, told: Mapping[str, object]) -> Chosen:
    """What was chosen explicitly. `asked` is what the order says; `told` is what the thread and the assistant say, by the words that name
    them."""
    wanted = read_choice(asked)
    for ref in wanted.values():
        if why_not := offers.why_not(ref):
            raise InvalidRequestError(why_not)
    if wanted:
        return Chosen(wanted, explicit=True, reasons=dict.fromkeys(wanted, "chosen for this run"))
    for source, value in told.items():
        usable = {task: ref for task, ref in _try_reading(value).items() if offers.why_not(ref) is None}
        if usable:
            return Chosen(usable, explicit=True, reasons=dict.fromkeys(usable, f"chosen for {source}"))
    return Chosen()


def choose_default(offers: Offers) -> Chosen:
    """What a run uses if nothing was chosen for it."""
    models: dict[Task, Ref] = {}
    reasons: dict[Task, str] = {}
    for task in TASKS:
        for choices, reason in ((offers.mine, "your choice"), (offers.everyones, "set by the operator")):
            ref = choices.get(task)
            if ref and task not in models and offers.why_not(ref) is None:
                models[task], reasons[task] = ref, reason
    if "default" not in models and (first := _first_connected(offers)):
        models["default"], reasons["default"] = first, "the first model that was connected"
    return Chosen(models, reasons=reasons)


def _first_connected(offers: Offers) -> Ref | None:
    stored = [offer for offer in offers.offers if offer.stored]
    for offer in sorted(stored, key=lambda each: each.stored is None or each.stored.owner != offers.caller):
        if (name := offer.first_model) and offers.why_not(ref := Ref(offer.id, name)) is None:
            return ref
    return None


def read_choice(value: object) -> dict[Task, Ref]:
    """The models that an order names. Raises `InvalidRequestError` if they cannot be read."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InvalidRequestError(_form("an object"))
    chosen: dict[Task, Ref] = {}
    for task in TASKS:
        ref = value.get(task)
        if ref is None:
            continue
        names = (ref.get("connection"), ref.get("model")) if isinstance(ref, Mapping) else (None, None)
        if not all(isinstance(name, str) and name for name in names):
            raise InvalidRequestError(_form(f"'{task}' with a connection and a model"))
        chosen[task] = Ref(str(names[0]), str(names[1]))
    return chosen


def _try_reading(value: object) -> dict[Task, Ref]:
    try:
        return read_choice(value)
    except InvalidRequestError:
        return {}


def pinned_in(run: Run) -> Mapping[str, Any]:
    """What the gate has pinned into a run."""
    configurable = run.request.config.get("configurable") or {}
    return {name: configurable.get(name) or {} for name in (CHOICE_KEY, FOR_KEY)}


def _form(what: str) -> str:
    return f'\'{CHOICE_KEY}\' needs {what}, for example {{"default": {{"connection": "env:anthropic", "model": "claude-sonnet-4-6"}}}}.'
