"""The lines that `stepwell serve` prints once it answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from stepwell.cli.compose import Graphs, graphs_to_serve
from stepwell.cli.serve_screen import first_screen
from stepwell.runs.graphs.langgraph_json import read_langgraph_json
from stepwell.runs.graphs.registry import GraphRegistry
from stepwell.server.settings import ServerSettings
from stepwell.settings import Settings

ADDRESS = "http://127.0.0.1:8123"
AUTH = {"path": "./auth.py:auth"}


def project(folder: Path, *graphs: str, **keys: Any) -> Graphs:
    file = folder / "langgraph.json"
    file.write_text(json.dumps({"graphs": dict.fromkeys(graphs or ("agent",), "./agent.py:make_graph"), **keys}))
    read = read_langgraph_json(file)
    return Graphs(GraphRegistry.from_project(read), read.notes, read)


def line(served: Graphs, name: str) -> str:
    shown = first_screen(ADDRESS, [], Settings.load({}), ServerSettings.load({}), served, "stepwell.db")
    return "\n".join(each[12:] for each in shown if each.startswith(f"  {name} "))


def test_a_project_with_auth_says_who_signs_people_in_and_what_the_terminal_sends(tmp_path: Path) -> None:
    served = project(tmp_path, auth=AUTH)
    assert line(served, "page") == f"open {ADDRESS} in a browser, once the project has signed you in"
    assert line(served, "talk").endswith(f"chat --url {ADDRESS} (STEPWELL_API_KEY is sent as x-api-key)")
    assert line(project(tmp_path), "page") == f"open {ADDRESS} in a browser"


@pytest.mark.parametrize(
    ("graphs", "end"), [(("agent",), ADDRESS), (("my agent", "simple_agent"), f"{ADDRESS} --assistant 'my agent'")]
)
def test_the_command_to_talk_reaches_the_projects_first_graph(tmp_path: Path, graphs: tuple[str, ...], end: str) -> None:
    assert line(project(tmp_path, *graphs), "talk").endswith(end)


def test_without_a_project_the_command_to_talk_takes_our_own_agent() -> None:
    assert line(graphs_to_serve(None), "talk").endswith(ADDRESS)


def test_origins_that_are_not_honoured_are_noted_unless_callers_say_who_they_are(tmp_path: Path) -> None:
    http = {"cors": {"allow_origin_regex": ".*"}}
    note = line(project(tmp_path, http=http), "note")
    assert note.startswith("'http.cors.allow_origin_regex' is not honoured on a server without sign-in")
    assert note.endswith("STEPWELL_AUTH=required.")
    assert line(project(tmp_path, http=http, auth=AUTH), "note") == ""


def test_auth_that_is_null_is_noted(tmp_path: Path) -> None:
    assert line(project(tmp_path, auth=None), "note") == (
        "'auth' in 'langgraph.json' is null, so the project does not decide who may call."
    )
