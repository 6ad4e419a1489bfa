"""Mail: one message (`.eml`) or a mailbox (`.mbox`).

A message begins with its headers on one line. Its plain text is read, or the words of its HTML if it has no other. What it quotes from
earlier messages stands in a paragraph of its own. Attachments are named and not opened.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from email import message_from_bytes
from email.message import Message
from email.policy import default
from email.utils import getaddresses, parsedate_to_datetime

from stepwell.tools.documents.formats.tables import flatten
from stepwell.tools.documents.pieces import Document, Piece
from stepwell.tools.documents.plain_html import words_of

MOST_MESSAGES = 20_000
_MOST_PARTS = 200
_MOST_BODY = 2_000_000
_LONGEST_NAME = 60
_SEPARATOR = re.compile(rb"^From [^\n]{0,300}\n", re.M)
_QUOTING = re.compile(
    r"(?:On|Am|Le|El) .{4,120}(?:wrote|schrieb.{0,80}|a écrit|escribió) ?:|-{2,}\s?(?:Original Message|Forwarded message)\s?-{2,}",
    re.I,
)
_LONGEST_QUOTING = 300
_LARGE = 4_000_000
_MOST_BASE64 = 77 * 5_000
"""Lines of 76 characters; the text of a message is never longer."""
_BASE64 = re.compile(rb"(?:[A-Za-z0-9+/]{60,76}\r?\n)+")
_NO_CHARSETS = frozenset({"idna", "punycode", "raw_unicode_escape", "undefined", "unicode_escape"})
"""Codecs of Python that are no character sets. Some raise errors for any text, or take quadratic time."""


def read_mail(content: bytes) -> Document:
    document = Document(())
    document.pieces = _messages([content], document)
    return document


def read_mailbox(content: bytes) -> Document:
    document = Document(())
    document.pieces = _messages(_split(content), document)
    return document


def message_pieces(number: int, headers: Mapping[str, str], body: str, sender: str) -> Iterator[Piece]:
    """A message as pieces: its header line begins the part, then the text, then what it quotes."""
    line = "; ".join(f"{name}: {value}" for name, value in headers.items() if value)
    day = headers.get("Date", "").partition(",")[0]
    about = ", ".join(filter(None, (sender[:_LONGEST_NAME], day[:30])))
    yield Piece(line, f"message {number} ({about})" if about else f"message {number}")
    own, quoted = _apart(body)
    yield Piece(own)
    yield Piece(quoted)


def _split(content: bytes) -> Iterator[bytes]:
    """The messages of a mailbox. A line that begins with `From ` separates them."""
    begin = None
    for found in _SEPARATOR.finditer(content):
        if begin is not None:
            yield content[begin : found.start()].replace(b"\n>From ", b"\nFrom ")
        begin = found.end()
    yield (content if begin is None else content[begin:]).replace(b"\n>From ", b"\nFrom ")


def _without_attachments(content: bytes) -> bytes:
    """The message with only the beginning of long runs of base64, which are files: parsing them takes many times their size."""
    if len(content) < _LARGE:
        return content
    return _BASE64.sub(lambda run: run.group()[:_MOST_BASE64], content)


def _messages(contents: Iterator[bytes] | list[bytes], document: Document) -> Iterator[Piece]:
    attached: list[str] = []
    for number, content in enumerate(contents, 1):
        if number > MOST_MESSAGES:
            document.notes.append(f"Only the first {MOST_MESSAGES:,} messages were read.")
            break
        message = message_from_bytes(_without_attachments(content), policy=default)
        headers = _headers(message)
        if number == 1:
            document.title = headers["Subject"]
        body, names = _body(message)
        attached += names
        sender = _sender(message)
        yield from message_pieces(number, headers, body, sender)
    if attached:
        more = f" and {len(attached) - 20:,} more" if len(attached) > 20 else ""
        document.notes.append(f"Attachments, which were not read: {', '.join(attached[:20])}{more}.")


def _headers(message: Message) -> dict[str, str]:
    found = {name: _header(message, name) for name in ("From", "To", "Cc", "Date", "Subject")}
    try:
        moment = parsedate_to_datetime(found["Date"])
        found["Date"] = f"{moment.day} {moment:%B %Y}, {moment:%H:%M}"
    except (ValueError, TypeError, IndexError, OverflowError):
        pass
    return found


def _header(message: Message, name: str) -> str:
    try:
        return flatten(str(message.get(name, "")))[:1_000]
    except Exception:  # the standard library's parser of headers raises many errors for broken ones
        return ""


def _sender(message: Message) -> str:
    name, address = next(iter(getaddresses([_header(message, "From")])), ("", ""))
    return flatten(name or address)


def _body(message: Message) -> tuple[str, list[str]]:
    """The text of a message, and the names of what is attached to it."""
    plain: list[str] = []
    html: list[str] = []
    attached: list[str] = []
    for count, part in enumerate(message.walk()):
        if count > _MOST_PARTS:
            break
        if part.is_multipart():
            continue
        name = part.get_filename()
        if name or part.get_content_disposition() == "attachment":
            attached.append(flatten(str(name or "without a name"))[:100])
        elif part.get_content_type() == "text/plain":
            plain.append(_text(part))
        elif part.get_content_type() == "text/html":
            html.append(_text(part))
    return "\n\n".join(plain) if any(each.strip() for each in plain) else "\n".join(map(words_of, html)), attached


def _text(part: Message) -> str:
    content = part.get_payload(decode=True)
    if not isinstance(content, bytes):
        return ""
    content, charset = content[:_MOST_BODY], part.get_content_charset() or "utf-8"
    if not re.fullmatch(r"[\w-]{1,30}", charset) or charset.replace("-", "_") in _NO_CHARSETS:
        charset = "utf-8"
    try:
        return content.decode(charset, "replace")
    except LookupError:
        return content.decode("utf-8", "replace")


def _apart(body: str) -> tuple[str, str]:
    """The message's own text, and what it quotes."""
    own: list[str] = []
    quoted: list[str] = []
    is_quoting = False
    for line in body.replace("\r\n", "\n").split("\n"):
        said = line.strip()
        if not is_quoting and len(said) < _LONGEST_QUOTING and _QUOTING.fullmatch(said):
            is_quoting = said.startswith("-")  # below such a line everything is the earlier message
            quoted.append(said)
        elif is_quoting or said.startswith(">"):
            quoted.append(said)
        else:
            own.append(line)
    return "\n".join(own).strip(), "\n".join(quoted).strip()
