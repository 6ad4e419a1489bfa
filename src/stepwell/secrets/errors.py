"""What may be shown of an error: its text, without the places of this machine that the system puts into its own errors.

An `OSError` says what it means (`No such file or directory`) and never which file: that is a path of the host, and a model or a client
knows other paths. Where another error repeats one (`raise ToolError(f"... {error}") from error`), only the last part of the path is left.
Everything that shows an error of foreign code asks here: results of tools and subagents, steps, the end of a run.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

_WORDLESS = "The error has no text: turning it into one fails."
_COPYING = "some files could not be copied or moved"


def words_of(error: BaseException) -> str:
    """An error's text, whatever it is: one that can be shown and stored."""
    text = _of_system(error) if isinstance(error, OSError) else None
    if text is None:
        try:
            text = _without_places(str(error), error)
        except Exception:
            return _WORDLESS
    # Half a surrogate pair is a character in Python and nowhere else.
    return text.encode(errors="replace").decode()


def _of_system(error: OSError) -> str | None:
    """What the system means; `None` for an error that is only derived from the system's and has a text of its own."""
    if isinstance(error, shutil.Error):  # its text is a list of paths
        return _COPYING
    if error.errno is None:
        return None
    # Not its own `strerror` if a file is named: whoever raised it may have put the name in there too.
    return os.strerror(error.errno) if error.filename is not None else error.strerror or os.strerror(error.errno)


def _without_places(text: str, error: BaseException) -> str:
    for place in sorted(_places_in(error), key=len, reverse=True):
        text = text.replace(place, os.path.basename(place.rstrip("/\\")))
    return text


def _places_in(error: BaseException) -> Iterator[str]:
    """Paths with folders in them that errors of the system name, in this error, in what led to it and in what it groups."""
    waiting, seen = [error], set[int]()
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, OSError):
            yield from (name for name in map(_text, (one.filename, one.filename2)) if "/" in name or "\\" in name)
        waiting += [each for each in (one.__cause__, one.__context__) if each is not None]
        waiting += one.exceptions if isinstance(one, BaseExceptionGroup) else ()


def _text(name: object) -> str:
    return os.fsdecode(name) if isinstance(name, str | bytes | os.PathLike) else ""
