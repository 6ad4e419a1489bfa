"""`stepwell effects`, and the routes beside it: what began and nobody knows, and what somebody found out."""

from __future__ import annotations

import json
import time
from typing import Any

import httpx
from tests.integration.operations.conftest import Place, Served

PAY = {"messages": [{"role": "user", "content": "pay baker"}]}
HELLO = {"messages": [{"role": "user", "content": "hello"}]}


def begin_and_stop(served: Served, http: httpx.Client | None = None) -> str:
    """A payment that is stopped in the middle, on a thread of its own."""
    http = http or served.http
    thread_id = str(http.post("/threads", json={}).json()["thread_id"])
    run = http.post(f"/threads/{thread_id}/runs", json={"assistant_id": "pays", "input": PAY}).json()
    deadline = time.monotonic() + 60
    while not http.get("/api/effects", params={"known": True, "thread_id": thread_id}).json():
        assert time.monotonic() < deadline, "nothing was begun"
        time.sleep(0.02)
    http.post(f"/threads/{thread_id}/runs/{run['run_id']}/cancel", params={"wait": True}).raise_for_status()
    return thread_id


def last_result(served: Served, thread_id: str) -> str:
    values: Any = served.wait("pays", thread_id, input=HELLO)
    return str([message["content"] for message in values["messages"] if message["type"] == "tool"][-1])


def test_unknown_effects_are_listed_and_settled_on_the_database_and_over_a_server(place: Place) -> None:
    with place.serving() as served:
        first, second = begin_and_stop(served), begin_and_stop(served)
        local = json.loads(place.run("effects", "list", "--json").stdout)
        asked = json.loads(place.run("effects", "list", "--url", served.url, "--all", "--json").stdout)
        assert local == asked
        assert [(line["thread_id"], line["tool"], line["outcome"]) for line in local] == [
            (second, "pay", "unknown"),
            (first, "pay", "unknown"),
        ]
        done = place.run("effects", "settle", local[1]["key"], "--done", "Receipt 7.")
        assert (done.returncode, "settled as done" in done.stdout) == (0, True), done.stderr
        undone = place.run("effects", "settle", local[0]["key"], "--not-done", "--url", served.url, "--all", "--json")
        assert json.loads(undone.stdout)["outcome"] == "not_done", undone.stderr
        assert "it did take effect. Receipt 7." in last_result(served, first)
        assert "it did not take effect" in last_result(served, second)
    table = place.run("effects", "list")
    assert table.stdout == "Nothing to settle: the outcome of every effect is known.\n"
    assert "not_done" in place.run("effects", "list", "--known").stdout
    again = place.run("effects", "settle", local[0]["key"], "--done")
    assert (again.returncode, "is already known" in again.stderr) == (2, True)
    nothing = place.run("effects", "settle", "no/such/key/0", "--done")
    assert (nothing.returncode, "No effect 'no/such/key/0'" in nothing.stderr) == (2, True)


def test_users_settle_their_own_effects_and_operators_those_of_all(place: Place) -> None:
    keys = {name: place.run("keys", "create", "--user", name).stdout.strip() for name in ("anna", "ben")}
    operator = place.run("keys", "create", "--user", "root", "--operator").stdout.strip()
    with place.serving(STEPWELL_AUTH="required") as served:
        anna, ben, root = (
            httpx.Client(base_url=served.url, headers={"x-api-key": key}, timeout=60)
            for key in (keys["anna"], keys["ben"], operator)
        )
        with anna, ben, root:
            thread_id = begin_and_stop(served, anna)
            (effect,) = anna.get("/api/effects").json()
            assert (effect["thread_id"], effect["owner"]) == (thread_id, "anna")
            assert ben.get("/api/effects").json() == root.get("/api/effects").json() == []
            assert ben.get("/api/effects/all").status_code == 403
            wanted = {"key": effect["key"], "outcome": "done", "note": "seen"}
            assert ben.post("/api/effects/settle", json=wanted).status_code == 404
            assert ben.post("/api/effects/all/settle", json=wanted).status_code == 403
            assert anna.post("/api/effects/settle", json={**wanted, "outcome": "perhaps"}).status_code == 422
            settled = anna.post("/api/effects/settle", json=wanted).json()
            assert (settled["outcome"], settled["note"], settled["settled_by"]) == ("done", "seen", "anna")
            assert anna.post("/api/effects/settle", json={**wanted, "outcome": "not_done"}).status_code == 422
            deleted = begin_and_stop(served, ben)
            ben.delete(f"/threads/{deleted}").raise_for_status()
            assert ben.get("/api/effects").json() == []
            (left,) = root.get("/api/effects/all").json()
            assert (left["tool"], left["thread_id"], left["owner"]) == ("pay", None, None)
            assert root.post("/api/effects/all/settle", json={"key": left["key"], "outcome": "not_done"}).status_code == 200
            assert root.get("/api/effects/all").json() == []
