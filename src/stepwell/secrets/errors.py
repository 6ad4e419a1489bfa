"""What may be shown of an error: its text, without the paths that the system puts into its own errors.

For an `OSError` we show its meaning (`No such file or directory`) and never the file, because its path is one of the host, and a model
or a client knows other paths. If another error repeats the path (`raise ToolError(f"... {error}") from error`), only the path's last
part is left.
All code that shows errors of foreign code uses this: results of tools and subagents, steps, the end of a run.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

from stepwell.errors import errors_within

_WORDLESS = "The error has no text: converting it to text fails."
_COPYING = "some files could not be copied or moved"


def words_of(error: BaseException) -> str:
    """The text of any error, in a form that can be shown and stored."""
    text = _of_system(error) if isinstance(error, OSError) else None
    if text is None:
        try:
            text = _without_places(str(error), error)
        except Exception:
            return _WORDLESS
    # A lone surrogate is a valid character only in Python.
    return text.encode(errors="replace").decode()


def _of_system(error: OSError) -> str | None:
    """The system's description of an error; `None` if the error's class only derives from `OSError` and the error has its own text."""
    if isinstance(error, shutil.Error):  # its text is a list of paths
        return _COPYING
    if error.errno is None:
        return None
    # Not the error's own `strerror` if the error names a file: the code that raised it may have put the name there too.
    return os.strerror(error.errno) if error.filename is not None else error.strerror or os.strerror(error.errno)


def _without_places(text: str, error: BaseException) -> str:
    for place in sorted(_places_in(error), key=len, reverse=True):
        text = text.replace(place, os.path.basename(place.rstrip("/\\")))
    return text


def _places_in(error: BaseException) -> Iterator[str]:
    """Paths that contain a folder and are mentioned by system errors: this error, its causes and the errors it groups."""
    for one in errors_within(error):
        if isinstance(one, OSError):
            yield from (name for name in map(_text, (one.filename, one.filename2)) if "/" in name or "\\" in name)


def _text(name: object) -> str:
    return os.fsdecode(name) if isinstance(name, str | bytes | os.PathLike) else ""
