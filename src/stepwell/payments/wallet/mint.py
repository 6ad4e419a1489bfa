"""The operations we need from a mint: keys, swap, restore, and what is spent. `HttpMint` talks to a real one (NUT-01, 02, 03, 07, 09, 12).

```
no connection, too slow, 5xx, 429    -> MintUnavailableError     the mint may have done it: after a swap, `swapping` finds out
HTML, not JSON, too long, bad shape  -> MintAnswerError          the same, and an operator should look at that mint
4xx with `detail` and `code`         -> MintRejectedError        the mint has not done it
```
Rules to keep: trust an answer only as far as it can be checked (derive ids again, verify signatures). Never follow redirects: a mint on
the allow-list must not lead us into the operator's network. Put no address and no secret into a message.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from types import TracebackType
from typing import Any, Literal, Protocol, Self, TypeVar
from urllib.parse import urlsplit

import orjson

from stepwell.errors import (
    ConfigurationError,
    MintAnswerError,
    MintRejectedError,
    MintUnavailableError,
    TokenInvalidError,
    needs_extra,
)
from stepwell.payments.cashu.curve import parse_point
from stepwell.payments.cashu.keysets import Keyset, KeysetInfo, derive_id
from stepwell.payments.cashu.money import BlindedMessage, BlindSignature, Dleq, Proof

with needs_extra("Payments", "payments"):
    import httpx

T = TypeVar("T")
ProofState = Literal["UNSPENT", "PENDING", "SPENT"]

_MAX_ANSWER_BYTES = 4 * 1024 * 1024
_MAX_KEYSETS = 1000
_MAX_KEYS = 256
_MAX_POINTS = 500
"""The most we ask a mint about at once; nutshell accepts at most a thousand."""
_LIST_TTL_S = 60.0
_READ_TRIES = 3
_VERSIONS = ("00", "01")


class Mint(Protocol):
    """What the wallet needs from a mint. `stepwell.testing.MemoryMint` is another implementation."""

    url: str

    async def keysets(self, *, fresh: bool = False) -> Mapping[str, KeysetInfo]:
        """All keysets of the mint by id, cached for a minute; `fresh` asks the mint again."""
        ...

    async def keyset(self, keyset_id: str) -> Keyset:
        """One keyset with its keys."""
        ...

    async def swap(self, inputs: Sequence[Proof], outputs: Sequence[BlindedMessage]) -> list[BlindSignature]:
        """Exchange money for signatures on new money; all of it or nothing."""
        ...

    async def restore(self, outputs: Sequence[BlindedMessage]) -> Mapping[str, BlindSignature]:
        """The signatures the mint has made before, by blinded point."""
        ...

    async def states(self, points: Sequence[str]) -> Mapping[str, ProofState]:
        """The state of each proof, by the point of its secret."""
        ...


def normalize_url(url: str) -> str:
    """The one spelling of a mint's address that can be compared with the allow-list."""
    parts = urlsplit(url.strip())
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.query or parts.fragment:
        raise TokenInvalidError("The token names a mint that has no usable address.", "mint_unknown")
    port = f":{parts.port}" if parts.port and parts.port != {"http": 80, "https": 443}[parts.scheme] else ""
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}{port}{parts.path.rstrip('/')}"


def check_mint_url(url: str) -> str:
    """`normalize_url` for an operator, whose error message names the address."""
    try:
        return normalize_url(url)
    except (TokenInvalidError, ValueError) as error:
        raise ConfigurationError(f"'{url}' is not a valid mint address. Write it like https://mint.example.com.") from error


