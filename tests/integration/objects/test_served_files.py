"""Files of workspaces as `stepwell serve` gives them: without cloud settings, and with keys that the command makes."""

from __future__ import annotations

from pathlib import Path

import httpx
from tests.integration.served.process import serve

from stepwell.cli import main

FILES = "/api/workspace/files"


def test_a_newcomer_s_files_are_in_a_folder(tmp_path: Path):
    """Nothing is set, nobody is asked: a file goes up, and is there."""
    with serve(tmp_path, graphs=None) as server, httpx.Client(base_url=server.url, trust_env=False) as http:
        stored = http.put(f"{FILES}/notes/may.md", content=b"tea at four")
        assert stored.status_code == 200, stored.text
        assert http.get(f"{FILES}/notes/may.md").content == b"tea at four"
        elsewhere = http.get(FILES, params={"root": "/acme/main/"}).json()
    assert (tmp_path / "data" / "workspace" / "local" / "workspace" / "notes" / "may.md").read_bytes() == b"tea at four"
    assert elsewhere == {"files": [], "cursor": None}


def test_keys_open_what_they_were_made_for(tmp_path: Path, capsys, monkeypatch):
    """W9: `stepwell keys create --root`, and the server that reads them; another tenant's root reads like one that nobody has."""
    monkeypatch.setenv("STEPWELL_DATA_DIR", str(tmp_path / "data"))
    keys = {}
    for user, options in {"ann": ["--root", "/acme/main/"], "rob": ["--read-root", "/acme/main/"], "nil": []}.items():
        assert main(["keys", "create", "--user", user, *options]) == 0
        keys[user] = {"x-api-key": capsys.readouterr().out.strip()}
    with (
        serve(tmp_path, graphs=None, STEPWELL_AUTH="required") as server,
        httpx.Client(base_url=server.url, trust_env=False) as http,
    ):
        assert http.put(f"{FILES}/a.md", content=b"1", headers=keys["ann"]).status_code == 200
        assert http.get(f"{FILES}/a.md", headers=keys["rob"]).content == b"1"
        assert http.put(f"{FILES}/a.md", content=b"2", headers=keys["rob"]).status_code == 403
        assert http.get(f"{FILES}/a.md", headers=keys["nil"]).status_code == 403
        refused = [http.get(FILES, params={"root": root}, headers=keys["nil"]) for root in ("/acme/main/", "/nowhere/")]
        assert refused[0].text == refused[1].text
        run = {
            "assistant_id": "workspace",
            "input": {"messages": []},
            "config": {"configurable": {"gcs_root_path": "/acme/main/"}},
        }
        assert http.post("/runs", json=run, headers=keys["nil"]).status_code == 403
        assert http.get(FILES).status_code == 401
    assert (tmp_path / "data" / "workspace" / "acme" / "main" / "a.md").read_bytes() == b"1"
