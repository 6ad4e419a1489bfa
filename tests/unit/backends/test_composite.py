"""D11: several backends as one tree. That a mount behaves like any backend is checked by the conformance suite."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from langgraph.store.memory import InMemoryStore
from tests.support.state_files import StateFiles

from stepwell.backends.composite import CompositeBackend
from stepwell.backends.protocol import Listing, WriteResult
from stepwell.backends.state import StateBackend
from stepwell.backends.store import StoreBackend
from stepwell.errors import ConfigurationError


def store_with(**contents: str) -> StoreBackend:
    """A backend with files; in a name, a double underscore is a slash and a single one a full stop."""
    backend = StoreBackend(InMemoryStore())
    for name, content in contents.items():
        backend.write("/" + name.replace("__", "/").replace("_", "."), content)
    return backend


class Remote(StoreBackend):
    remote = True


class Outspoken(StoreBackend):
    """A backend of somebody else's, whose errors are plain text."""

    def write(self, file_path: str, content: str, **options: Any) -> WriteResult:  # type: ignore[override]  # a test's shortcut
        return WriteResult(error=f"Cannot write {file_path}")


class Failing(StoreBackend):
    def glob_info(self, pattern: str, path: str = "/") -> Listing:
        return Listing(error="Error: away.")

    def grep_raw(self, pattern: str, path: str | None = None, glob: str | None = None) -> str:
        return "Error: away."


def paths_of(rows: Any) -> list[str]:
    assert not isinstance(rows, str), rows
    return [row["path"] for row in rows]


def test_the_longest_prefix_wins() -> None:
    """D11: routes by prefix, longest wins."""
    default, outer, inner = store_with(), store_with(), store_with()
    tree = CompositeBackend(default, {"/a/": outer, "/a/b/": inner})
    for path in ("/x.md", "/a/x.md", "/a/b/x.md", "/ab/x.md"):
        assert tree.write(path, path).path == path
    assert paths_of(default.glob_info("**")) == ["/ab/x.md", "/x.md"]
    assert paths_of(outer.glob_info("**")) == ["/x.md"]
    assert paths_of(inner.glob_info("**")) == ["/x.md"]
    assert tree.read("/a/b/x.md").endswith("/a/b/x.md")


def test_mounts_are_listed_beside_the_defaults_own_rows() -> None:
    tree = CompositeBackend(store_with(a_md="1", z__x_md="1"), {"/memories/": store_with(), "/deep/er/": store_with()})
    assert paths_of(tree.ls_info("/")) == ["/a.md", "/deep/", "/memories/", "/z/"]
    assert paths_of(tree.ls_info("/deep")) == ["/deep/er/"]
    assert tree.ls_info("/deep").error is None
    assert paths_of(tree.ls_info("/memories")) == []


def test_searches_from_above_look_into_mounts() -> None:
    tree = CompositeBackend(
        store_with(a_md="x"), {"/memories/": store_with(b_md="x", sub__c_md="x"), "/m/n/": store_with(d_md="x")}
    )
    everything = ["/a.md", "/m/n/d.md", "/memories/b.md", "/memories/sub/c.md"]
    assert paths_of(tree.grep_raw("x")) == everything
    assert paths_of(tree.glob_info("**/*.md")) == everything
    assert paths_of(tree.grep_raw("x", "/m")) == ["/m/n/d.md"]
    assert paths_of(tree.glob_info("**", "/m")) == ["/m/n/d.md"]
    assert paths_of(tree.grep_raw("x", "/memories/sub")) == ["/memories/sub/c.md"]


@pytest.mark.parametrize(
    ("pattern", "hits"),
    [
        ("*.md", ["/a.md"]),
        ("memories/*.md", ["/memories/b.md"]),
        ("*/*.md", ["/memories/b.md"]),
        ("mem*/sub/*", ["/memories/sub/c.md"]),
        ("{memories,other}/**", ["/memories/b.md", "/memories/sub/c.md"]),
        ("**/sub/*", ["/memories/sub/c.md"]),
        ("**/memories/*.md", ["/memories/b.md"]),
        ("other/**", []),
    ],
)
def test_a_glob_from_above_means_the_whole_path(pattern: str, hits: list[str]) -> None:
    tree = CompositeBackend(store_with(a_md="x"), {"/memories/": store_with(b_md="x", sub__c_md="x")})
    assert paths_of(tree.glob_info(pattern)) == hits
    if "/" in pattern:
        assert paths_of(tree.grep_raw("x", "/", pattern)) == hits


