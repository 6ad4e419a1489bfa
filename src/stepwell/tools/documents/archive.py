"""The members of a zip from an unknown source, and their XML.

Everything that can be known from the zip's list of members is checked before anything is unpacked: how many there are, how large they
say they will be, and how much smaller they are packed. `zipfile` never unpacks more than a member says. Only members that are asked for
are unpacked; pictures and macros never are. XML is parsed without entities, DTDs and network.
"""

from __future__ import annotations

import io
import posixpath
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

from stepwell.errors import FetchFailedError, needs_extra
from stepwell.tools.documents.visible import one_line

MOST_MEMBERS = 10_000
MOST_UNPACKED = 1 << 30
"""Bytes of all members. Only sheets are this large, and they are read row by row."""
MOST_IN_MEMORY = 24 << 20
"""Bytes of a member that is parsed as a whole."""
MOST_RATIO = 200
"""How many times its packed size a member may be. Real sheets reach about 50; deflate can reach 1,000."""
_SMALL = 4 << 20
"""Below this, any ratio is harmless."""
_END = b"PK\x05\x06"
_END_64 = b"PK\x06\x06"
_MOST_DIRECTORY = 4 << 20
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
RELATIONS = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_STRICT_RELATIONS = "{http://purl.oclc.org/ooxml/officeDocument/relationships}"


class DamagedError(FetchFailedError):
    """The document breaks the rules of its format."""

    def __init__(self, why: str) -> None:
        super().__init__(f"The page is damaged: {one_line(why)}.", "unreadable")


class Archive:
    """A zip whose list of members has been checked."""

    def __init__(self, content: bytes) -> None:
        _check_directory(content)
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(content))
        except (
            zipfile.BadZipFile,
            ValueError,
            OSError,
            struct.error,
            NotImplementedError,
            UnicodeDecodeError,
            OverflowError,
        ) as error:
            raise DamagedError("its zip archive cannot be opened") from error
        members = self._zip.infolist()
        if len(members) > MOST_MEMBERS:
            raise FetchFailedError(f"The page is a zip archive with more than {MOST_MEMBERS:,} members.", "unreadable")
        if sum(member.file_size for member in members) > MOST_UNPACKED or any(map(_is_bomb, members)):
            raise FetchFailedError("The page would unpack to far more than its size, as no honest document does.", "unreadable")
        self._members = {member.filename.lstrip("/"): member for member in members}
        self._folded = {name.lower(): name for name in self._members}

    @property
    def names(self) -> list[str]:
        return list(self._members)

    def __contains__(self, name: str) -> bool:
        return name.lower() in self._folded

    @contextmanager
    def open(self, name: str) -> Iterator[IO[bytes]]:
        """A member's bytes, unpacked while they are read."""
        member = self._members.get(self._folded.get(name.lower(), ""))
        if member is None:
            raise DamagedError(f"'{name[:80]}' is missing")
        if member.flag_bits & 1:
            raise FetchFailedError("The page is locked with a password.", "unreadable")
        if member.compress_type not in _METHODS:
            raise DamagedError(f"'{name[:80]}' is packed in an unknown way")
        try:
            with self._zip.open(member) as stream:
                yield stream
        except (zipfile.BadZipFile, zlib.error, EOFError, ValueError, OSError, NotImplementedError, struct.error) as error:
            raise DamagedError(f"'{name[:80]}' cannot be unpacked") from error

    def read(self, name: str) -> bytes:
        member = self._members.get(self._folded.get(name.lower(), ""))
        if member is not None and member.file_size > MOST_IN_MEMORY:
            raise FetchFailedError(
                f"The page has a part of more than {MOST_IN_MEMORY >> 20} MB, '{one_line(name[:80])}'.", "unreadable"
            )
        with self.open(name) as stream:
            return stream.read()

    def xml(self, name: str) -> Any:
        """The root element of a member."""
        return parse_xml(self.read(name), name)

    def relations(self, name: str) -> dict[str, tuple[str, str]]:
        """What a member refers to inside the archive: id -> last word of the type, and the other member's name. Links that lead out of
        the archive are left out."""
        folder, base = posixpath.split(name)
        place = posixpath.join(folder, "_rels", f"{base}.rels")
        if place not in self:
            return {}
        found = {}
        for relation in self.xml(place):
            target = relation.get("Target") or ""
            if relation.get("TargetMode") != "External" and target:
                kind = (relation.get("Type") or "").rpartition("/")[2]
                found[relation.get("Id") or ""] = (kind, _resolve(folder, target))
        return found

    def main_part(self, usual: str) -> str:
        """The member that the document begins with."""
        return next((target for kind, target in self.relations("").values() if kind == "officeDocument"), usual)

    @property
    def has_macros(self) -> bool:
        return any(name.endswith("vbaproject.bin") for name in self._folded)


