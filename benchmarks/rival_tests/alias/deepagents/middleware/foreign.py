"""Their backends in tests have `ls` and `download_files` and nothing else. Ours are asked for `glob_info`; this translates the call."""

from pathlib import PurePosixPath

from stepwell.backends.protocol import Listing
from stepwell.backends.transfers import Transfers


def translate(backend):
    return backend if backend is None or isinstance(backend, Transfers | type) else Foreign(backend)


class Foreign:
    def __init__(self, backend):
        self._backend = backend

    def ls_info(self, path):
        raise NotImplementedError

    def glob_info(self, pattern, path):
        return _listing(self._backend.ls(path))

    async def aglob_info(self, pattern, path):
        return _listing(await self._backend.als(path))

    def download_files(self, paths):
        return self._backend.download_files(paths)

    async def adownload_files(self, paths):
        return await self._backend.adownload_files(paths)


def _listing(result):
    folders = [row["path"] for row in result.entries or [] if row.get("is_dir")]
    files = [str(PurePosixPath(path.replace("\\", "/")) / "SKILL.md") for path in folders]
    return Listing([{"path": path, "is_dir": False} for path in files], error=result.error)
