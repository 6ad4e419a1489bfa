"""What several runs spend from one budget at the same time: an agent, its background tasks and its side questions.

```
before a model call   hold ───▶ all that is spent and held ─┬─ below the limits ──▶ what the call will probably cost is held
                                                            └─ a limit is reached ▶ refused
after it              settle ─▶ what was held is replaced by what it cost
```
Looking and holding are one step, so calls that begin at once count for each other, whichever process makes them. What a process held when
it was killed stays: it is the best guess at what the provider charges.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

SHARED = "__stepwell_shared_spending"
"""The key in a config's `configurable`. Two underscores keep it out of metadata and checkpoints, and callers from setting it."""
MEASURES: Final = ("tokens", "usd", "calls")
WHOLE_THREAD: Final = "thread"
"""The turn of a budget for a whole thread."""
AGENT: Final = ""
"""The agent itself among the runs that share its budget."""
_ACCOUNTS_KEPT = 256

Spent = Mapping[str, float]
Decide = Callable[[Spent], str | None]
"""All that was spent and is held -> why the call must not be made; None if it may."""


class SharedSpending(Protocol):
    """One run's way to what it shares with others."""

    @property
    def turn(self) -> str | None:
        """The turn of the agent whose budget a background task or a side question spends from; None for the agent itself."""
        ...

    @property
    def is_aside(self) -> bool:
        """Whether the run answers a side question, which only a budget for the whole thread counts."""
        ...

    def hold(self, call: Hold) -> Decision: ...
    async def ahold(self, call: Hold) -> Decision: ...
    def settle(self, turn: str, more: Spent) -> None: ...
    async def asettle(self, turn: str, more: Spent) -> None: ...


@dataclass(frozen=True)
class Hold:
    """A model call that is about to be made."""

    turn: str
    expected: Spent
    decide: Decide
    own: Spent | None = None
    """What the agent itself has spent, as its state says; None in other runs."""
    reported: Mapping[str, Spent] | None = None
    """What tasks have reported to the agent, by their runs."""
    alone: bool = False
    """Whether the caller knows of nobody who shares the budget. Then nothing is held, unless somebody does."""


@dataclass(frozen=True)
class Decision:
    """What was decided about a call."""

    refusal: str | None = None
    is_held: bool = False
    """Whether something is held, and must be settled."""


def total(rows: Mapping[str, Spent], hold: Hold) -> Spent:
    """All that was spent and is held."""
    known = dict(rows)
    for run_id, spent in {**(hold.reported or {}), **({} if hold.own is None else {AGENT: hold.own})}.items():
        known[run_id] = larger(known.get(run_id, {}), spent)
    return {name: sum(spent.get(name, 0) for spent in known.values()) for name in MEASURES}


def larger(one: Spent, other: Spent) -> dict[str, float]:
    return {name: max(one.get(name, 0), other.get(name, 0)) for name in MEASURES}


def plus(one: Spent, other: Spent) -> dict[str, float]:
    return {name: one.get(name, 0) + other.get(name, 0) for name in MEASURES}


def minus(one: Spent, other: Spent) -> dict[str, float]:
    return {name: one.get(name, 0) - other.get(name, 0) for name in MEASURES}


class _Accounts:
    """The accounts of this process, by thread and turn."""

    def __init__(self) -> None:
        self._rows: OrderedDict[tuple[str, str], dict[str, Spent]] = OrderedDict()
        self._lock = threading.Lock()

    def hold(self, thread_id: str, run_id: str, call: Hold) -> Decision:
        with self._lock:
            if call.alone and (thread_id, call.turn) not in self._rows:
                return Decision()
            rows = self._of(thread_id, call.turn)
            if refusal := call.decide(total(rows, call)):
                return Decision(refusal)
            rows[run_id] = plus(larger(rows.get(run_id, {}), call.own or {}), call.expected)
            return Decision(is_held=True)

    def add(self, thread_id: str, turn: str, run_id: str, more: Spent) -> None:
        with self._lock:
            if rows := self._rows.get((thread_id, turn)):
                rows[run_id] = plus(rows.get(run_id, {}), more)

    def note_agent(self, thread_id: str, turn: str, spent: Spent) -> None:
        with self._lock:
            rows = self._of(thread_id, turn)
            rows[AGENT] = larger(rows.get(AGENT, {}), spent)

    def _of(self, thread_id: str, turn: str) -> dict[str, Spent]:
        rows = self._rows.setdefault((thread_id, turn), {})
        self._rows.move_to_end((thread_id, turn))
        while len(self._rows) > _ACCOUNTS_KEPT:
            self._rows.popitem(last=False)
        return rows


_ACCOUNTS = _Accounts()


@dataclass(frozen=True)
class SharedHere:
    """A `SharedSpending` of runs in this process."""

    thread_id: str
    run_id: str = AGENT
    turn: str | None = None
    is_aside: bool = False

    def hold(self, call: Hold) -> Decision:
        return _ACCOUNTS.hold(self.thread_id, self.run_id, call)

    async def ahold(self, call: Hold) -> Decision:
        return self.hold(call)

    def settle(self, turn: str, more: Spent) -> None:
        _ACCOUNTS.add(self.thread_id, turn, self.run_id, more)

    async def asettle(self, turn: str, more: Spent) -> None:
        self.settle(turn, more)

    def begin(self, turn: str, spent: Spent) -> None:
        """The agent shares its budget from now on, and has spent this much of it."""
        _ACCOUNTS.note_agent(self.thread_id, turn, spent)
