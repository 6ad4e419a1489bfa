"""Where an agent's files live: eight verbs over a tree of text files (`protocol`), and the backends that implement them.

`state`, `store`, `filesystem` (with `disk`) and `browser` (with `device`) are such backends; `composite` (with `mounts`) combines several
into one tree, and `foreign` translates those that were written for deepagents. A backend implements its verbs once, and `sync_async` or
`steps` adds the other form. Some run `commands` too. Backends share `paths`, `patterns`, `text`, `tree` and `messages`.
"""

from stepwell.backends.browser import BrowserBackend
from stepwell.backends.commands import ExecuteResponse, SandboxBackendProtocol
from stepwell.backends.composite import CompositeBackend
from stepwell.backends.filesystem import FilesystemBackend
from stepwell.backends.protocol import (
    BackendFactory,
    BackendProtocol,
    DeleteResult,
    EditResult,
    ErrorText,
    FileData,
    FileInfo,
    GrepMatch,
    Listing,
    Matches,
    MoveResult,
    WriteResult,
)
from stepwell.backends.state import StateBackend
from stepwell.backends.steps import SteppedBackend
from stepwell.backends.store import StoreBackend
from stepwell.backends.sync_async import AsyncBackend, SyncBackend
from stepwell.backends.transfers import FileDownloadResponse, FileUploadResponse

__all__ = [
    "AsyncBackend",
    "BackendFactory",
    "BackendProtocol",
    "BrowserBackend",
    "CompositeBackend",
    "DeleteResult",
    "EditResult",
    "ErrorText",
    "ExecuteResponse",
    "FileData",
    "FileDownloadResponse",
    "FileInfo",
    "FileUploadResponse",
    "FilesystemBackend",
    "GrepMatch",
    "Listing",
    "Matches",
    "MoveResult",
    "SandboxBackendProtocol",
    "StateBackend",
    "SteppedBackend",
    "StoreBackend",
    "SyncBackend",
    "WriteResult",
]
