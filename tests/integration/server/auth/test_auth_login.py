"""Signing in at an identity provider with a browser: the good way, and the hard edges."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest


async def go(browser, next_path: str = "/chat") -> str:
    """Begin, and give the provider's address."""
    answer = await browser.get("/login/oidc", params={"next": next_path})
    assert answer.status_code == 303
    return answer.headers["location"]


async def test_the_page_offers_the_provider(browser):
    page = await browser.get("/login?next=/chat")
    assert 'href="/login/oidc?next=/chat"' in page.text


async def test_a_sign_in_opens_a_session(browser, provider):
    provider.id_token_changes = {"roles": ["stepwell-operator"]}
    back = provider.authorize(await go(browser))
    answer = await browser.get(back)
    assert answer.status_code == 200
    assert 'http-equiv="refresh"' in answer.text, "a redirect would not carry a strict cookie"
    assert 'href="/chat"' in answer.text
    session = next(each for each in answer.headers.get_list("set-cookie") if each.startswith("stepwell_session="))
    assert "HttpOnly" in session
    assert "SameSite=strict" in session
    me = await browser.get("/whoami")
    assert me.json() == {"user": f"{provider.issuer}|anna", "operator": True, "via": "session"}


async def test_the_request_names_pkce_state_nonce_and_the_callback(browser):
    asked = {name: values[0] for name, values in parse_qs(urlsplit(await go(browser)).query).items()}
    assert asked["response_type"] == "code"
    assert asked["scope"] == "openid"
    assert asked["redirect_uri"] == "http://localhost:8123/login/callback"
    assert len({asked["state"], asked["nonce"], asked["code_challenge"]}) == 3


async def refused(browser, url: str) -> bool:
    answer = await browser.get(url)
    assert 'role="alert"' in answer.text
    assert not any(each.startswith("stepwell_session=") for each in answer.headers.get_list("set-cookie"))
    assert (await browser.get("/whoami")).status_code == 401
    return answer.status_code == 401


async def test_another_state_is_refused(browser, provider):
    back = provider.authorize(await go(browser))
    assert await refused(browser, back.rpartition("=")[0] + "=another")


async def test_an_answer_for_another_browser_is_refused(browser, provider):
    back = provider.authorize(await go(browser))
    browser.cookies.clear()
    assert await refused(browser, back)


async def test_an_answer_is_good_once(browser, provider):
    back = provider.authorize(await go(browser))
    cookies = dict(browser.cookies)
    assert (await browser.get(back)).status_code == 200
    browser.cookies.clear()
    browser.cookies.update(cookies)
    assert await refused(browser, back)


async def test_a_sign_in_that_took_too_long_is_refused(browser, provider, clock):
    back = provider.authorize(await go(browser))
    clock.move(601)
    assert await refused(browser, back)


async def test_a_code_that_the_provider_no_longer_knows_is_refused(browser, provider):
    back = provider.authorize(await go(browser))
    provider.codes.clear()
    assert await refused(browser, back)


@pytest.mark.parametrize(
    "changes",
    [
        {"nonce": "another"},
        {"nonce": None},
        {"aud": "another-client"},
        {"exp": 1},
        {"iss": "https://evil.example"},
        {"azp": "another"},
    ],
)
async def test_a_token_for_another_sign_in_is_refused(browser, provider, changes):
    provider.id_token_changes = changes
    assert await refused(browser, provider.authorize(await go(browser)))


async def test_a_code_of_another_sign_in_is_refused(browser, provider):
    """An attacker's code in the victim's answer: PKCE ties a code to who began."""
    foreign = provider.authorize(await go(browser))
    browser.cookies.clear()
    own = provider.authorize(await go(browser))
    foreign_code = parse_qs(urlsplit(foreign).query)["code"][0]
    own_state = parse_qs(urlsplit(own).query)["state"][0]
    assert await refused(browser, f"http://localhost:8123/login/callback?code={foreign_code}&state={own_state}")


async def test_a_visitor_who_said_no_gets_the_form_again(browser, provider):
    await go(browser)
    assert await refused(browser, "http://localhost:8123/login/callback?error=access_denied&state=x")


async def test_a_provider_that_is_down_is_said_so(browser, provider):
    provider.broken = True
    answer = await browser.get("/login/oidc")
    assert (answer.status_code, 'role="alert"' in answer.text) == (503, True)
