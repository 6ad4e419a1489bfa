"""What every checkpoint saver must do, as tests. Subclass `SaverConformance` and give it your saver.

```python
from stepwell.testing import SaverConformance


class TestMySaver(SaverConformance):
    def make_saver(self, thread_id, run_id):
        return self.saver
```

pytest finds the tests in the subclass. Each runs through the sync methods and through the async ones. A saver that is bound to a
lease, as those behind `stepwell.runs` are, runs `FencedSaverConformance` and says how a lease is lost (`outdate`). A test that
cannot apply is switched off by name in the subclass (`test_a_copy_is_whole_and_lives_on_by_itself = None`).

The suite expects a serializer that revives only listed types. Whether what was acknowledged survives the end of the process is
not tested here: that takes a process to kill.
"""

from __future__ import annotations

from tests.contract.suites.saver.case import SaverCalls, SaverCase
from tests.contract.suites.saver.fencing import FencingCases
from tests.contract.suites.saver.finding import FindingCases, RemovingCases
from tests.contract.suites.saver.rebuilding import GraphCases, RebuildingCases
from tests.contract.suites.saver.storing import StoringCases, WritesCases

__all__ = ["FencedSaverConformance", "SaverCalls", "SaverCase", "SaverConformance"]


class SaverConformance(StoringCases, WritesCases, FindingCases, RemovingCases, RebuildingCases, GraphCases):
    """What LangGraph expects of any saver."""


class FencedSaverConformance(SaverConformance, FencingCases):
    """And what Stepwell expects of the savers that its runs write with."""
