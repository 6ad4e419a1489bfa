"""Who vouches for a bundle: an Ed25519 signature over its manifest, which names every member by its hash.

```
signature.json    {"algorithm": "ed25519", "key": "ed25519:BASE64", "signature": BASE64}
what is signed    PURPOSE, then the bytes of manifest.json
```

An installation has one key, which is created when it first signs. It is stored in the data folder, readable only by its owner, or in the
database that several servers share (`research/installation_key`). Anyone can make a key, so a signature alone shows only that one party
sealed everything. To know who that is, a reader compares the public key with one published by the owner (`stepwell doctor` prints it). A
signature does not say when it was made: see "When it was made" in docs/explanation/evidence.md.

Reading and writing `signature.json` needs no package; signing and checking need `cryptography`, which is imported only then.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from stepwell.errors import EvidenceError, SigningKeyError, needs_extra
from stepwell.private_files import make_private_folder
from stepwell.research.audit.canonical import canonical

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

KEY_FILE = "signing.key"
MEMBER = "signature.json"
PURPOSE = b"stepwell bundle\n"
"""A prefix of what is signed, so that a signature made for something else can never pass for the signature of a bundle."""
_PREFIX = "ed25519:"
_KEY_BYTES, _SIGNATURE_BYTES = 32, 64
_WHAT = "Signing a bundle, or checking who did,"


class Signer(Protocol):
    """Signs for an owner. It may be an installation's key file, or a device that never reveals its key."""

    def sign(self, message: bytes) -> Signature:
        """Called in a thread. `SigningKeyError` says what is wrong with the key."""
        ...


@dataclass(frozen=True, slots=True)
class Signature:
    """A signature and the public key it claims to be from, in its printed form."""

    key: str
    signature: bytes

    def to_bytes(self) -> bytes:
        """The member `signature.json` of a bundle."""
        value = base64.b64encode(self.signature).decode()
        return canonical({"algorithm": "ed25519", "key": self.key, "signature": value}) + b"\n"

    def fits(self, message: bytes) -> bool:
        """Whether the key signed this message."""
        with needs_extra(_WHAT, "research"):
            from cryptography.exceptions import InvalidSignature
            from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
        try:
            Ed25519PublicKey.from_public_bytes(_public_bytes(self.key)).verify(self.signature, message)
        except (InvalidSignature, ValueError):
            return False
        return True


class SigningKey:
    """The key of an installation, in a file of its data folder. It is created when something is first signed. If the operator has chosen
    a file (`chosen`), it is never created, because a mistyped path, or a file missing on one of several servers, must not become a second
    key."""

    def __init__(self, folder: Path, chosen: Path | None = None) -> None:
        self.file = chosen or folder / KEY_FILE
        self.is_chosen = chosen is not None

    def sign(self, message: bytes) -> Signature:
        pem = self.read() or self._make()
        return sign_with(pem, message, self.file.name)

    def public_key(self) -> str | None:
        """The public key in its printed form; `None` until something has been signed."""
        pem = self.read()
        return None if pem is None else public_part(pem, self.file.name)

    def read(self) -> bytes | None:
        """The private key as stored; `None` if there is none yet."""
        return self._read() if self.is_chosen or self.file.exists() else None

    def _read(self) -> bytes:
        try:
            return self.file.read_bytes()
        except OSError as error:
            raise SigningKeyError(
                f"The key '{self.file.name}' that signs bundles cannot be read ({error.strerror})."
            ) from error

    def _make(self) -> bytes:
        """Creates a key in a temporary file and moves it into place. If two processes start at once, both use the first one's key."""
        try:
            make_private_folder(self.file.parent)
            descriptor, name = tempfile.mkstemp(dir=self.file.parent, prefix=f".{KEY_FILE}.")  # with mode 0600
            aside = Path(name)
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(new_private_key())
                    file.flush()
                    os.fsync(file.fileno())
                try:
                    os.link(aside, self.file)
                except FileExistsError:
                    return self._read()
                return aside.read_bytes()
            finally:
                aside.unlink()
        except OSError as error:
            raise SigningKeyError(
                f"The key '{self.file.name}' that signs bundles cannot be made in the data folder ({error.strerror}). "
                "Make that folder writable, or name another with STEPWELL_DATA_DIR."
            ) from error


