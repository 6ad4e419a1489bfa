"""Makes a bucket from the settings: which store, which bucket, with which credentials.

Nothing here sends a request to the store. If the settings contain no credentials, obstore looks for those of the machine (a workload
identity, an instance's role), like the clouds' own tools. Errors name the variable, never its value.
"""

from __future__ import annotations

import json
import re
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from stepwell.backends.objects.bucket import Bucket, Patience
from stepwell.errors import ConfigurationError, needs_extra
from stepwell.settings import BucketSettings, Settings

if TYPE_CHECKING:
    from obstore.store import ObjectStore

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{1,221}[a-z0-9]")


def open_bucket(settings: Settings, patience: Patience | None = None) -> Bucket | None:
    """The bucket that the settings name; None if they name none."""
    if not settings.buckets:
        return None
    if len(settings.buckets) > 1:
        named = " and ".join(bucket.variable for bucket in settings.buckets)
        raise ConfigurationError(f"{named} are both set, and a workspace lives in one bucket. Keep one of them.")
    (chosen,) = settings.buckets
    if not _NAME.fullmatch(chosen.name):
        raise ConfigurationError(f"{chosen.variable} is not the name of a bucket. Write the name alone, such as 'my-files'.")
    patience = patience or Patience()
    return Bucket(_connect(chosen, patience, patience.retries), _connect(chosen, patience, 0), chosen.kind, patience)


def memory_bucket(patience: Patience | None = None) -> Bucket:
    """A bucket in this process, for tests and for trying things out."""
    with needs_extra("Files in object storage", "objects"):
        from obstore.store import MemoryStore
    store = MemoryStore()
    return Bucket(store, store, "memory", patience)


def _connect(chosen: BucketSettings, patience: Patience, retries: int) -> ObjectStore:
    with needs_extra("Files in object storage", "objects"):
        from obstore import exceptions, store
    options = {name: secret.reveal() for name, secret in chosen.options.items()}
    address = options.get("endpoint", "")
    if chosen.kind == "gcs" and "service_account_key" in options:
        address = _check_service_account(options["service_account_key"])
    made: Any = {"gcs": store.GCSStore, "s3": store.S3Store, "azure": store.AzureStore}[chosen.kind]
    try:
        opened: ObjectStore = made(
            chosen.name,
            client_options={
                "timeout": timedelta(seconds=patience.request_s),
                "connect_timeout": timedelta(seconds=patience.connect_s),
                "allow_http": address.startswith("http://"),  # only if the operator wrote such an address
            },
            retry_config={
                "max_retries": retries,
                "retry_timeout": timedelta(seconds=patience.total_s),
                "backoff": {
                    "init_backoff": timedelta(seconds=patience.first_pause_s),
                    "max_backoff": timedelta(seconds=patience.longest_pause_s),
                    "base": 2,
                },
            },
            **options,
        )
    except (exceptions.BaseError, ValueError, OSError):
        # The error is raised without its cause, whose text may contain a key.
        raise ConfigurationError(
            f"The settings beside {chosen.variable} cannot be used: {', '.join(chosen.variables) or 'credentials are missing'}. "
            "Check that they are complete, and belong together."
        ) from None
    return opened


def _check_service_account(key: str) -> str:
    """The address in a service account's key, if there is one. Raises an error if the text is not such a key."""
    try:
        fields = json.loads(key)
    except ValueError:
        fields = None
    if not isinstance(fields, dict) or not all(isinstance(fields.get(name), str) for name in ("client_email", "private_key")):
        raise ConfigurationError(
            "GOOGLE_CLOUD_CREDENTIALS_JSON is not the key of a service account. Put the whole JSON file there, in one line, with "
            "'client_email' and 'private_key' in it."
        )
    return str(fields.get("gcs_base_url", ""))
