"""The langgraph.json of any project can be read; what it asks for and does not get is said, and what is wrong is refused."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from stepwell.errors import ConfigurationError
from stepwell.runs.graphs.langgraph_json import LanggraphProject, read_langgraph_json

GRAPHS = {"agent": "./agent.py:graph"}


def write(folder: Path, content: Any) -> Path:
    (folder / "agent.py").write_text("graph = None\n")
    file = folder / "langgraph.json"
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    return file


def read(folder: Path, **keys: Any) -> LanggraphProject:
    return read_langgraph_json(write(folder, {"graphs": GRAPHS, **keys}))


@pytest.fixture(autouse=True)
def _same_path_and_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(os, "environ", dict(os.environ))


def test_the_three_ways_to_write_a_graph_are_read(tmp_path: Path) -> None:
    graphs = {**GRAPHS, "module": "package.module:make", "told": {"path": "./agent.py:graph", "description": "What it does"}}

    project = read_langgraph_json(write(tmp_path, {"graphs": graphs}))

    assert {name: (spec.target, spec.description) for name, spec in project.graphs.items()} == {
        "agent": ("./agent.py:graph", None),
        "module": ("package.module:make", None),
        "told": ("./agent.py:graph", "What it does"),
    }
    assert project.notes == ()


def test_the_projects_own_file_is_read() -> None:
    root = Path(__file__).parents[4]

    project = read_langgraph_json(root / "langgraph.json")

    assert "research" in project.graphs
    assert project.notes == ()


def test_reading_changes_nothing_and_entering_makes_local_folders_importable(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    before = list(sys.path)
    project = read(tmp_path, dependencies=[".", "./lib"])
    assert sys.path == before

    project.enter()
    project.enter()

    assert sys.path == [*before, str(tmp_path.resolve()), str((tmp_path / "lib").resolve())]


def test_variables_of_the_project_never_replace_those_of_the_process(tmp_path: Path) -> None:
    os.environ["REGISTRY_TEST_SET"] = "mine"

    read(tmp_path, env={"REGISTRY_TEST_SET": "theirs", "REGISTRY_TEST_NEW": "theirs", "REGISTRY_TEST_NUMBER": 3}).enter()

    names = ("REGISTRY_TEST_SET", "REGISTRY_TEST_NEW", "REGISTRY_TEST_NUMBER")
    assert [os.environ[name] for name in names] == ["mine", "theirs", "3"]


def test_variables_come_from_a_dotenv_file_and_do_not_show(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("REGISTRY_TEST_KEY=secret-value\n")

    project = read(tmp_path, env=".env")
    project.enter()

    assert os.environ["REGISTRY_TEST_KEY"] == "secret-value"
    assert "secret-value" not in repr(read(tmp_path, env={"KEY": "secret-value"}))
    assert str(tmp_path) not in repr(project)


def test_keys_that_are_not_honoured_are_noted_and_those_for_images_are_not(tmp_path: Path) -> None:
    asked = {"ui": {"agent": "./ui.tsx"}, "odd": 1}
    images = {"python_version": "3.12", "dockerfile_lines": ["RUN x"], "image_distro": "wolfi"}

    notes = read(tmp_path, **asked, **images, checkpointer={"ttl": {"default_ttl": 5}, "path": "./saver.py:make"}).notes

    assert len(notes) == 3
    for key in (*asked, "checkpointer.path"):
        assert any(note.startswith(f"'{key}' in 'langgraph.json' is not honoured") for note in notes), key


def test_files_and_folders_that_are_not_there_are_noted(tmp_path: Path) -> None:
    project = read(tmp_path, env="settings/.env", dependencies=[".", "./gone"])

    assert project.notes == (
        "'env' in 'langgraph.json' names the file '.env', which does not exist. If a graph needs its variables, create it.",
        "'dependencies' in 'langgraph.json' names the folder 'gone', which does not exist. Remove or create it.",
    )
    assert (project.env, project.import_folders) == ({}, (tmp_path,))


def test_packages_in_the_src_of_a_project_are_importable_in_place(tmp_path: Path) -> None:
    for folder in ("a/src/pkg", "b/src", "c/src"):
        (tmp_path / folder).mkdir(parents=True)
    for file in ("a/pyproject.toml", "c/pyproject.toml", "c/src/__init__.py"):
        (tmp_path / file).touch()

    project = read(tmp_path, dependencies=["./a", "b", "./c"])  # b is no project; src of c is itself a package

    assert project.import_folders == tuple(tmp_path / each for each in (".", "a", "a/src", "b", "c"))


def test_a_package_that_is_not_installed_is_noted(tmp_path: Path) -> None:
    notes = read(tmp_path, dependencies=[".", "langgraph>=1", "no-such-package-here[extra]>=2"]).notes

    assert len(notes) == 1
    assert "'no-such-package-here'" in notes[0]
    assert "pip install" in notes[0]


def test_classes_that_may_be_read_back_are_taken_over_but_not_all_of_them(tmp_path: Path) -> None:
    listed = read(tmp_path, checkpointer={"serde": {"allowed_msgpack_modules": [["my.state", "Plan"]]}})
    everything = read(tmp_path, checkpointer={"serde": {"allowed_msgpack_modules": True, "pickle_fallback": True}})

    assert (listed.allowed_classes, listed.notes) == ((("my.state", "Plan"),), ())
    assert everything.allowed_classes == ()
    assert "Only listed classes are read back" in everything.notes[0]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{not json", "is not JSON in line 1"),
        ('{"graphs": "\udcff"}'.encode("utf-8", "surrogateescape").decode("latin-1"), "does not say|no 'graphs'"),
        ("[" * 100_000, "nested too deeply|is not JSON"),
        ([1], "must contain a JSON object"),
        ({}, "has no 'graphs'"),
        ({"graphs": []}, "has no 'graphs'"),
        ({"graphs": {" ": "./agent.py:graph"}}, "without a name"),
        ({"graphs": {"a": 3}}, "entry of the graph 'a' cannot be read"),
        ({"graphs": {"a": {"description": "x"}}}, "entry of the graph 'a' cannot be read"),
        ({"graphs": {"a": "./agent.py"}}, "graph 'a' does not name a file"),
        ({"graphs": {"a": "./agent.py:"}}, "graph 'a' does not name a file"),
        ({"graphs": GRAPHS, "dependencies": "."}, "'dependencies' in 'langgraph.json' must be a list"),
        ({"graphs": GRAPHS, "env": [1]}, "'env' in 'langgraph.json' must be"),
        ({"graphs": GRAPHS, "env": {"A=B": "c"}}, "'env' in 'langgraph.json' must be"),
        ({"graphs": GRAPHS, "env": {"A": None}}, "'env' in 'langgraph.json' must be"),
        ({"graphs": GRAPHS, "checkpointer": {"serde": {"allowed_msgpack_modules": ["x"]}}}, "must be a list of"),
    ],
)
def test_what_is_wrong_is_refused_with_a_sentence_without_a_path(tmp_path: Path, content: Any, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said) as refused:
        read_langgraph_json(write(tmp_path, content))
    assert str(tmp_path) not in str(refused.value)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"'langgraph\.json' cannot be read: No such file or directory\. Give"):
        read_langgraph_json(tmp_path / "langgraph.json")


def test_a_folder_is_refused_for_what_it_is(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"cannot be read: Is a directory\. Give the path of a langgraph\.json\."):
        read_langgraph_json(tmp_path)
