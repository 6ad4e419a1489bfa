"""A project with `auth` of its own: the page has no way to sign in, and says where one does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.integration.served.process import Server, serve

AUTH = """
from langgraph_sdk import Auth

auth = Auth()


@auth.authenticate
async def authenticate(headers: dict) -> str:
    if b"token=ada" not in headers.get(b"cookie", b""):
        raise Auth.exceptions.HTTPException(status_code=401, detail="Unknown token")
    return "ada"
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("own_auth")
    (folder / "auth.py").write_text(AUTH)
    graph = f"{Path(__file__).parent / 'graphs.py'}:echo"
    (folder / "langgraph.json").write_text(json.dumps({"graphs": {"echo": graph}, "auth": {"path": "./auth.py:auth"}}))
    with serve(folder, graphs=folder / "langgraph.json") as started:
        yield started


def test_a_visitor_is_told_to_sign_in_at_the_project_and_not_asked_for_a_key(page: Page, allow_console):
    allow_console("401")
    expect(page.get_by_text("This project signs people in itself")).to_be_visible()
    expect(page.get_by_label("API key")).to_have_count(0)
    page.context.add_cookies([{"name": "token", "value": "ada", "url": page.url}])
    page.reload()
    expect(page.get_by_role("textbox", name="Message")).to_be_visible()
