"""Who asks, and keys, over HTTP."""

from __future__ import annotations

from pathlib import Path

from tests.integration.server.conftest import Server, serve

from stepwell.server.settings import ServerSettings


async def test_everybody_is_the_local_user_where_nobody_is_asked(server: Server):
    me = (await server.http.get("/api/me")).json()
    assert me["signed_in"] is True
    assert (me["user"], me["is_operator"], me["via"], me["asks_who"], me["sign_in"]) == ("local", True, "local", False, [])
    assert me["server"]["demo"] is False


async def test_keys_made_over_http_sign_in_and_only_operators_see_and_take_them_back(tmp_path: Path):
    async with serve(tmp_path) as open_to_all:
        made = (await open_to_all.http.post("/api/keys", json={"user": "anna", "operator": True})).json()
        user = (
            await open_to_all.http.post(
                "/api/keys", json={"user": "bert", "expires_days": 1, "roots": ["acme"], "read_roots": ["/b/"]}
            )
        ).json()
        unknown = await open_to_all.http.delete("/api/keys/0123456789ab")
    async with serve(tmp_path, ServerSettings(always_ask=True)) as asking:
        anna, bert = {"x-api-key": made["key"]}, {"x-api-key": user["key"]}
        stranger = (await asking.http.get("/api/me")).json()
        known = (await asking.http.get("/api/me", headers=anna)).json()
        listed = (await asking.http.get("/api/keys", headers=anna)).json()
        refused = await asking.http.get("/api/keys", headers=bert)
        opens = (await asking.http.get("/api/me", headers=bert)).json()
        form = {"key": user["key"]}
        await asking.http.post("/login", data=form, headers={"accept": "application/json", "origin": asking.url})
        signed_in = (await asking.http.get("/api/me")).json()
        asking.http.cookies.clear()
        gone = await asking.http.delete(f"/api/keys/{user['key_id']}", headers=anna)
        after = (await asking.http.get("/api/me", headers=bert)).json()
    assert unknown.status_code == 404
    assert (stranger["signed_in"], stranger["user"], stranger["sign_in"]) == (False, None, ["key"])
    assert (known["user"], known["is_operator"], known["via"]) == ("anna", True, "api_key")
    assert {key["key_id"] for key in listed} == {made["key_id"], user["key_id"]}
    assert not any("key" in key or "hash" in key for key in listed)
    assert refused.status_code == 403
    assert (opens["roots"], opens["read_roots"], opens["via"]) == (["/acme/"], ["/b/"], "api_key")
    assert (signed_in["roots"], signed_in["read_roots"], signed_in["via"]) == (["/acme/"], ["/b/"], "session")
    assert (gone.status_code, after["signed_in"]) == (204, False)
