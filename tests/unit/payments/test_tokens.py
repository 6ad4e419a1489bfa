"""What is not exactly a token is refused with a code of its own, and nothing of it is repeated."""

from __future__ import annotations

import base64
import json
from contextlib import suppress

import cbor2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell.errors import TokenInvalidError
from stepwell.payments.cashu.money import split, swap_fee
from stepwell.payments.cashu.tokens import MOST_PROOFS, decode_token, encode_token

POINT = "0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"
PIECE = {"amount": 8, "id": "009a1f293253e41e", "secret": "s" * 64, "C": POINT}


def first_form(*entries: dict, **more: object) -> str:
    return "cashuA" + base64.urlsafe_b64encode(json.dumps({"token": entries, "unit": "sat", **more}).encode()).decode()


def entry(*pieces: dict, mint: str = "https://m.example") -> dict:
    return {"mint": mint, "proofs": list(pieces)}


def second_form(content: object) -> str:
    return "cashuB" + base64.urlsafe_b64encode(cbor2.dumps(content)).decode()


GOOD = first_form(entry(PIECE))

REFUSED = {
    "nothing": ("", "token_malformed"),
    "garbage": ("gibberish", "token_malformed"),
    "no prefix": (GOOD[6:], "token_malformed"),
    "misspelt prefix": ("casshuA" + GOOD[6:], "token_malformed"),
    "cut off": (GOOD[:-40], "token_damaged"),
    "not base64": ("cashuA!!!!", "token_damaged"),
    "not json": ("cashuA" + base64.urlsafe_b64encode(b"{").decode(), "token_damaged"),
    "a list": ("cashuA" + base64.urlsafe_b64encode(b"[]").decode(), "token_damaged"),
    "no pieces": (first_form(entry()), "token_malformed"),
    "no mint": (first_form(entry(PIECE, mint="")), "token_malformed"),
    "several mints": (
        first_form(entry(PIECE), entry(PIECE | {"secret": "t"}, mint="https://n.example")),
        "token_several_mints",
    ),
    "the same piece twice": (first_form(entry(PIECE, PIECE)), "token_malformed"),
    "zero": (first_form(entry(PIECE | {"amount": 0})), "token_malformed"),
    "negative": (first_form(entry(PIECE | {"amount": -8})), "token_malformed"),
    "true": (first_form(entry(PIECE | {"amount": True})), "token_malformed"),
    "a fraction": (first_form(entry(PIECE | {"amount": 0.5})), "token_malformed"),
    "more than there is": (first_form(entry(PIECE | {"amount": 2**60})), "token_malformed"),
    "no secret": (first_form(entry(PIECE | {"secret": ""})), "token_malformed"),
    "a secret that is a number": (first_form(entry(PIECE | {"secret": 5})), "token_damaged"),
    "half a surrogate": (first_form(entry(PIECE | {"secret": "\ud800"})), "token_damaged"),
    "a long secret": (first_form(entry(PIECE | {"secret": "s" * 2000})), "token_malformed"),
    "no point": (first_form(entry(PIECE | {"C": "02" + "ff" * 32})), "token_malformed"),
    "a long witness": (first_form(entry(PIECE | {"witness": "w" * 2000})), "token_malformed"),
    "a witness that is a list": (first_form(entry(PIECE | {"witness": [1]})), "token_damaged"),
    "a unit that is a number": (first_form(entry(PIECE), unit=5), "token_damaged"),
    "too long": ("cashuA" + "A" * 300_000, "token_too_large"),
    "too many pieces": (
        first_form(entry(*(PIECE | {"secret": f"s{n}"} for n in range(MOST_PROOFS + 1)))),
        "token_too_large",
    ),
    "cbor of another shape": (second_form({"t": 5, "m": "m", "u": "sat"}), "token_damaged"),
    "cbor that lies about its length": (
        "cashuB" + base64.urlsafe_b64encode(b"\x9b\x00\x00\x00\x10\x00\x00\x00\x00").decode(),
        "token_damaged",
    ),
    "cbor that is very deep": ("cashuB" + base64.urlsafe_b64encode(b"\x81" * 100_000).decode(), "token_damaged"),
}


@pytest.mark.parametrize(("text", "code"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_no_token_is_refused(text: str, code: str):
    with pytest.raises(TokenInvalidError) as refused:
        decode_token(text)
    assert refused.value.code == code
    assert "ssss" not in str(refused.value)


@given(st.text(max_size=200) | st.binary(max_size=200).map(lambda raw: "cashuB" + base64.urlsafe_b64encode(raw).decode()))
def test_any_text_is_a_token_or_is_refused(text: str):
    with suppress(TokenInvalidError):
        decode_token(text)


def test_both_forms_of_the_same_money_have_one_fingerprint():
    token = decode_token(GOOD)
    again = decode_token(encode_token(token))
    assert again.proofs == token.proofs
    assert again.fingerprint == token.fingerprint == decode_token("  cashu:" + GOOD + "\n").fingerprint


def test_a_token_shows_no_secret():
    token = decode_token(GOOD)
    assert "ssss" not in repr(token) + repr(token.proofs)


@given(st.integers(min_value=0, max_value=2**40))
def test_an_amount_is_split_exactly(amount: int):
    pieces = split(amount, [2**n for n in range(41)])
    assert sum(pieces) == amount
    assert len(set(pieces)) == len(pieces)


def test_a_fee_is_rounded_up_once():
    proofs = decode_token(first_form(entry(*(PIECE | {"secret": f"s{n}"} for n in range(11))))).proofs
    assert [swap_fee(proofs[:n], {"009a1f293253e41e": 100}) for n in (0, 1, 10, 11)] == [0, 1, 1, 2]
    assert swap_fee(proofs, {"009a1f293253e41e": 0}) == 0
