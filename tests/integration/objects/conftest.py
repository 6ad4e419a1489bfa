"""A fake object store for each test, and buckets on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from stepwell.backends.objects import Bucket, Patience, open_bucket
from stepwell.settings import Settings
from stepwell.testing.objects import FakeObjectStore

QUICK = Patience(first_pause_s=0.002, longest_pause_s=0.05, request_s=5.0, total_s=20.0)

OpenBucket = Callable[..., Bucket]


@pytest.fixture
def store() -> Iterator[FakeObjectStore]:
    with FakeObjectStore("files", forbidden=("closed",)) as store:
        yield store


@pytest.fixture
def open_fake(store: FakeObjectStore) -> OpenBucket:
    """A new client of the store, as another process would have it."""

    def open_one(name: str = "files", patience: Patience = QUICK) -> Bucket:
        settings = Settings.load({"GCS_BUCKET_NAME": name, "GOOGLE_CLOUD_CREDENTIALS_JSON": store.credentials_json})
        return open_bucket(settings, patience)

    return open_one
