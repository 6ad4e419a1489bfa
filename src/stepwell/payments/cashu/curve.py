"""Points and scalars: how a secret becomes a point, is blinded, signed and unblinded (NUT-00), and how a mint proves that it signed with
the key it publishes (NUT-12).

```
Y = hash_to_curve(secret)          B_ = Y + rG              we send B_
C_ = kB_                           C = C_ - rK = kY         the mint sends C_; (secret, C) is the money
```
Points travel as compressed hexadecimal text and are parsed only here, which rejects invalid ones.
"""

from __future__ import annotations

import hashlib

from stepwell.errors import TokenInvalidError, needs_extra

with needs_extra("Payments", "payments"):
    from coincurve import PrivateKey, PublicKey, PublicKeyXOnly

_DOMAIN = b"Secp256k1_HashToCurve_Cashu_"
ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141


def parse_point(text: str) -> PublicKey:
    """A compressed point in hexadecimal; `TokenInvalidError` for anything else."""
    try:
        if len(text) != 66:
            raise ValueError("not 33 bytes")
        return PublicKey(bytes.fromhex(text))
    except (ValueError, TypeError) as error:
        raise TokenInvalidError(
            "A point of the curve is malformed. Ask the wallet for a new token.", "token_malformed"
        ) from error


def point_text(point: PublicKey) -> str:
    return point.format().hex()


def parse_scalar(text: str) -> bytes:
    """Thirty-two bytes in hexadecimal, neither zero nor beyond the order of the curve."""
    try:
        scalar = bytes.fromhex(text)
    except (ValueError, TypeError) as error:
        raise TokenInvalidError(
            "A number of a proof is malformed. Ask the wallet for a new token.", "token_malformed"
        ) from error
    if len(scalar) != 32 or not 0 < int.from_bytes(scalar, "big") < ORDER:
        raise TokenInvalidError("A number of a proof is out of range. Ask the wallet for a new token.", "token_malformed")
    return scalar


def hash_to_curve(message: bytes) -> PublicKey:
    """The point that stands for a secret. About half of all hashes are not points, so we count up until a hash is one."""
    start = hashlib.sha256(_DOMAIN + message).digest()
    for counter in range(2**16):
        try:
            return PublicKey(b"\x02" + hashlib.sha256(start + counter.to_bytes(4, "little")).digest())
        except ValueError:
            continue
    raise AssertionError("65,536 tries without a point have a chance of 2^-65536")


def secret_point(secret: str) -> str:
    """`Y` of a secret, which identifies the money to a mint without revealing the secret (NUT-07)."""
    return point_text(hash_to_curve(secret.encode()))


def blind(secret: str, factor: bytes) -> str:
    """`B_`: what the mint signs."""
    return point_text(_add(hash_to_curve(secret.encode()), PublicKey.from_secret(factor)))


def unblind(blinded_signature: str, factor: bytes, key: str) -> str:
    """`C`, from the mint's answer."""
    return point_text(_subtract(parse_point(blinded_signature), parse_point(key).multiply(factor)))


def sign(blinded: str, private_key: bytes) -> str:
    """`C_`: the mint's part."""
    return point_text(parse_point(blinded).multiply(private_key))


def proves_signature(blinded: str, signature: str, key: str, e: str, s: str) -> bool:
    """Whether `signature` was made on `blinded` with the private key of `key` (NUT-12)."""
    challenge, response = parse_scalar(e), parse_scalar(s)
    mint_key, signed = parse_point(key), parse_point(signature)
    try:
        first = _subtract(PublicKey.from_secret(response), mint_key.multiply(challenge))
        second = _subtract(parse_point(blinded).multiply(response), signed.multiply(challenge))
    except ValueError:  # the sum is not a point, which never happens with an honest mint
        return False
    return hash_points(first, second, mint_key, signed) == challenge


def proves_money(secret: str, signature: str, key: str, e: str, s: str, factor: str) -> bool:
    """Like `proves_signature`, for money that another wallet unblinded and that comes with its blinding factor."""
    r = parse_scalar(factor)
    blinded = blind(secret, r)
    signed = _add(parse_point(signature), parse_point(key).multiply(r))
    return proves_signature(blinded, point_text(signed), key, e, s)


def hash_points(*points: PublicKey) -> bytes:
    """The challenge of NUT-12: a hash over the uncompressed points as hexadecimal text."""
    return hashlib.sha256("".join(point.format(compressed=False).hex() for point in points).encode()).digest()


def prove_signature(blinded: str, private_key: bytes, nonce: bytes) -> tuple[str, str]:
    """The mint's part of NUT-12: `e` and `s` for the result of `sign`."""
    point = parse_point(blinded)
    e = hash_points(
        PublicKey.from_secret(nonce), point.multiply(nonce), PublicKey.from_secret(private_key), point.multiply(private_key)
    )
    s = (int.from_bytes(nonce, "big") + int.from_bytes(e, "big") * int.from_bytes(private_key, "big")) % ORDER
    return e.hex(), s.to_bytes(32, "big").hex()


def sign_message(message: bytes, private_key: bytes) -> str:
    """A Schnorr signature over the hash of a message (NUT-11)."""
    return PrivateKey(private_key).sign_schnorr(hashlib.sha256(message).digest()).hex()


def is_signed(message: bytes, signature: str, key: str) -> bool:
    try:
        return PublicKeyXOnly(parse_point(key).format()[1:]).verify(bytes.fromhex(signature), hashlib.sha256(message).digest())
    except ValueError:
        return False


def _add(one: PublicKey, two: PublicKey) -> PublicKey:
    return PublicKey.combine_keys([one, two])


def _subtract(one: PublicKey, two: PublicKey) -> PublicKey:
    sign, rest = two.format()[:1], two.format()[1:]
    return _add(one, PublicKey((b"\x03" if sign == b"\x02" else b"\x02") + rest))
