"""The fake object store keeps the rules that a real one keeps: preconditions, pages, both APIs on the same objects."""

from __future__ import annotations

import json
from urllib.parse import quote

import httpx
import pytest

from stepwell.testing.objects import FakeObjectStore


@pytest.fixture
def http(store: FakeObjectStore):
    with httpx.Client(base_url=store.url, trust_env=False) as client:
        yield client


def upload(http: httpx.Client, name: str, data: str, **query: str) -> httpx.Response:
    about = json.dumps({"name": name, "metadata": {"owner": "ada"}})
    body = (
        f"--cut\r\ncontent-type: application/json\r\n\r\n{about}\r\n--cut\r\ncontent-type: text/plain\r\n\r\n{data}\r\n--cut--"
    )
    headers = {"content-type": 'multipart/related; boundary="cut"'}
    return http.post("/upload/storage/v1/b/files/o", params={"uploadType": "multipart", **query}, content=body, headers=headers)


def test_both_apis_see_the_same_objects(http: httpx.Client):
    made = upload(http, "t1/ä b.md", "one").json()
    assert made["metadata"] == {"owner": "ada"}
    found = http.get(f"/files/{quote('t1/ä b.md', safe='')}")
    assert (found.text, found.headers["x-goog-generation"], found.headers["x-goog-meta-owner"]) == (
        "one",
        made["generation"],
        "ada",
    )
    media = http.get(f"/download/storage/v1/b/files/o/{quote('t1/ä b.md', safe='')}", params={"alt": "media"})
    assert media.text == "one"


def test_a_generation_is_a_precondition_in_both_apis(http: httpx.Client):
    first = upload(http, "a", "one", ifGenerationMatch="0").json()["generation"]
    assert upload(http, "a", "two", ifGenerationMatch="0").status_code == 412
    assert http.put("/files/a", content=b"two", headers={"x-goog-if-generation-match": "0"}).status_code == 412
    second = http.put("/files/a", content=b"two", headers={"x-goog-if-generation-match": first}).headers["x-goog-generation"]
    assert int(second) > int(first)
    assert http.delete("/storage/v1/b/files/o/a", params={"ifGenerationMatch": first}).status_code == 412
    assert http.delete("/storage/v1/b/files/o/a", params={"ifGenerationMatch": second}).status_code == 204
    assert http.get("/files/a").status_code == 404


def test_pages_follow_one_another_in_both_apis(store: FakeObjectStore, http: httpx.Client):
    for name in ("d/a", "d/b/1", "d/b/2", "d/c", "e"):
        store.contents.put("files", name, b"")
    seen, token = [], ""
    while token is not None:
        query = {"prefix": "d/", "delimiter": "/", "maxResults": "1", "pageToken": token}
        page = http.get("/storage/v1/b/files/o", params=query).json()
        seen += [row["name"] for row in page["items"]] + page.get("prefixes", [])
        token = page.get("nextPageToken")
    assert seen == ["d/a", "d/b/", "d/c"]
    text = http.get("/files", params={"list-type": "2", "prefix": "d/", "max-keys": "2"}).text
    assert "<Key>d/b/1</Key>" in text
    assert "<NextContinuationToken>d/b/1</NextContinuationToken>" in text


@pytest.mark.parametrize("name", ["a\rb", "a\nb", "x" * 1_025, ".", "..", ".well-known/acme-challenge/x"])
def test_names_that_the_store_refuses(http: httpx.Client, name: str):
    assert upload(http, name, "one").status_code == 400


def test_a_range_is_a_part(store: FakeObjectStore, http: httpx.Client):
    store.contents.put("files", "a", b"0123456789")
    for asked, part in {"bytes=2-4": "234", "bytes=7-": "789", "bytes=-2": "89", "bytes=8-99": "89"}.items():
        answer = http.get("/files/a", headers={"range": asked})
        assert (answer.status_code, answer.text) == (206, part)
    assert http.get("/files/a", headers={"range": "bytes=10-"}).status_code == 416


def test_trouble_comes_when_it_is_ordered(store: FakeObjectStore, http: httpx.Client):
    store.faults.add("unavailable", methods=("PUT",))
    store.faults.add("busy", methods=("PUT",))
    assert [http.put("/files/a", content=b"1").status_code for _ in range(3)] == [503, 429, 200]
    store.faults.add("lost", methods=("PUT",))
    with pytest.raises(httpx.RemoteProtocolError):
        http.put("/files/b", content=b"1")
    store.faults.add("cut", methods=("PUT",))
    with pytest.raises(httpx.RemoteProtocolError):
        http.put("/files/c", content=b"1")
    assert store.contents.names("files") == ["a", "b"]
