"""The built page as a browser gets it: its files, its addresses, and what may be done with it."""

from __future__ import annotations

import gzip
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI
from starlette.middleware import Middleware

from stepwell.server.limits.layers import limit_layers
from stepwell.server.page.serving import PageFiles, ServePage
from stepwell.server.settings import ServerSettings

BROWSER = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8", "accept-encoding": "gzip, br"}
SCRIPT = "export const words = 'many words';\n" * 50


@pytest.fixture
def static(tmp_path: Path) -> Path:
    folder = tmp_path / "static"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text("<!doctype html><title>Stepwell</title>")
    (folder / "assets" / "index-AbC123.js").write_text(SCRIPT)
    (folder / "favicon.svg").write_text("<svg/>")
    (folder / ".hidden.js").write_text("no")
    (folder / "notes.py").write_text("no")
    (tmp_path / "secret.txt").write_text("no")
    (folder / "way-out.txt").symlink_to(tmp_path / "secret.txt")
    return folder


@pytest.fixture
def client(static: Path) -> httpx.AsyncClient:
    return visit(static)


def visit(folder: Path, *mints: str) -> httpx.AsyncClient:
    settings = ServerSettings()
    app = FastAPI(
        middleware=[*limit_layers(settings), Middleware(ServePage, files=PageFiles(folder), asks_who=True, hosts=mints)],
        docs_url=None,
        redoc_url=None,
    )

    @app.get("/")
    async def front() -> dict[str, str]:
        return {"name": "Stepwell"}

    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost:8123")


@pytest.mark.parametrize(
    "path", ["/", "/t/1ba54ac6-6d3c-4a59-9f0a-1c2e3d4f5a6b", "/t/x/report", "/new/research", "/inbox", "/operator"]
)
async def test_a_browser_gets_the_page_at_each_of_its_addresses(client: httpx.AsyncClient, path: str):
    answer = await client.get(path, headers=BROWSER)
    assert answer.status_code == 200
    assert "<title>Stepwell</title>" in answer.text
    assert answer.headers["cache-control"] == "no-cache"


async def test_the_page_may_load_from_its_own_server_only(client: httpx.AsyncClient):
    headers = (await client.get("/", headers=BROWSER)).headers
    policy = dict(part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
    assert policy["default-src"] == policy["style-src"] == policy["connect-src"] == policy["worker-src"] == "'self'"
    assert policy["script-src"] == "'self' 'wasm-unsafe-eval'"
    assert policy["frame-ancestors"] == policy["base-uri"] == policy["object-src"] == "'none'"
    assert (headers["x-content-type-options"], headers["referrer-policy"]) == ("nosniff", "no-referrer")


async def test_the_page_may_also_ask_the_mints_whose_money_is_taken(static: Path):
    client = visit(static, "https://mint.example.com/Bitcoin", "https://mint.example.com/other", "http://127.0.0.1:3338")
    policy = (await client.get("/", headers=BROWSER)).headers["content-security-policy"]
    assert "; connect-src 'self' https://mint.example.com http://127.0.0.1:3338; " in policy
    assert policy.count("mint.example.com") == 1


@pytest.mark.parametrize("accept", ["application/json", "*/*", ""])
async def test_a_program_still_gets_json(client: httpx.AsyncClient, accept: str):
    answer = await client.get("/", headers={"accept": accept})
    assert answer.json() == {"name": "Stepwell"}


async def test_a_file_with_a_hash_in_its_name_is_kept_for_good_and_sent_compressed(client: httpx.AsyncClient):
    answer = await client.get("/assets/index-AbC123.js", headers={"accept-encoding": "gzip"})
    assert answer.text == SCRIPT
    assert answer.headers["content-encoding"] == "gzip"
    assert answer.headers["content-length"] == str(len(gzip.compress(SCRIPT.encode(), 9, mtime=0)))
    assert "immutable" in answer.headers["cache-control"]
    assert answer.headers["content-type"].startswith("text/javascript")


@pytest.mark.parametrize("accepted", ["identity", "gzip;q=0, br"])
async def test_who_takes_no_gzip_gets_the_file_as_it_is(client: httpx.AsyncClient, accepted: str):
    answer = await client.get("/assets/index-AbC123.js", headers={"accept-encoding": accepted})
    assert "content-encoding" not in answer.headers
    assert "Accept-Encoding" in answer.headers["vary"]
    assert answer.text == SCRIPT


async def test_what_has_not_changed_is_not_sent_again(client: httpx.AsyncClient):
    first = await client.get("/favicon.svg")
    again = await client.get("/favicon.svg", headers={"if-none-match": f'"other", W/{first.headers["etag"]}'})
    assert (first.status_code, again.status_code, again.content) == (200, 304, b"")


async def test_a_page_that_is_built_anew_is_served_at_once(client: httpx.AsyncClient, static: Path):
    before = await client.get("/inbox", headers=BROWSER)
    (static / "index.html").write_text("<!doctype html><title>Another Stepwell</title>")
    after = await client.get("/inbox", headers=BROWSER)
    assert "Another" not in before.text
    assert "Another" in after.text


@pytest.mark.parametrize(
    "path",
    [
        "/../secret.txt",
        "/assets/../../secret.txt",
        "/%2e%2e/secret.txt",
        "/way-out.txt",
        "/.hidden.js",
        "/notes.py",
        "/assets/",
    ],
)
async def test_nothing_else_can_be_had(client: httpx.AsyncClient, path: str):
    answer = await client.get(httpx.URL("http://localhost:8123").copy_with(raw_path=path.encode()))
    assert answer.status_code == 404


async def test_without_a_build_a_browser_is_told_how_to_get_one(tmp_path: Path):
    async with visit(tmp_path / "nothing") as client:
        answer = await client.get("/t/x", headers=BROWSER)
    assert "make page" in answer.text