class HttpMint:
    """A mint at an address. Close it, or use it as a context manager."""

    def __init__(
        self,
        url: str,
        *,
        timeout_s: float = 20.0,
        retry_pause_s: float = 0.2,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.url = check_mint_url(url)
        self._timeout_s = timeout_s
        self._retry_pause_s = retry_pause_s
        self._client = httpx.AsyncClient(
            timeout=httpx.Timeout(timeout_s, connect=min(timeout_s, 5.0)),
            follow_redirects=False,
            transport=transport,
            trust_env=False,
        )
        self._listed: Mapping[str, KeysetInfo] = {}
        self._listed_at = float("-inf")
        self._keys: dict[str, Keyset] = {}

    async def close(self) -> None:
        await self._client.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def keysets(self, *, fresh: bool = False) -> Mapping[str, KeysetInfo]:
        if fresh or monotonic() - self._listed_at > _LIST_TTL_S:
            self._listed = await self._read_again("GET", "/v1/keysets", _keyset_list)
            self._listed_at = monotonic()
        return self._listed

    async def keyset(self, keyset_id: str) -> Keyset:
        if keyset_id not in self._keys:
            info = (await self.keysets()).get(keyset_id) or (await self.keysets(fresh=True)).get(keyset_id)
            if info is None:
                raise TokenInvalidError("The mint does not know this keyset. Ask the wallet for a new token.", "keyset_unknown")
            self._keys[keyset_id] = await self._read_again("GET", f"/v1/keys/{keyset_id}", lambda data: _keyset(data, info))
        return self._keys[keyset_id]

    async def swap(self, inputs: Sequence[Proof], outputs: Sequence[BlindedMessage]) -> list[BlindSignature]:
        body = {"inputs": [proof.to_wire() for proof in inputs], "outputs": [output.to_wire() for output in outputs]}
        answer = await self._ask("POST", "/v1/swap", body)
        return _read(lambda data: [_signature(signature) for signature in data["signatures"]], answer)

    async def restore(self, outputs: Sequence[BlindedMessage]) -> Mapping[str, BlindSignature]:
        return await self._read_again(
            "POST",
            "/v1/restore",
            lambda data: {
                output["B_"]: _signature(signature)
                for output, signature in zip(data["outputs"], data["signatures"], strict=True)
            },
            {"outputs": [output.to_wire() for output in outputs]},
        )

    async def states(self, points: Sequence[str]) -> Mapping[str, ProofState]:
        states: dict[str, ProofState] = {}
        for start in range(0, len(points), _MAX_POINTS):
            body = {"Ys": list(points[start : start + _MAX_POINTS])}
            states |= await self._read_again(
                "POST", "/v1/checkstate", lambda data: {state["Y"]: state["state"] for state in data["states"]}, body
            )
        if set(states) != set(points) or not set(states.values()) <= {"UNSPENT", "PENDING", "SPENT"}:
            raise MintAnswerError("We asked the mint which proofs are spent, and it answered about other ones.")
        return states

    async def _read_again(self, method: str, path: str, reader: Callable[[Any], T], body: Any = None) -> T:
        """Send a read-only request and retry it after a fault or an unusable answer, which often comes from something between us and the
        mint."""
        for attempt in range(1, _READ_TRIES + 1):
            try:
                return _read(reader, await self._ask(method, path, body))
            except MintUnavailableError:
                if attempt == _READ_TRIES:
                    raise
                await asyncio.sleep(self._retry_pause_s * attempt)
        raise AssertionError("the last attempt returns or raises")

    async def _ask(self, method: str, path: str, body: Any = None) -> Any:
        content = None if body is None else orjson.dumps(body)
        request = self._client.build_request(
            method, self.url + path, content=content, headers={"Content-Type": "application/json", "Accept": "application/json"}
        )
        try:
            async with asyncio.timeout(self._timeout_s):  # httpx limits only each packet: a slow mint could hold us for ever
                response = await self._client.send(request, stream=True)
                try:
                    raw = await _receive(response)
                finally:
                    await response.aclose()
        except (httpx.TimeoutException, TimeoutError) as error:
            raise MintUnavailableError(
                f"The mint has not answered within {self._timeout_s:g} s. Anything begun will be finished later; try again in a moment.",
                "mint_slow",
            ) from error
        except (httpx.HTTPError, OSError) as error:
            raise MintUnavailableError(f"The mint does not answer ({type(error).__name__}). Try again in a moment.") from error
        return _judge(response.status_code, raw)


async def _receive(response: httpx.Response) -> bytes:
    raw = b""
    async for piece in response.aiter_bytes():
        raw += piece
        if len(raw) > _MAX_ANSWER_BYTES:
            raise MintAnswerError(f"The mint's answer is longer than {_MAX_ANSWER_BYTES} bytes.")
    return raw


def _judge(status: int, raw: bytes) -> Any:
    if status >= 500 or status == 429:
        raise MintUnavailableError(f"The mint cannot answer now (HTTP {status}). Try again in a moment.")
    try:
        data = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise MintAnswerError(
            f"The mint answered HTTP {status} with something that is not JSON. It was ignored; check the mint's address."
        ) from error
    if 300 <= status < 400:
        raise MintAnswerError("The mint redirects us to another address. We do not follow redirects of mints.")
    if status >= 400:
        raise _rejected(data)
    return data


def _rejected(data: Any) -> MintRejectedError:
    code = data.get("code") if isinstance(data, dict) else None
    number = code if isinstance(code, int) and not isinstance(code, bool) else 0
    # We leave out the mint's own words: they are foreign text, and may repeat what we sent.
    return MintRejectedError(f"The mint refuses the request (its code {number}).", number)


def _read(reader: Callable[[Any], T], data: Any) -> T:
    """Converts the mint's answer into our own types; `MintAnswerError` if its shape is wrong."""
    try:
        return reader(data)
    except (KeyError, TypeError, ValueError, AttributeError, TokenInvalidError) as error:
        raise MintAnswerError("The mint's answer has the wrong shape.") from error


def _keyset_list(data: Any) -> dict[str, KeysetInfo]:
    if len(data["keysets"]) > _MAX_KEYSETS:
        raise ValueError("too many keysets")
    infos = [_keyset_info(entry) for entry in data["keysets"] if str(entry["id"])[:2] in _VERSIONS]
    return {info.keyset_id: info for info in infos}


def _keyset_info(entry: Any) -> KeysetInfo:
    fee, expiry = entry.get("input_fee_ppk") or 0, entry.get("final_expiry")
    if not isinstance(fee, int) or fee < 0 or not isinstance(expiry, int | None):
        raise ValueError("a fee or an expiry that is not a number")
    bytes.fromhex(entry["id"])
    return KeysetInfo(entry["id"], str(entry["unit"]), bool(entry["active"]), fee, expiry)


def _keyset(data: Any, info: KeysetInfo) -> Keyset:
    (entry,) = (entry for entry in data["keysets"] if entry["id"] == info.keyset_id)
    keys = {int(amount): str(key) for amount, key in entry["keys"].items()}
    if not 0 < len(keys) <= _MAX_KEYS:
        raise ValueError("a keyset without keys, or with too many")
    for key in keys.values():
        parse_point(key)
    if derive_id(keys, info) != info.keyset_id:
        raise MintAnswerError("The mint's keys do not match the id, unit and fee it gives for them.", "mint_keys")
    return Keyset(info, keys)


def _signature(data: Any) -> BlindSignature:
    dleq = data.get("dleq")
    parse_point(data["C_"])
    return BlindSignature(
        int(data["amount"]), str(data["id"]), data["C_"], Dleq(str(dleq["e"]), str(dleq["s"])) if dleq else None
    )