def test_remote_mounts_are_not_entered_from_above_and_a_note_says_so() -> None:
    remote = Remote(InMemoryStore())
    remote.write("/b.md", "x")
    tree = CompositeBackend(store_with(a_md="x"), {"/project/": remote})
    for rows in (tree.grep_raw("x"), tree.glob_info("**/*.md")):
        assert paths_of(rows) == ["/a.md"]
        assert "'/project/' was not searched" in rows.note
    assert paths_of(tree.ls_info("/")) == ["/a.md", "/project/"]
    assert paths_of(tree.grep_raw("x", "/project")) == ["/project/b.md"]
    assert tree.glob_info("*.md").note is None  # this pattern could not have matched there


def test_a_failing_part_leaves_the_rest_and_a_note() -> None:
    tree = CompositeBackend(store_with(a_md="x"), {"/away/": Failing(InMemoryStore())})
    for rows in (tree.grep_raw("x"), tree.glob_info("**")):
        assert paths_of(rows) == ["/a.md"]
        assert "away" in rows.note


@pytest.mark.parametrize("path", ["/memories", "/memories/", "/deep", "/deep/er"])
def test_nothing_can_take_a_mounts_place(path: str) -> None:
    tree = CompositeBackend(store_with(), {"/memories/": store_with(), "/deep/er/": store_with()})
    shown = f"'{path.rstrip('/')}' is a folder"
    assert shown in str(tree.write(path, "x", overwrite=True).error)
    assert shown in str(tree.edit(path, "x", "y").error)
    assert shown in tree.read(path)


def test_what_a_mount_covers_is_hidden() -> None:
    covered = store_with(memories__old_md="x", deep="x", a_md="x")
    tree = CompositeBackend(covered, {"/memories/": store_with(new_md="x"), "/deep/er/": store_with()})
    assert paths_of(tree.grep_raw("x")) == ["/a.md", "/memories/new.md"]
    assert paths_of(tree.glob_info("**")) == ["/a.md", "/memories/new.md"]
    assert paths_of(tree.ls_info("/")) == ["/a.md", "/deep/", "/memories/"]
    assert paths_of(tree.ls_info("/deep")) == ["/deep/er/"]


def test_errors_show_the_path_that_was_used() -> None:
    tree = CompositeBackend(store_with(), {"/memories/": store_with(a_md="one one")})
    assert "'/memories/none.md'. List the folder with ls('/memories')" in tree.read("/memories/none.md")
    assert "'/memories/a.md' exists already" in str(tree.write("/memories/a.md", "x").error)
    assert "2 times in '/memories/a.md'" in str(tree.edit("/memories/a.md", "one", "x").error)
    assert "'/memories/none'" in str(tree.ls_info("/memories/none").error)
    assert "'/memories/none'" in str(tree.grep_raw("x", "/memories/none"))
    assert "'/memories/a.md' is a file" in str(tree.write("/memories/a.md/b", "x").error)


def test_only_paths_change_in_an_error() -> None:
    """A file's text that looks like a path is no path."""
    tree = CompositeBackend(store_with(), {"/m/": store_with(a_md="see '/a.md'")})
    assert tree.read("/m/a.md") == "     1\tsee '/a.md'"
    assert tree.grep_raw("see", "/m")[0]["line_content"] == "see '/a.md'"


def test_an_error_in_plain_text_is_passed_on_with_its_place() -> None:
    tree = CompositeBackend(store_with(), {"/m/": Outspoken(InMemoryStore())})
    error = str(tree.write("/m/a.md", "x").error)
    assert error.startswith("Cannot write /a.md")
    assert "'/m/'" in error


def test_prefixes_of_a_mounted_backend_are_shown_below_the_mount() -> None:
    tree = CompositeBackend(store_with(), {"/m/": StoreBackend(InMemoryStore(), allowed_prefixes=("/open",))})
    assert "'/m/open'" in str(tree.write("/m/a.md", "x").error)
    assert tree.write("/m/open/a.md", "x").error is None


def test_state_backends_at_several_mounts_do_not_collide() -> None:
    """D11: each keeps its files under their full paths."""
    state = StateFiles()
    tree = CompositeBackend(StateBackend(), {"/one/": StateBackend(), "/two/": StateBackend()})
    for path in ("/a.md", "/one/a.md", "/two/a.md"):
        assert state.run(tree, "write", path, f"at {path}").path == path
    assert sorted(state.files) == ["/a.md", "/one/a.md", "/two/a.md"]
    for path in ("/a.md", "/one/a.md", "/two/a.md"):
        assert state.run(tree, "read", path).endswith(f"at {path}")
    assert paths_of(state.run(tree, "glob_info", "**")) == ["/a.md", "/one/a.md", "/two/a.md"]


