"""API keys: their form, what is kept of them, and when they stop counting."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from stepwell.errors import InvalidRequestError
from stepwell.server.login.api_keys import KEY_FORM, make_key


async def who(site, **headers: str | bytes):
    async with site.client() as client:
        return await client.get("/whoami", headers={name.replace("_", "-"): value for name, value in headers.items()})


@pytest.mark.parametrize(
    "sent", [{}, {"x_api_key": ""}, {"x_api_key": "lsv2_of_somebody"}, {"authorization": "Bearer nonsense"}]
)
async def test_a_server_that_asks_nobody_takes_everybody_for_the_local_user(site_of, sent):
    answer = await who(site_of(), **sent)
    assert answer.json() == {"user": "local", "operator": True, "via": "local"}


@pytest.mark.parametrize("header", ["x_api_key", "authorization"])
async def test_a_key_says_whose_request_it_is(asking, header):
    key = await asking.new_key("anna")
    answer = await who(asking, **{header: key.text if header == "x_api_key" else f"Bearer {key.text}"})
    assert answer.json() == {"user": "anna", "operator": False, "via": "api_key"}


async def test_an_empty_key_is_no_key(asking):
    answer = await who(asking, x_api_key="")
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert answer.headers["content-type"] == "application/problem+json"


async def test_a_key_with_one_letter_changed_is_refused_without_saying_which_part_is_wrong(asking):
    key = await asking.new_key()
    other_secret = key.text[:-1] + ("A" if key.text[-1] != "A" else "B")
    other_id = "sw_" + "0" * 12 + key.text[15:]
    answers = [await who(asking, x_api_key=text) for text in (other_secret, other_id, "sw_", "sw_x_y", "é".encode())]
    assert {answer.status_code for answer in answers} == {401}
    assert answers[0].json() == answers[1].json()
    assert all('error="invalid_token"' in answer.headers["www-authenticate"] for answer in answers)


async def test_a_revoked_key_is_refused_by_the_next_request(asking):
    key = await asking.new_key()
    assert (await who(asking, x_api_key=key.text)).status_code == 200
    assert await asking.records.revoke_key(key.record.key_id)
    assert (await who(asking, x_api_key=key.text)).status_code == 401
    assert not await asking.records.revoke_key(key.record.key_id)


async def test_a_key_ends_with_its_days(asking):
    key = await asking.new_key(lasts=timedelta(days=1))
    asking.clock.move(86_399)
    assert (await who(asking, x_api_key=key.text)).status_code == 200
    asking.clock.move(1)
    assert (await who(asking, x_api_key=key.text)).status_code == 401
    assert await asking.records.count_usable_keys() == 0


async def test_the_database_holds_no_key(asking):
    key = await asking.new_key()
    await who(asking, x_api_key=key.text)
    secret = key.text.rpartition("_")[2]
    for file in asking.database.path.parent.iterdir():
        content = await asyncio.to_thread(file.read_bytes)
        assert secret.encode() not in content
        assert key.text[-30:].encode() not in content


async def test_wrong_keys_from_one_address_have_to_wait(asking):
    for _ in range(30):
        assert (await who(asking, x_api_key="sw_wrong")).status_code == 401
    answer = await who(asking, x_api_key="sw_wrong")
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "61")
    asking.clock.move(61)
    assert (await who(asking, x_api_key="sw_wrong")).status_code == 401


async def test_wrong_keys_do_not_lock_out_the_right_one_from_the_same_address(asking):
    key = await asking.new_key()
    for _ in range(40):
        await who(asking, x_api_key="sw_wrong")
    assert (await who(asking, x_api_key="sw_wrong")).status_code == 429
    assert (await who(asking, x_api_key=key.text)).status_code == 200
    async with asking.client() as client:
        signed_in = await client.post("/login", data={"key": key.text}, headers={"origin": "http://localhost:8123"})
    assert signed_in.status_code == 303


async def test_a_key_that_was_right_once_does_not_count_as_a_wrong_try(asking):
    old, good = await asking.new_key(), await asking.new_key()
    await asking.records.revoke_key(old.record.key_id)
    for _ in range(40):
        assert (await who(asking, x_api_key=old.text)).status_code == 401
    assert (await who(asking, x_api_key=good.text)).status_code == 200


async def test_operators_only_actions_are_refused_to_others(asking):
    user, operator = await asking.new_key(), await asking.new_key("root", operator=True)
    async with asking.client() as client:
        refused = await client.get("/everything", headers={"x-api-key": user.text})
        granted = await client.get("/everything", headers={"x-api-key": operator.text})
    assert (refused.status_code, granted.status_code) == (403, 200)
    assert refused.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("user", ["", "system", " anna", "an\nna", "x" * 201])
def test_names_that_cannot_be_users(asking, user):
    with pytest.raises(InvalidRequestError):
        make_key(user, operator=False, expires_in=None, now=asking.clock.now(), random_bytes=asking.random_bytes)


def test_a_key_has_its_form_and_is_not_in_its_record(asking):
    made = make_key("anna", operator=False, expires_in=None, now=asking.clock.now(), random_bytes=asking.random_bytes)
    assert KEY_FORM.fullmatch(made.text)
    assert made.text not in repr(made.record)
