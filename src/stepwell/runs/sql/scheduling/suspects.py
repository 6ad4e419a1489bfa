"""Which run brings the process down, when several were under way each time it died.

```
crash ─> counted for every run that was under way and has made no checkpoint since its last crash
  2 crashes: a suspect. It waits a while after each restart, longer each time, and suspects are driven one at a time.
  the process dies while it waits: it was not this one, the count begins anew
  5 crashes (`MAX_ATTEMPTS`): it is given up
```
So a run that kills the process is found, one that only happened to be there goes on, and a process that dies of something else (no memory,
an operator, a bad disk) takes no run with it. Where there are many processes, one that dies while a suspect waits says nothing about it:
there the count begins anew only with a checkpoint. Functions of a connection, for use inside a transaction.
"""

from __future__ import annotations

from stepwell.sql import Connection

_SUSPECT_AFTER = 2
_WAIT_S = 0.5
_LONGEST_S = 30.0
"""A suspect that has lived so long keeps the others waiting no more."""

_WAITS_UNTIL = f"(r.updated_at + {_WAIT_S} * (1 << CAST(r.crashes - {_SUSPECT_AFTER} AS INTEGER)))"

FREE = f"r.crashes < {_SUSPECT_AFTER}"
"""Condition on `runs AS r`: not a suspect."""
_SUSPECT = f"r.crashes > {_SUSPECT_AFTER - 1}"  # as the index `runs_suspect` says it
WAITED = f"{_SUSPECT} AND ({_WAITS_UNTIL} <= :now OR r.updated_at > :now)"
"""Condition on `runs AS r`: a suspect that has waited long enough at `:now`, or whose time has been taken back by the clock."""

UNDER_WAY = f"""
SELECT 1 FROM runs AS r WHERE r.status = 'running' AND {_SUSPECT} AND r.updated_at > :now - {_LONGEST_S}
  AND COALESCE(r.crash_mark, '') = COALESCE(
    (SELECT MAX(c.checkpoint_id) FROM checkpoints AS c WHERE c.thread_id = r.thread_id AND c.run_id = r.run_id), '')
"""  # noqa: S608 - only numbers of ours
"""Whether one is driven and has not shown yet that it gets past its step."""
NEXT = f"SELECT MIN({_WAITS_UNTIL}) FROM runs AS r WHERE r.status = 'pending' AND {_SUSPECT} AND {_WAITS_UNTIL} > :now"  # noqa: S608
"""When the next one will have waited long enough."""
PENDING = f"SELECT 1 FROM runs AS r WHERE r.status = 'pending' AND {_SUSPECT}"  # noqa: S608
"""Whether one waits."""


def clear_bystanders(connection: Connection) -> None:
    """The process has died while these were waiting: it was none of them."""
    connection.execute(
        "UPDATE runs SET crashes = 0 WHERE status IN ('pending', 'running') AND status = 'pending' AND crashes > 0"
    )