def sign_with(pem: bytes, message: bytes, name: str) -> Signature:
    """A signature with a private key that is stored under this name."""
    private = _load_private(pem, name)
    return Signature(_print_key(private.public_key().public_bytes_raw()), private.sign(message))


def public_part(pem: bytes, name: str) -> str:
    """The public key of a private one, in its printed form."""
    return _print_key(_load_private(pem, name).public_key().public_bytes_raw())


def read_signature(content: bytes) -> Signature:
    """Parses a member `signature.json`; `EvidenceError` if it is invalid, or not in the one form that we write."""
    try:
        told = json.loads(content)
        found = Signature(told["key"], base64.b64decode(told["signature"], validate=True))
        _public_bytes(found.key)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, EvidenceError) as error:
        raise EvidenceError("is no signature in the form of a bundle's") from error
    if len(found.signature) != _SIGNATURE_BYTES or found.to_bytes() != content:
        raise EvidenceError("is no signature in the form of a bundle's")
    return found


def read_public_key(given: str | Path) -> str:
    """A public key in its printed form. Accepts that form, a PEM, or the `Path` of a file that contains either; `EvidenceError`
    otherwise. A `str` is never treated as a path, because it may come from a stranger."""
    text = _read_key_file(given) if isinstance(given, Path) else given.strip()
    if text.startswith("-----BEGIN"):
        return _read_pem(text)
    _public_bytes(text)
    return text


def _read_key_file(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not text"
        raise EvidenceError(
            f"The key's file '{file.name}' cannot be read ({why}). Give a key as `stepwell doctor` prints it."
        ) from error


def _read_pem(text: str) -> str:
    if "PRIVATE KEY" in text:
        raise EvidenceError(
            "This is a private key. Keep it to yourself, and give the public one that `stepwell doctor` prints."
        )
    with needs_extra(_WHAT, "research"):
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
        from cryptography.hazmat.primitives.serialization import load_pem_public_key
    try:
        key = load_pem_public_key(text.encode())
    except (ValueError, UnsupportedAlgorithm) as error:
        raise EvidenceError("The PEM holds no public key that can be read.") from error
    if not isinstance(key, Ed25519PublicKey):
        raise EvidenceError("The PEM holds a key of another kind; bundles are signed with Ed25519.")
    return _print_key(key.public_bytes_raw())


def _public_bytes(printed: str) -> bytes:
    try:
        raw = base64.b64decode(printed.removeprefix(_PREFIX), validate=True) if printed.startswith(_PREFIX) else b""
    except (binascii.Error, ValueError):
        raw = b""
    if len(raw) != _KEY_BYTES or _print_key(raw) != printed:
        raise EvidenceError(f"'{printed[:80]}' is not a key: write ed25519: and 44 characters of base64.")
    return raw


def _print_key(raw: bytes) -> str:
    return _PREFIX + base64.b64encode(raw).decode()


def new_private_key() -> bytes:
    """The key in its stored form: PEM, not encrypted."""
    with needs_extra(_WHAT, "research"):
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
    # Not encrypted, because a server signs without a person to type a password. File permissions and disk encryption protect the key.
    return Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _load_private(pem: bytes, name: str) -> Ed25519PrivateKey:
    with needs_extra(_WHAT, "research"):
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.serialization import load_pem_private_key
    try:
        key = load_pem_private_key(pem, None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise SigningKeyError(f"'{name}' is not a readable private key. Restore it from a copy.") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise SigningKeyError(f"'{name}' is a key of another kind; bundles are signed with Ed25519.")
    return key