def test_state_behind_nested_composites_keeps_full_paths() -> None:
    state = StateFiles()
    inner = CompositeBackend(StateBackend(), {"/deep/": StateBackend()})
    tree = CompositeBackend(StateBackend(), {"/in/": inner})
    for path in ("/a.md", "/in/a.md", "/in/deep/a.md"):
        assert state.run(tree, "write", path, "x").path == path
    assert sorted(state.files) == ["/a.md", "/in/a.md", "/in/deep/a.md"]


def test_children_may_be_factories() -> None:
    """D11: instance or factory."""
    seen: list[Any] = []
    store = InMemoryStore()

    def make(runtime: Any) -> StoreBackend:
        seen.append(runtime)
        return StoreBackend(store, namespace=("files", runtime.user))

    tree = CompositeBackend(StateBackend, {"/memories/": make}).bind(SimpleNamespace(user="alice", state={"files": {}}))
    assert tree.write("/memories/a.md", "x").error is None
    assert seen[0].user == "alice"
    assert store.get(("files", "alice"), "/a.md") is not None
    assert tree.write("/b.md", "x").files_update is not None


def test_children_are_called_in_the_callers_colour() -> None:
    child = store_with(a_md="x")
    calls: list[str] = []
    for name in ("read", "aread", "grep_raw", "agrep_raw"):
        verb = getattr(child, name)
        setattr(child, name, lambda *args, verb=verb, name=name: calls.append(name) or verb(*args))
    tree = CompositeBackend(store_with(), {"/m/": child})
    tree.read("/m/a.md")
    tree.grep_raw("x")
    assert calls == ["read", "grep_raw"]
    calls.clear()
    asyncio.run(tree.aread("/m/a.md"))
    asyncio.run(tree.agrep_raw("x"))
    assert calls == ["aread", "agrep_raw"]


@pytest.mark.parametrize("route", ["memories/", "/memories", "/", "", "/a/../b/", "//a/", "/a//b/", "/a\x00/", "C:/", "/./a/"])
def test_a_bad_route_is_refused_when_built(route: str) -> None:
    with pytest.raises(ConfigurationError, match="CompositeBackend"):
        CompositeBackend(store_with(), {route: store_with()})


@pytest.mark.parametrize("child", [None, "state", 7, {}])
def test_what_is_no_backend_is_refused_when_built(child: Any) -> None:
    with pytest.raises(ConfigurationError, match="backend"):
        CompositeBackend(child)
    with pytest.raises(ConfigurationError, match="'/m/'"):
        CompositeBackend(store_with(), {"/m/": child})


class Counted(StoreBackend):
    """Counts how often it is asked for whole files."""

    def __init__(self, *files: str) -> None:
        super().__init__(InMemoryStore())
        self.asked: list[list[str]] = []
        for name in files:
            self.write(name, f"text of {name}")

    def download_files(self, paths: Any) -> Any:
        self.asked.append(list(paths))
        return super().download_files(paths)


@pytest.mark.parametrize("form", ["sync", "async"])
def test_whole_files_take_one_call_of_each_child(form: str) -> None:
    top, inner = Counted("/a.md", "/b.md"), Counted("/c.md")
    tree = CompositeBackend(top, {"/m/": inner})
    wanted = ["/m/c.md", "/a.md", "/m/none.md", "/b.md", "/m/", "/../x", "/a.md"]
    rows = tree.download_files(wanted) if form == "sync" else asyncio.run(tree.adownload_files(wanted))
    assert [(row.path, row.content, row.error) for row in rows] == [
        ("/m/c.md", b"text of /c.md", None),
        ("/a.md", b"text of /a.md", None),
        ("/m/none.md", None, "file_not_found"),
        ("/b.md", b"text of /b.md", None),
        ("/m/", None, "is_directory"),
        ("/../x", None, "invalid_path"),
        ("/a.md", b"text of /a.md", None),
    ]
    assert "/m/none.md" in str(rows[2].message)
    assert (top.asked, inner.asked) == ([["/a.md", "/b.md"]], [["/c.md", "/none.md"]])
