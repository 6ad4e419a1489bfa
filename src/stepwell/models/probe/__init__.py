"""Tests one model through one connection: does it answer, call a tool, stream, and how fast. Every failure is one sentence with the fact
and the way out.

```
package -> key -> address -> list of models (no tokens) -> one streamed call with a tool
           -> if the model cannot do that: one more, without the tool or in one piece
keys       what is wrong with a key before anything is sent
listing    the provider's own list of models
evidence   what a response or an exception shows: status, text, fault of the connection
sentences  evidence -> a `Problem` in words
```
"""

from __future__ import annotations

from stepwell.models.probe.keys import key_problem
from stepwell.models.probe.result import Probe, Problem, ProblemKind
from stepwell.models.probe.testing import ProbeLimits, ProbeTarget, ask_for_models, embedded_problem, probe

__all__ = [
    "Probe",
    "ProbeLimits",
    "ProbeTarget",
    "Problem",
    "ProblemKind",
    "ask_for_models",
    "embedded_problem",
    "key_problem",
    "probe",
]