def parse_xml(content: bytes, name: str) -> Any:
    """The root element. Entities that the document declares stay unresolved."""
    etree = load_etree()
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, remove_comments=True, remove_pis=True
    )
    try:
        return etree.fromstring(content, parser)
    except (etree.LxmlError, ValueError) as error:
        raise DamagedError(f"'{name[:80]}' is not valid XML") from error


def iterate_xml(stream: IO[bytes], name: str, *tags: str) -> Iterator[Any]:
    """The elements with these tags (without namespace) as soon as they are complete. What has been seen is dropped."""
    etree = load_etree()
    try:
        found = etree.iterparse(
            stream,
            events=("end",),
            tag=[f"{{*}}{tag}" for tag in tags],
            resolve_entities=False,
            no_network=True,
            load_dtd=False,
            huge_tree=False,
            remove_comments=True,
            remove_pis=True,
        )
        for _, element in found:
            yield element
            element.clear(keep_tail=False)
            while element.getprevious() is not None:
                del element.getparent()[0]
    except etree.LxmlError as error:
        raise DamagedError(f"'{name[:80]}' is not valid XML") from error


def load_etree() -> Any:
    with needs_extra("Reading documents", "research"):
        from lxml import etree  # type: ignore[import-untyped]  # lxml ships without types
    return etree


def tag_of(element: Any) -> str:
    """An element's name without its namespace; the strict and the usual form of OOXML differ only in namespaces."""
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def attribute(element: Any, name: str, default: str = "") -> str:
    """An attribute by its name, with or without a namespace."""
    value = element.get(name)
    if value is None:
        value = next((each for key, each in element.attrib.items() if key.rpartition("}")[2] == name), default)
    return str(value)


def relation_id(element: Any, name: str = "id") -> str:
    """An attribute that names a relation, such as `r:id` or `r:embed`."""
    return str(element.get(RELATIONS + name) or element.get(_STRICT_RELATIONS + name) or "")


def _check_directory(content: bytes) -> None:
    """The list of members is loaded as a whole, so its size is checked first. A zip can name the size in two places."""
    place = content.rfind(_END, max(0, len(content) - 70_000))
    if place < 0 or len(content) < place + 22:
        raise DamagedError("its zip archive has no end; it may be cut off")
    size = struct.unpack_from("<I", content, place + 12)[0]
    larger = content.rfind(_END_64, max(0, place - 70_000), place)
    if larger >= 0 and len(content) >= larger + 48:
        size = max(size if size != 0xFFFFFFFF else 0, struct.unpack_from("<Q", content, larger + 40)[0])
    if size > _MOST_DIRECTORY:
        raise FetchFailedError(f"The page is a zip archive with more than {MOST_MEMBERS:,} members.", "unreadable")


def _is_bomb(member: zipfile.ZipInfo) -> bool:
    return member.file_size > _SMALL and member.file_size > MOST_RATIO * max(1, member.compress_size)


def _resolve(folder: str, target: str) -> str:
    path = target if target.startswith("/") else posixpath.join(folder, target)
    return posixpath.normpath("/" + path).lstrip("/")
