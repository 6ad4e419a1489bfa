"""Keys at rest: sealed with AES-256-GCM under the installation's own key.

```
STEPWELL_SECRETS_KEY=new,old   32 random bytes in base64 each; the first one seals, all of them open (rotation)
a file `secrets.key`           in the data folder, readable by its owner alone, made when the first key is stored; SQLite only
neither, on Postgres           storing is refused: servers on other machines could not read a key that one of them sealed
```
A sealed key is bound to its connection and its owner: in another row it cannot be opened.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import secrets
from collections.abc import Iterator, Sequence
from pathlib import Path

from stepwell.errors import ConfigurationError, StepwellError
from stepwell.private_files import close_to_others, make_private_folder, open_private
from stepwell.settings import Secret

FILE = "secrets.key"
_FORM = b"\x01"
_NAME_BYTES, _NONCE_BYTES, _KEY_BYTES = 4, 12, 32
_HINT_FROM, _SHOWN = 12, 4
_MAKE_ONE = "Make one with: openssl rand -base64 32"


class SealedKeyError(StepwellError):
    """A stored key cannot be opened."""


class Keyring:
    """The installation's keys, the one that seals first."""

    def __init__(self, given: Secret | None, file: Path | None) -> None:
        """`file` is where a key is kept if none is given; None if it may not be kept in a file.

        Raises:
            ConfigurationError: A given key is not one.
        """
        self._given = tuple(_read_key(part, "STEPWELL_SECRETS_KEY") for part in given.reveal().split(",")) if given else ()
        self._file = file

    @property
    def why_not(self) -> str | None:
        """Why keys cannot be stored here; None if they can."""
        if self._given or self._file:
            return None
        return (
            "Keys cannot be stored yet, because this installation has no key of its own to encrypt them with. The operator can set "
            f"STEPWELL_SECRETS_KEY, the same on all servers and workers. {_MAKE_ONE}"
        )

    def seal(self, secret: Secret, bound_to: Sequence[str]) -> bytes:
        """The secret as it is stored. Reads or makes a file, so call it in a thread.

        Raises:
            ConfigurationError: There is no key to seal with, or its file is damaged.
        """
        if why_not := self.why_not:
            raise ConfigurationError(why_not)
        try:
            key = self._given[0] if self._given else self._make()
        except SealedKeyError as error:
            raise ConfigurationError(f"The key cannot be stored: {error}.") from error
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # takes 7 MB, and not every server has keys

        nonce = os.urandom(_NONCE_BYTES)
        return _FORM + _name(key) + nonce + AESGCM(key).encrypt(nonce, secret.reveal().encode(), _associated(bound_to))

    def open(self, sealed: bytes, bound_to: Sequence[str]) -> Secret:
        """The secret. Reads a file, so call it in a thread.

        Raises:
            SealedKeyError: None of our keys opens it.
        """
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        head = len(_FORM) + _NAME_BYTES
        name, nonce, text = sealed[len(_FORM) : head], sealed[head : head + _NONCE_BYTES], sealed[head + _NONCE_BYTES :]
        for key in self._keys():
            if _name(key) == name and sealed.startswith(_FORM):
                try:
                    return Secret(AESGCM(key).decrypt(nonce, text, _associated(bound_to)).decode())
                except (InvalidTag, ValueError):
                    break
        raise SealedKeyError("it was encrypted with another STEPWELL_SECRETS_KEY, or is damaged")

    def sealed_by_first(self, sealed: bytes) -> bool:
        """Whether the key that seals now has sealed this. If not, it should be sealed again, so that the old key can be removed.

        Raises:
            SealedKeyError: The file with the key is damaged.
        """
        first = next(self._keys(), None)
        return first is not None and sealed[len(_FORM) : len(_FORM) + _NAME_BYTES] == _name(first)

    def _keys(self) -> Iterator[bytes]:
        """The given ones first: where they suffice, the file does not matter."""
        yield from self._given
        yield from self._kept()

    def _kept(self) -> tuple[bytes, ...]:
        if self._file is None:
            return ()
        try:
            text = self._file.read_text("ascii")
            key = _read_key(text, "The file")
        except FileNotFoundError:
            return ()
        except (OSError, UnicodeDecodeError, ConfigurationError) as error:
            raise SealedKeyError(
                f"the file '{self._file.name}' in the data folder is damaged (restore it from a backup, or delete it and enter all "
                "keys again)"
            ) from error
        close_to_others(self._file)
        return (key,)

    def _make(self) -> bytes:
        """The key in the file, which is made if it is missing."""
        assert self._file is not None  # noqa: S101  `why_not` has checked it
        made = secrets.token_bytes(_KEY_BYTES)
        try:
            make_private_folder(self._file.parent)
            with open_private(self._file) as file:
                file.write(base64.b64encode(made) + b"\n")
                file.flush()
                os.fsync(file.fileno())
        except FileExistsError:
            return self._kept()[0]
        except OSError as error:
            raise SealedKeyError(f"the file '{self._file.name}' in the data folder cannot be written") from error
        return made


def hint_of(secret: Secret) -> str | None:
    """The end of a key, by which its owner recognises it; None if the key is too short to show any of it."""
    text = secret.reveal()
    return f"…{text[-_SHOWN:]}" if len(text) >= _HINT_FROM else None


def _read_key(text: str, where: str) -> bytes:
    try:
        key = base64.b64decode(text.strip(), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if len(key) != _KEY_BYTES:
        raise ConfigurationError(f"{where} must contain keys of 32 random bytes in base64, separated by commas. {_MAKE_ONE}")
    return key


def _name(key: bytes) -> bytes:
    """Says which key sealed something, without saying anything about the key."""
    return hashlib.sha256(b"stepwell sealing key" + key).digest()[:_NAME_BYTES]


def _associated(bound_to: Sequence[str]) -> bytes:
    return "\x00".join(bound_to).encode()
