"""A mint is believed only as far as it can be checked, and every way in which it can fail has its own name."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import httpx
import orjson
import pytest

from stepwell.errors import (
    ConfigurationError,
    MintAnswerError,
    MintRejectedError,
    MintUnavailableError,
    PaymentError,
    TokenInvalidError,
)
from stepwell.payments.cashu.money import BlindedMessage
from stepwell.payments.wallet.mint import HttpMint, normalize_url

KEYS = {
    "1": "03a40f20667ed53513075dc51e715ff2046cad64eb68960632269ba7f0210e38bc",
    "2": "03fd4ce5a16b65576145949e6f99f445f8249fee17c606b688b504a849cdc452de",
    "4": "02648eccfa4c026960966276fa5a4cae46ce0fd432211a4f449bf84f13aa5f8303",
    "8": "02fdfd6796bfeac490cbee12f778f867f0a2c68f6508d17c649759ea0dc3547528",
}
V1 = "00456a94ab4e1c46"
V2 = "015ba18a8adcd02e715a58358eb618da4a4b3791151a4bee5e968bb88406ccf76a"
MESSAGE = BlindedMessage(1, V1, "02a9acc1e48c25eeeb9289b5031cc57da9fe72f3fe2861d264bdc074209b107ba2")
Answer = Callable[[httpx.Request], httpx.Response]


def listing(**fee: int) -> dict:
    return {
        "keysets": [
            {"id": V1, "unit": "sat", "active": True},
            {"id": V2, "unit": "sat", "active": False, "input_fee_ppk": 100, "final_expiry": 2059210353} | fee,
            {"id": "02" + "ab" * 32, "unit": "sat", "active": True, "input_fee_ppk": 0},
        ]
    }


def good(request: httpx.Request) -> httpx.Response:
    if request.url.path == "/v1/keysets":
        return httpx.Response(200, json=listing())
    return httpx.Response(200, json={"keysets": [{"id": name, "unit": "sat", "keys": KEYS} for name in (V1, V2)]})


def always(*args: object, **more: object) -> Answer:
    return lambda request: httpx.Response(*args, **more)


def mint(answer: Answer, timeout_s: float = 60.0) -> HttpMint:
    return HttpMint("https://mint.example/", timeout_s=timeout_s, retry_pause_s=0, transport=httpx.MockTransport(answer))


async def test_keysets_and_keys_are_read_and_kinds_we_do_not_know_are_left_out():
    async with mint(good) as bank:
        assert list(await bank.keysets()) == [V1, V2]
        for name in (V1, V2):
            keyset = await bank.keyset(name)
            assert keyset.key(8) == KEYS["8"]
            with pytest.raises(TokenInvalidError):
                keyset.key(3)


@pytest.mark.parametrize("lie", [{"input_fee_ppk": 99}, {"input_fee_ppk": 0}, {"final_expiry": 1}, {"unit": "usd"}])
async def test_a_mint_cannot_lie_about_what_its_id_says(lie: dict):
    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json=listing(**lie)) if request.url.path == "/v1/keysets" else good(request)

    async with mint(answer) as bank:
        with pytest.raises(MintAnswerError) as refused:
            await bank.keyset(V2)
    assert refused.value.code == "mint_keys"


async def test_other_keys_under_a_known_id_are_refused():
    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/v1/keysets":
            return good(request)
        return httpx.Response(200, json={"keysets": [{"id": V1, "unit": "sat", "keys": KEYS | {"8": KEYS["4"]}}]})

    async with mint(answer) as bank:
        with pytest.raises(MintAnswerError):
            await bank.keyset(V1)


def refuse_connection(request: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("refused", request=request)


def cut(request: httpx.Request) -> httpx.Response:
    raise httpx.RemoteProtocolError("cut", request=request)


class Drip(httpx.AsyncByteStream):
    """A byte now and then, for ever."""

    async def __aiter__(self):
        while True:
            yield b" "
            await asyncio.sleep(0.005)


FAULTS: dict[str, tuple[Answer, type[PaymentError]]] = {
    "no connection": (refuse_connection, MintUnavailableError),
    "cut": (cut, MintUnavailableError),
    "500": (always(500, text="oops"), MintUnavailableError),
    "503 in HTML": (always(503, html="<h1>Bad gateway</h1>"), MintUnavailableError),
    "429": (always(429, json={"detail": "slow down"}), MintUnavailableError),
    "a drip": (lambda request: httpx.Response(200, stream=Drip()), MintUnavailableError),
    "HTML": (always(200, html="<html>Welcome</html>"), MintAnswerError),
    "HTML with 404": (always(404, html="<html>Not found</html>"), MintAnswerError),
    "a redirect": (always(302, headers={"Location": "http://169.254.169.254/"}, json={}), MintAnswerError),
    "too long": (always(200, content=b" " * (5 * 1024 * 1024)), MintAnswerError),
    "a list": (always(200, json=[]), MintAnswerError),
    "null": (always(200, json=None), MintAnswerError),
    "other fields": (always(200, json={"signatures": [{"amount": 1}], "states": [{}], "keysets": [{}]}), MintAnswerError),
    "an error with a code": (always(400, json={"detail": "spent: cashuAsecret", "code": 11001}), MintRejectedError),
    "an error that is a list": (always(400, json=[1]), MintRejectedError),
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_faulty_answer_has_its_name(fault: str):
    answer, kind = FAULTS[fault]
    async with mint(answer, timeout_s=0.1 if fault == "a drip" else 60) as bank:
        for question in (
            lambda: bank.keysets(fresh=True),
            lambda: bank.swap([], [MESSAGE]),
            lambda: bank.states([MESSAGE.blinded]),
        ):
            with pytest.raises(kind) as failed:
                await question()
            assert type(failed.value) is kind
            assert "secret" not in str(failed.value)


async def test_a_rejection_carries_the_mints_code():
    async with mint(FAULTS["an error with a code"][0]) as bank:
        with pytest.raises(MintRejectedError) as refused:
            await bank.swap([], [MESSAGE])
    assert refused.value.mint_code == 11001


async def test_a_question_is_asked_again_and_a_swap_is_not():
    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.path)
        return refuse_connection(request) if len(asked) == 1 else good(request)

    async with mint(answer) as bank:
        assert await bank.keysets()
        assert asked == ["/v1/keysets"] * 2
        asked.clear()
        with pytest.raises(MintUnavailableError):
            await bank.swap([], [MESSAGE])
        assert asked == ["/v1/swap"]


async def test_a_mint_is_asked_about_much_money_in_several_questions():
    sizes: list[int] = []

    def answer(request: httpx.Request) -> httpx.Response:
        points = orjson.loads(request.content)["Ys"]
        sizes.append(len(points))
        return httpx.Response(200, json={"states": [{"Y": point, "state": "SPENT"} for point in points]})

    async with mint(answer) as bank:
        states = await bank.states([f"{number:066x}" for number in range(1200)])
    assert (len(states), sum(sizes)) == (1200, 1200)
    assert max(sizes) <= 500


async def test_an_answer_about_other_money_is_refused():
    async with mint(always(200, json={"states": [{"Y": "02" * 33, "state": "UNSPENT"}]})) as bank:
        with pytest.raises(MintAnswerError):
            await bank.states([MESSAGE.blinded])


async def test_what_is_sent_is_json_without_proofs_of_equality():
    seen: list[bytes] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request.content)
        return httpx.Response(200, json={"signatures": []})

    async with mint(answer) as bank:
        await bank.swap([], [MESSAGE])
    assert orjson.loads(seen[0]) == {"inputs": [], "outputs": [{"amount": 1, "id": V1, "B_": MESSAGE.blinded}]}


@pytest.mark.parametrize(
    ("spelling", "meant"),
    [
        ("https://Mint.Example/", "https://mint.example"),
        ("https://mint.example:443", "https://mint.example"),
        ("http://127.0.0.1:3338/Bitcoin/", "http://127.0.0.1:3338/Bitcoin"),
        ("http://[::1]:3338", "http://[::1]:3338"),
    ],
)
def test_one_mint_has_one_spelling(spelling: str, meant: str):
    assert normalize_url(spelling) == meant


@pytest.mark.parametrize(
    "spelling", ["", "mint.example", "ftp://mint.example", "https://user@mint.example", "https://m.example/?a=1"]
)
def test_what_is_no_address_is_refused(spelling: str):
    with pytest.raises(TokenInvalidError):
        normalize_url(spelling)
    with pytest.raises(ConfigurationError):
        HttpMint(spelling)
