"""The workspace that a server serves: its graph, where its files are, and which root a request may use."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as NotBase64
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b

from stepwell.backends.objects.grants import Granted, Grants, nothing_more, open_root
from stepwell.backends.objects.read_only import require_write
from stepwell.backends.objects.root import OpenedRoot
from stepwell.backends.whole_files import WholeFiles
from stepwell.errors import InvalidRequestError
from stepwell.server.login.principal import Principal
from stepwell.workspace.files.shares import Room, Shares
from stepwell.workspace.files.uploads import Uploads

_MARK_BYTES = 12


@dataclass(frozen=True)
class Workspace:
    """What a server needs to know about its workspaces."""

    graph_id: str
    files: WholeFiles
    uploads: Uploads
    shares: Shares
    default_root: str | None = None
    """The default root of a request, on a server without sign-in."""
    granted: Granted = nothing_more

    def grants_of(self, principal: Principal) -> Grants:
        """All workspaces that a caller may use."""
        return principal.grants.with_more(self.granted(principal.owner))

    def room(self, tenant: str) -> AbstractAsyncContextManager[Room]:
        """Space in a tenant's share for the body of a request: `Shares.room`."""
        return self.shares.room(tenant, partial(self._measure, tenant))

    async def size_of(self, opened: OpenedRoot, path: str) -> int:
        """A file's size in bytes; 0 if the file does not exist."""
        file = await self.files.look(opened.root, path)
        return file.size if file else 0

    async def _measure(self, tenant: str) -> int:
        return await self.files.measure(f"/{tenant}/") + await self.uploads.measure(tenant)

    async def open(self, principal: Principal, asked: str | None, *, writing: bool = False) -> OpenedRoot:
        """Open the root of a request, which counts as one operation of its tenant.

        Raises:
            AccessError: The root is not open to the caller, or not for writing.
        """
        grants = self.grants_of(principal)
        default = self.default_root if grants.unlimited else None
        if grants.unlimited and not (asked or default):
            raise InvalidRequestError("Say which workspace it is: root=/company/workspace/")
        opened = open_root(grants, asked, default)
        if writing:
            require_write(opened)
        await self.shares.count_operation(opened.tenant)
        return opened


def make_cursor(root: str, folder: str, after: str) -> str:
    """A cursor for the next page of a listing. It identifies its listing, so that it is invalid for any other."""
    return urlsafe_b64encode(_mark(root, folder, after) + after.encode()).decode().rstrip("=")


def read_cursor(root: str, folder: str, cursor: str | None) -> str | None:
    """The last path of the previous page. Another tenant's cursor is rejected like a broken one."""
    if not cursor:
        return None
    try:
        raw = urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
        after = raw[_MARK_BYTES:].decode()
    except (NotBase64, ValueError):
        after, raw = "", b""
    if not after or raw[:_MARK_BYTES] != _mark(root, folder, after):
        raise InvalidRequestError("The cursor does not belong to this listing. Begin again without one.")
    return after


def _mark(*parts: str) -> bytes:
    return blake2b("\0".join(parts).encode(), digest_size=_MARK_BYTES).digest()
