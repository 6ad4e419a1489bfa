"""Payment requests: what a server asks for, as a text that wallets read (NUT-18), for the `X-Cashu` header of a 402 (NUT-24).

```
creqA…   CBOR in base64url (NUT-18)
CREQB1…  tag, length, value in Bech32m, shorter in a QR code (NUT-26)
```
Ours are paid in band, which means that the token comes in the same header of the next HTTP request, so they name no transport. The payment
requests of other servers may name one.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any, Literal

from stepwell.errors import TokenInvalidError, needs_extra
from stepwell.payments.cashu.bech32m import decode_bech32m, encode_bech32m

with needs_extra("Payments", "payments"):
    import cbor2

TransportKind = Literal["nostr", "post"]

_HUMAN_PART = "creqb"
_ID, _AMOUNT, _UNIT, _SINGLE_USE, _MINT, _DESCRIPTION, _TRANSPORT, _LOCK = 1, 2, 3, 4, 5, 6, 7, 8
_SAT = b"\x00"
_LOCK_KINDS = ("P2PK", "HTLC")
_TRANSPORT_KINDS: tuple[TransportKind, ...] = ("nostr", "post")
_RELAY = "r"
_NOSTR_KEY, _NOSTR_RELAY = 0, 1
"""Fields of a nostr profile (NIP-19)."""
_MAX_CHARACTERS = 20_000


@dataclass(frozen=True)
class Lock:
    """The condition that the money must carry (NUT-10)."""

    kind: str
    data: str
    tags: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class Transport:
    """Where to send the money: to a nostr profile (`nprofile`), or with a POST to an address."""

    kind: TransportKind
    target: str
    tags: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class PaymentRequest:
    """What the server asks for. Every field is optional."""

    amount: int | None = None
    unit: str | None = "sat"
    mints: tuple[str, ...] = ()
    id: str | None = None
    description: str | None = None
    single_use: bool | None = None
    lock: Lock | None = None
    transports: tuple[Transport, ...] = ()
    """If empty, the request is paid in band."""


def encode_request(request: PaymentRequest) -> str:
    """The request as `creqA`, which every wallet reads."""
    fields: dict[str, Any] = {
        "i": request.id,
        "a": request.amount,
        "u": request.unit,
        "m": list(request.mints) or None,
        "d": request.description,
        "s": request.single_use,
    }
    if request.transports:
        fields["t"] = [_transport_fields(transport) for transport in request.transports]
    if request.lock:
        fields["nut10"] = {"k": request.lock.kind, "d": request.lock.data, "t": [list(tag) for tag in request.lock.tags]}
    content = cbor2.dumps({name: value for name, value in fields.items() if value is not None})
    return "creqA" + base64.urlsafe_b64encode(content).decode().rstrip("=")


def encode_short_request(request: PaymentRequest) -> str:
    """The request as `creqB`, in capital letters, which make a smaller QR code."""
    content = b""
    if request.id is not None:
        content += _field(_ID, request.id.encode())
    if request.amount is not None:
        content += _field(_AMOUNT, request.amount.to_bytes(8, "big"))
    if request.unit is not None:
        content += _field(_UNIT, _SAT if request.unit == "sat" else request.unit.encode())
    if request.single_use is not None:
        content += _field(_SINGLE_USE, bytes([request.single_use]))
    for mint in request.mints:
        content += _field(_MINT, mint.encode())
    if request.description is not None:
        content += _field(_DESCRIPTION, request.description.encode())
    for transport in request.transports:
        content += _field(_TRANSPORT, _transport_bytes(transport))
    if request.lock is not None:
        content += _field(_LOCK, _lock_bytes(request.lock))
    return encode_bech32m(_HUMAN_PART, content).upper()


def decode_request(text: str) -> PaymentRequest:
    """The request in a text of either form; `TokenInvalidError` for every other text."""
    text = text.strip()
    try:
        if len(text) > _MAX_CHARACTERS:
            raise ValueError("too long")
        if text[:5].lower() == "creqa":
            return _from_cbor(text[5:])
        return _from_fields(decode_bech32m(_HUMAN_PART, text))
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError, cbor2.CBORError) as error:
        raise TokenInvalidError("This is not a Cashu payment request, or it is damaged.", "request_malformed") from error


def _from_cbor(text: str) -> PaymentRequest:
    plain = text.rstrip("=").replace("+", "-").replace("/", "_")
    data = cbor2.loads(base64.b64decode(plain + "=" * (-len(plain) % 4), altchars=b"-_", validate=True))
    lock = data.get("nut10")
    return PaymentRequest(
        amount=data.get("a"),
        unit=data.get("u"),
        mints=tuple(data.get("m") or ()),
        id=data.get("i"),
        description=data.get("d"),
        single_use=data.get("s"),
        lock=Lock(lock["k"], lock["d"], tuple(tuple(tag) for tag in lock.get("t") or ())) if lock else None,
        transports=tuple(
            Transport(_require_kind(transport["t"]), transport["a"], tuple(tuple(tag) for tag in transport.get("g") or ()))
            for transport in data.get("t") or ()
        ),
    )


def _from_fields(content: bytes) -> PaymentRequest:
    known: dict[int, list[bytes]] = {}
    for tag, value in _fields(content):
        known.setdefault(tag, []).append(value)
    first = {tag: values[0] for tag, values in known.items()}
    text = {tag: first[tag].decode() for tag in (_ID, _DESCRIPTION) if tag in first}
    return PaymentRequest(
        amount=int.from_bytes(first[_AMOUNT], "big") if _AMOUNT in first else None,
        unit=None if _UNIT not in first else "sat" if first[_UNIT] == _SAT else first[_UNIT].decode(),
        mints=tuple(mint.decode() for mint in known.get(_MINT, ())),
        id=text.get(_ID),
        description=text.get(_DESCRIPTION),
        single_use=first[_SINGLE_USE] == b"\x01" if _SINGLE_USE in first else None,
        lock=_lock(first[_LOCK]) if _LOCK in first else None,
        transports=tuple(_transport(value) for value in known.get(_TRANSPORT, ())),
    )


def _field(tag: int, value: bytes) -> bytes:
    return bytes([tag]) + len(value).to_bytes(2, "big") + value


def _fields(content: bytes) -> list[tuple[int, bytes]]:
    found, at = [], 0
    while at < len(content):
        end = at + 3 + int.from_bytes(content[at + 1 : at + 3], "big")
        if end > len(content) or at + 3 > len(content):
            raise ValueError("a field is cut off")
        found.append((content[at], content[at + 3 : end]))
        at = end
    return found


def _lock_bytes(lock: Lock) -> bytes:
    return _field(1, bytes([_LOCK_KINDS.index(lock.kind)])) + _field(2, lock.data.encode()) + _tags_bytes(lock.tags)


def _lock(content: bytes) -> Lock:
    fields = _fields(content)
    values = dict(fields)
    return Lock(_LOCK_KINDS[values[1][0]], values[2].decode(), tuple(_tag(value) for tag, value in fields if tag == 3))


def _require_kind(text: Any) -> TransportKind:
    return _TRANSPORT_KINDS[_TRANSPORT_KINDS.index(text)]


def _transport_fields(transport: Transport) -> dict[str, Any]:
    fields: dict[str, Any] = {"t": transport.kind, "a": transport.target}
    return fields | ({"g": [list(tag) for tag in transport.tags]} if transport.tags else {})


def _transport_bytes(transport: Transport) -> bytes:
    target, tags = transport.target.encode(), transport.tags
    if transport.kind == "nostr":
        target, relays = _read_profile(transport.target)
        tags = (*tags, *((_RELAY, relay) for relay in relays))
    return _field(1, bytes([_TRANSPORT_KINDS.index(transport.kind)])) + _field(2, target) + _tags_bytes(tags)


def _transport(content: bytes) -> Transport:
    fields = _fields(content)
    values = dict(fields)
    kind, tags = _TRANSPORT_KINDS[values[1][0]], tuple(_tag(value) for tag, value in fields if tag == 3)
    if kind == "post":
        return Transport(kind, values[2].decode(), tags)
    relays = [relay for tag in tags if tag[0] == _RELAY for relay in tag[1:]]
    return Transport(kind, _write_profile(values[2], relays), tuple(tag for tag in tags if tag[0] != _RELAY))


def _read_profile(text: str) -> tuple[bytes, list[str]]:
    """The key and relays of a nostr profile. Length fields have one byte in a profile, two in a payment request."""
    if text.startswith("npub1"):
        return decode_bech32m("npub", text, older=True), []
    content, at, found = decode_bech32m("nprofile", text, older=True), 0, []
    while at < len(content):
        end = at + 2 + content[at + 1]
        found.append((content[at], content[at + 2 : end]))
        at = end
    return dict(found)[_NOSTR_KEY], [value.decode() for tag, value in found if tag == _NOSTR_RELAY]


def _write_profile(key: bytes, relays: list[str]) -> str:
    content = bytes([_NOSTR_KEY, len(key)]) + key
    for relay in relays:
        content += bytes([_NOSTR_RELAY, len(relay.encode())]) + relay.encode()
    return encode_bech32m("nprofile", content, older=True)


def _tags_bytes(tags: tuple[tuple[str, ...], ...]) -> bytes:
    return b"".join(_field(3, b"".join(bytes([len(part.encode())]) + part.encode() for part in tag)) for tag in tags)


def _tag(content: bytes) -> tuple[str, ...]:
    parts, at = [], 0
    while at < len(content):
        end = at + 1 + content[at]
        if end > len(content):
            raise ValueError("a tag is cut off")
        parts.append(content[at + 1 : end].decode())
        at = end
    return tuple(parts)
