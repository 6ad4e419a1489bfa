"""Files of many tenants in one bucket of an object store: Google Cloud Storage, S3, Azure Blob Storage, or memory.

`backend` has the six verbs below one tenant's root; `root` defines roots, and which one applies to a call; `grants` decides which roots a
caller may use; `read_only` refuses changes of what may only be read; `names` maps paths to objects; `search` has `glob` and `grep`;
`changes` writes so that no update is lost; `whole_files` reads and writes files as bytes; `bucket` talks to the store; `opening` makes a
bucket from the settings.
"""

from stepwell.backends.objects.backend import ObjectBackend
from stepwell.backends.objects.bucket import Bucket, Patience
from stepwell.backends.objects.opening import memory_bucket, open_bucket
from stepwell.backends.objects.root import check_root, gcs_root_path, get_gcs_root_path, set_gcs_root_path

__all__ = [
    "Bucket",
    "ObjectBackend",
    "Patience",
    "check_root",
    "gcs_root_path",
    "get_gcs_root_path",
    "memory_bucket",
    "open_bucket",
    "set_gcs_root_path",
]
