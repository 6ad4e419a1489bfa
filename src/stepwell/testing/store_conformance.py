"""A suite that every store passes, and that other people's stores can run.

```python
from stepwell.testing import StoreConformance


class TestMyStore(StoreConformance):
    def make_store(self, owner="ada"):
        return self.store
```

pytest finds the tests in the subclass. Each runs through the sync methods and through the async ones. A store that belongs to an
owner and lets items expire, as those behind `stepwell.runs` do, runs `OwnedStoreConformance`. A test that cannot apply is switched
off by name in the subclass (`test_a_changed_item_keeps_its_day_of_birth = None`).
"""

from __future__ import annotations

from stepwell.testing.store_case import StoreCalls, StoreCase
from stepwell.testing.store_finding import NamespaceCases, SearchingItemsCases
from stepwell.testing.store_keeping import ExpiringCases, KeepingCases, OwnerCases, WordsCases

__all__ = ["OwnedStoreConformance", "StoreCalls", "StoreCase", "StoreConformance"]


class StoreConformance(KeepingCases, SearchingItemsCases, NamespaceCases):
    """What LangGraph expects of any store."""


class OwnedStoreConformance(StoreConformance, OwnerCases, ExpiringCases, WordsCases):
    """And what Stepwell expects of the stores that its runs are given."""
