"""The only zip layout that a bundle may have: members in order of their names, uncompressed, without times, owners or comments.

```
header, name, bytes     for each member
directory entry         for each member
end of directory
```

We write our own code for it and use no library, so that the same members give the same bytes on every machine and version, and because
a reader that accepts only this layout is safe from malicious archives. Nothing is unpacked to disk; names come from a closed set, so none
can escape a folder; nothing is compressed, so nothing can explode; and every byte outside a member is compared with its expected value.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from stepwell.errors import BundleError

MAX_MEMBERS = 20_000
MAX_MEMBER_BYTES = 256 * 2**20
MAX_BUNDLE_BYTES = 2**30
NAMES = re.compile(
    r"(?:manifest|claims|plan|receipt|story|signature)\.json|(?:trail|recording)\.jsonl|(?:report|policy)\.md|(?:sources|texts|exchanged)/[0-9a-f]{64}"
)
_HEADER = struct.Struct("<4s5H3I2H")
_ENTRY = struct.Struct("<4s6H3I5H2I")
_END = struct.Struct("<4s4H2IH")
_VERSION, _UNIX, _MIDNIGHT, _FIRST_DAY, _STORED = 20, 3 << 8, 0, 33, 0  # 33 is 1 January 1980, the earliest day in a zip
_MODE = 0o100644 << 16


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a bundle, and where its bytes are in the file."""

    name: str
    size: int
    crc: int
    offset: int

    def header(self) -> bytes:
        fixed = (b"PK\3\4", _VERSION, 0, _STORED, _MIDNIGHT, _FIRST_DAY, self.crc, self.size, self.size, len(self.name), 0)
        return _HEADER.pack(*fixed) + self.name.encode("ascii")

    def directory_entry(self) -> bytes:
        start = self.offset - len(self.header())
        common = (_VERSION | _UNIX, _VERSION, 0, _STORED, _MIDNIGHT, _FIRST_DAY, self.crc, self.size, self.size, len(self.name))
        return _ENTRY.pack(b"PK\1\2", *common, 0, 0, 0, 0, _MODE, start) + self.name.encode("ascii")


def write_members(file: BinaryIO, members: Iterable[tuple[str, bytes]]) -> None:
    """Write members, given in the order of their names."""
    written: list[Member] = []
    place = 0
    for name, content in members:
        if len(content) > MAX_MEMBER_BYTES or place + len(content) > MAX_BUNDLE_BYTES or len(written) == MAX_MEMBERS:
            raise BundleError(
                f"The evidence is too much for a bundle at '{name}': {MAX_MEMBERS} members, {MAX_BUNDLE_BYTES} bytes."
            )
        member = Member(name, len(content), zlib.crc32(content), place + _HEADER.size + len(name))
        file.write(member.header() + content)
        place = member.offset + member.size
        written.append(member)
    file.write(_directory(written, place))


def read_members(file: BinaryIO, size: int) -> dict[str, Member]:
    """The members of a bundle; if the file isn't a bundle, `BundleError` says why and names the member."""
    if size > MAX_BUNDLE_BYTES + MAX_MEMBERS * 256:
        raise BundleError(f"The file has {size} bytes; a bundle has at most {MAX_BUNDLE_BYTES}.")
    found: dict[str, Member] = {}
    place, last = 0, ""
    while (start := _at(file, place, _HEADER.size))[:4] == b"PK\3\4":
        member = _member(file, start, place)
        if member.name <= last:
            raise BundleError(f"Member '{member.name}' comes after '{last}': it is there twice, or the order was changed.")
        if member.offset + member.size > size or member.size > MAX_MEMBER_BYTES or len(found) == MAX_MEMBERS:
            raise BundleError(f"Member '{member.name}' is larger than the file or than allowed, or there are too many members.")
        found[member.name] = member
        place, last = member.offset + member.size, member.name
    if not found:
        raise BundleError("The file is not a bundle. Name the .zip file that `stepwell research` or the page has written.")
    if _at(file, place, size - place + 1) != _directory(list(found.values()), place):
        raise BundleError(
            f"The directory after member '{last}' is not the one of a bundle: it was changed, or other software wrote it."
        )
    return found


def read_content(file: BinaryIO, member: Member) -> bytes:
    return _at(file, member.offset, member.size)


def size_of(path: Path) -> int:
    return path.stat().st_size


def _member(file: BinaryIO, start: bytes, place: int) -> Member:
    if len(start) < _HEADER.size:
        raise BundleError("The file ends inside a member's header.")
    _, _, flags, method, _, _, crc, stored, size, name_length, _ = _HEADER.unpack(start)
    raw = _at(file, place + _HEADER.size, min(name_length, 200))
    name = raw.decode("ascii", "replace")
    if not NAMES.fullmatch(name):
        raise BundleError(f"The file has a member named {name[:100]!r}, which no bundle has. Nothing of it was opened.")
    if method != _STORED or stored != size or flags:
        raise BundleError(
            f"Member '{name}' is compressed or encrypted; members of a bundle are stored as they are. Use the original file."
        )
    member = Member(name, size, crc, place + _HEADER.size + len(name))
    if member.header() != start + raw:
        raise BundleError(
            f"The header of member '{name}' is not the one of a bundle: it was changed, or other software wrote it."
        )
    return member


def _directory(members: list[Member], start: int) -> bytes:
    entries = b"".join(member.directory_entry() for member in members)
    return entries + _END.pack(b"PK\5\6", 0, 0, len(members), len(members), len(entries), start, 0)


def _at(file: BinaryIO, place: int, count: int) -> bytes:
    file.seek(place)
    return file.read(count)
