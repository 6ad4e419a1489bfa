"""Checked before done: an agent's answer is checked against a rubric before the agent may finish.

```
verdicts     what a grader says, and what is stored of it
checks       graders that are code: functions of the agent's state
transcript   what the model that grades is shown
grader       the model that grades, for what code cannot decide
kept         work whose result is stored at once, so that a crash does not repeat it
middleware   `RubricMiddleware`
```
"""

from stepwell.middleware.rubric.checks import Undecided
from stepwell.middleware.rubric.middleware import RubricMiddleware, RubricState
from stepwell.middleware.rubric.verdicts import Criterion, GraderResponse, RubricEvaluation

__all__ = ["Criterion", "GraderResponse", "RubricEvaluation", "RubricMiddleware", "RubricState", "Undecided"]
