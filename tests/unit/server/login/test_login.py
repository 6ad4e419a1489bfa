"""Signing in to the page with a key."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

from stepwell.server.login.sign_in import own_path

OWN = {"origin": "http://localhost:8123"}
FORM = {"content-type": "application/x-www-form-urlencoded", **OWN}


async def sign_in(client, key: str, **fields: str):
    return await client.post("/login", data={"key": key, **fields}, headers=OWN)


async def test_a_key_opens_a_session_with_a_cookie_no_script_can_read(asking):
    key = await asking.new_key("anna", operator=True)
    async with asking.client() as client:
        answer = await sign_in(client, key.text, next="/threads?x=1")
        cookie = answer.headers["set-cookie"]
        me = await client.get("/whoami")
    assert (answer.status_code, answer.headers["location"]) == (303, "/threads?x=1")
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert "Secure" not in cookie
    assert me.json() == {"user": "anna", "operator": True, "via": "session"}
    assert key.text not in cookie


async def test_over_https_the_cookie_stays_on_https(asking):
    key = await asking.new_key()
    async with asking.client("https://localhost:8123") as client:
        answer = await client.post("/login", data={"key": key.text}, headers={"origin": "https://localhost:8123"})
    assert "Secure" in answer.headers["set-cookie"]


async def test_a_wrong_key_gives_the_form_again_with_an_alert(asking):
    async with asking.client() as client:
        answer = await sign_in(client, 'sw_"><script>alert(1)</script>', next='/"><script>')
    assert answer.status_code == 401
    assert 'role="alert"' in answer.text
    assert "<script>" not in answer.text
    assert "set-cookie" not in answer.headers
    assert "default-src 'self'" in answer.headers["content-security-policy"]


async def test_a_form_that_is_not_ours_gives_the_form_again(asking):
    async with asking.client() as client:
        answer = await client.post(
            "/login",
            content="&".join(f"a{n}=1" for n in range(20)),
            headers={"content-type": "application/x-www-form-urlencoded", "origin": "http://localhost:8123"},
        )
    assert answer.status_code == 401
    assert "<form" in answer.text


async def test_too_many_wrong_keys_are_told_to_wait(asking):
    async with asking.client() as client:
        for _ in range(30):
            await sign_in(client, "sw_wrong")
        assert (await sign_in(client, "sw_wrong")).status_code == 429


async def test_the_form_can_be_used_without_script_and_by_a_screen_reader(asking):
    async with asking.client() as client:
        page = (await client.get("/login?next=/a")).text
    seen = _Tags(page)
    labelled = {attributes.get("for") for tag, attributes in seen.tags if tag == "label"}
    visible = [a for tag, a in seen.tags if tag == "input" and a.get("type") != "hidden"]
    assert visible
    assert all(each["id"] in labelled for each in visible)
    assert ("html", {"lang": "en"}) in seen.tags
    assert {"main", "h1", "title", "button"} <= {tag for tag, _ in seen.tags}
    assert "script" not in {tag for tag, _ in seen.tags}


async def test_signing_out_ends_the_session_on_the_server(asking):
    key = await asking.new_key()
    async with asking.client() as client:
        await sign_in(client, key.text)
        stolen = dict(client.cookies)
        assert (await client.post("/logout", headers=OWN)).status_code == 303
        assert (await client.get("/whoami", cookies=None)).status_code == 401
    async with asking.client(cookies=stolen) as client:
        assert (await client.get("/whoami")).status_code == 401


async def test_a_session_ends_with_its_time_and_with_its_key(asking):
    lasting, revoked = await asking.new_key("anna"), await asking.new_key("bert")
    async with asking.client() as anna, asking.client() as bert:
        await sign_in(anna, lasting.text)
        await sign_in(bert, revoked.text)
        await asking.records.revoke_key(revoked.record.key_id)
        assert (await bert.get("/whoami")).status_code == 401
        assert (await anna.get("/whoami")).status_code == 200
        asking.clock.move(24 * 3600)
        assert (await anna.get("/whoami")).status_code == 401


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://localhost:3000"},
        {"sec-fetch-site": "same-site"},
    ],
)
async def test_a_cookie_changes_nothing_from_another_page(asking, headers):
    """Also not from another port of the same machine: to a browser that is the same site."""
    key = await asking.new_key()
    async with asking.client() as client:
        await sign_in(client, key.text)
        kind = {"content-type": "application/json"}
        refused = await client.post("/echo", content=b"{}", headers={**kind, **headers})
        own = await client.post("/echo", content=b"{}", headers={**kind, **OWN})
    assert (refused.status_code, own.status_code) == (403, 200)


async def test_another_site_cannot_sign_a_visitor_in(asking):
    key = await asking.new_key()
    async with asking.client() as client:
        answer = await client.post("/login", data={"key": key.text}, headers={"origin": "https://evil.example"})
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


async def test_a_server_that_asks_nobody_has_nothing_to_sign_in_to(site_of):
    async with site_of().client() as client:
        answer = await client.get("/login?next=/chat")
    assert (answer.status_code, answer.headers["location"]) == (303, "/chat")


async def test_the_database_holds_no_cookie(asking):
    key = await asking.new_key()
    async with asking.client() as client:
        await sign_in(client, key.text)
        cookie = client.cookies["stepwell_session"]
    await asking.records.count_usable_keys()
    assert all(cookie.encode() not in file.read_bytes() for file in asking.database.path.parent.iterdir())


@pytest.mark.parametrize(
    "wanted", ["https://evil.example", "//evil.example", "/\\evil.example", "evil", "", "/\tx", "javascript:alert(1)"]
)
def test_signing_in_leads_nowhere_else(wanted):
    assert own_path(wanted) == "/"


class _Tags(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))


async def test_a_page_that_asks_for_json_signs_in_without_being_sent_elsewhere(asking):
    key = await asking.new_key("anna")
    headers = {**OWN, "accept": "application/json"}
    async with asking.client() as client:
        wrong = await client.post("/login", data={"key": "sw_no"}, headers=headers)
        right = await client.post("/login", data={"key": key.text}, headers=headers)
        me = await client.get("/whoami")
        out = await client.post("/logout", headers=headers)
        after = await client.get("/whoami")
    assert (wrong.status_code, wrong.headers["content-type"]) == (401, "application/problem+json")
    assert (right.status_code, out.status_code, after.status_code) == (204, 204, 401)
    assert me.json()["user"] == "anna"
