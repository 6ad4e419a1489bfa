"""What concurrent model calls may still spend. Each reserves its part of a limit before it begins, and gives it back at its end.

```
enter ──┬─ the limit is reached ──────────────────────────────> refused
        ├─ no other call in progress, or all fit together ────> held ── leave ──> the next in line is considered
        └─ otherwise ──> in line, until others leave ──┬──────> held
                                                       └──────> refused: the limit is reached, or it took too long
```
What a call will need is an estimate: as much as the largest call of its kind so far, or its own input if that is more. The first call of a
kind runs alone, since there is nothing to estimate from. Below the limit, a call that is alone may begin whatever it needs, so a run can
exceed its limit by one call. Concurrent calls exceed it by no more than the error of their estimates.

Rules to keep: calls are served in the order they came, because otherwise a large call would wait for ever behind small ones. A call that
is alone is not measured. To enter several accounts, start with the outermost, which prevents deadlocks.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field

from stepwell.middleware.spending.sums import Ceilings, Spending, add_spending, used_up

PATIENCE_S = 300.0
"""How long a call waits for others before it is refused."""
_OTHERS = "calls under way hold the rest of the budget, and did not end in time"

Measure = Callable[[], Spending | None]
"""Returns what a call will probably spend; None if unknown."""


@dataclass(eq=False, slots=True)
class Hold:
    """A call's share of a limit."""

    measure: Measure
    decided: Future[str | None] = field(default_factory=Future)
    """Its result is None if the share was reserved, or the reason if it was refused."""


class Account:
    """Spending that several concurrent steps add to, and what calls in progress have reserved. Safe from any thread."""

    def __init__(self, spent: Spending, ceilings: Ceilings | None = None, *, patience_s: float = PATIENCE_S) -> None:
        self.patience_s = patience_s
        self._spent = spent
        self.ceilings = ceilings or Ceilings()
        self._held: list[Hold] = []
        self._line: deque[Hold] = deque()
        self._lock = threading.Lock()

    @property
    def spent(self) -> Spending:
        return self._spent

    def add(self, more: Spending) -> None:
        with self._lock:
            self._spent = add_spending(self._spent, {**more, "turn": self._spent.get("turn", "")})

    def enter(self, hold: Hold) -> None:
        """Reserve a share, or wait in line for it; `hold.decided` has the outcome."""
        with self._lock:
            self._line.append(hold)
            settled = self._look()
        _tell(settled)

    def leave(self, hold: Hold) -> None:
        """Give the share back, or leave the line."""
        with self._lock:
            for place in (self._held, self._line):
                if hold in place:
                    place.remove(hold)
            settled = self._look()
        _tell(settled)

    def _look(self) -> list[tuple[Hold, str | None]]:
        """Decide on as many calls at the head of the line as is possible now."""
        settled: list[tuple[Hold, str | None]] = []
        while self._line:
            ceiling = self.ceilings.reached(self._spent)
            if ceiling is None and self._held and not self._fits(self._line[0]):
                break
            hold = self._line.popleft()
            if ceiling is None:
                self._held.append(hold)
            settled.append((hold, used_up(ceiling) if ceiling else None))
        return settled

    def _fits(self, hold: Hold) -> bool:
        """Whether a call fits beside the current holds. It is measured each time, as others of its kind may have used more meanwhile."""
        together = self._spent
        for each in (*self._held, hold):
            if (expected := each.measure()) is None:
                return False
            together = add_spending(together, {**expected, "turn": together.get("turn", "")})
        return all(share <= 1.0 for share in self.ceilings.shares(together).values())


def _tell(settled: Sequence[tuple[Hold, str | None]]) -> None:
    """Tell the calls what was decided. Use it outside the lock, because waiting threads may continue at once."""
    for hold, refusal in settled:
        hold.decided.set_result(refusal)


@contextmanager
def holding(accounts: Sequence[Account], measure: Measure) -> Iterator[str | None]:
    """Reserve a share of each account for the body, outermost first. Yields the reason for a refusal, or None. Blocks while it waits."""
    held: list[tuple[Account, Hold]] = []
    try:
        refusal = None
        for account in accounts:
            held.append((account, hold := Hold(measure)))
            if refusal := wait_for(account, hold):
                break
        yield refusal
    finally:
        for account, hold in reversed(held):
            account.leave(hold)


@asynccontextmanager
async def aholding(accounts: Sequence[Account], measure: Measure) -> AsyncIterator[str | None]:
    """The same from async code."""
    held: list[tuple[Account, Hold]] = []
    try:
        refusal = None
        for account in accounts:
            held.append((account, hold := Hold(measure)))
            if refusal := await await_for(account, hold):
                break
        yield refusal
    finally:
        for account, hold in reversed(held):
            account.leave(hold)


def wait_for(account: Account, hold: Hold) -> str | None:
    """Enter the account, and block until the decision. Whatever it is, the caller must leave the account afterwards."""
    account.enter(hold)
    try:
        return hold.decided.result(account.patience_s)
    except TimeoutError:
        return _OTHERS


async def await_for(account: Account, hold: Hold) -> str | None:
    """The same from async code."""
    account.enter(hold)
    if hold.decided.done():
        return hold.decided.result()
    try:
        # Shielded: a later decision must still be able to set the result.
        return await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(hold.decided)), account.patience_s)
    except TimeoutError:
        return _OTHERS
