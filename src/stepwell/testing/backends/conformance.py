"""What every backend must do, as tests. Subclass `BackendConformance` and give it your backend.

```python
from stepwell.testing.backends import BackendConformance


class TestMyBackend(BackendConformance):
    def make_backend(self):
        return MyBackend(...)
```

pytest finds the tests in the subclass. Each runs with the sync verbs and with the async ones. `BackendCase` lists the hooks for backends
that need more: a base folder, surroundings to run in, text that must never be shown. If a test cannot apply, switch it off by name in
the subclass (`test_names_differ_by_case_and_form = None`, for example, on a disk that ignores case).
"""

from __future__ import annotations

from stepwell.testing.backends.case import BackendCase, Verbs
from stepwell.testing.backends.changing import ChangingCases, RacingCases
from stepwell.testing.backends.moving import DeletingCases, MovingCases
from stepwell.testing.backends.paths import NASTY_PATHS, PathCases
from stepwell.testing.backends.reading import ReadingCases, SearchingCases

__all__ = ["NASTY_PATHS", "BackendCase", "BackendConformance", "Verbs"]


class BackendConformance(ReadingCases, SearchingCases, ChangingCases, RacingCases, DeletingCases, MovingCases, PathCases):
    """The whole suite."""
