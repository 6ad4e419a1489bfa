"""Backends with the verbs and results of deepagents 0.7 serve as they are."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any

import pytest
from langgraph.store.memory import InMemoryStore

from stepwell import CompositeBackend, ConfigurationError, StoreBackend, create_deep_agent
from stepwell.backends.foreign import ForeignBackend, accept
from stepwell.backends.protocol import BackendProtocol, ErrorText
from stepwell.backends.steps import run_steps
from stepwell.testing import ScriptedModel, call, say

ASK = {"messages": [("user", "go")]}
PIXEL = b"\x89PNG\r\n\x1a\n\x00"


@dataclass
class Result:
    """Any of their results: what matters is which fields it has."""

    error: str | None = None
    path: str | None = None
    entries: list[Any] | None = None
    matches: list[Any] | None = None
    file_data: dict[str, str] | None = None
    total_lines: int | None = None
    start_line: int | None = None
    occurrences: int | None = None
    truncated: bool = False
    content: bytes | None = None


class Folder:
    """Files in a dict, behind sync verbs."""

    def __init__(self, **files: str) -> None:
        self.files: dict[str, str | bytes] = {f"/{name.replace('_', '.')}": content for name, content in files.items()}

    def ls(self, path: str) -> Result:
        if path != "/":
            return Result(error=f"Path '{path}' not found")
        return Result(entries=[{"path": "/sub", "is_dir": True}, *({"path": each} for each in self.files)])

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> Result:
        if file_path not in self.files:
            return Result(error="file_not_found")
        content = self.files[file_path]
        if isinstance(content, bytes):
            return Result(file_data={"content": base64.b64encode(content).decode(), "encoding": "base64"})
        lines = content.split("\n")
        shown = lines[offset : offset + limit]
        return Result(
            file_data={"content": "\n".join(shown), "encoding": "utf-8"}, total_lines=len(lines), start_line=offset + 1
        )

    def grep(self, pattern: str, path: str | None = None, glob: str | None = None, *, max_count: int | None = None) -> Result:
        lines = [(name, n, line) for name, text in self.files.items() for n, line in enumerate(str(text).split("\n"), 1)]
        return Result(matches=[{"path": a, "line": n, "text": line} for a, n, line in lines if pattern in line], truncated=True)

    def glob(self, pattern: str, path: str | None = None) -> Result:
        return Result(matches=[{"path": each.lstrip("/")} for each in self.files] + [{"path": "deep/down/x.md"}])

    def write(self, file_path: str, content: str) -> Result:
        self.files[file_path] = content
        return Result(path=file_path)

    def edit(self, file_path: str, old_string: str, new_string: str, replace_all: bool = False) -> Result:
        text = self.files.get(file_path)
        if not isinstance(text, str):
            return Result(error=f"Error: File '{file_path}' not found")
        self.files[file_path] = text.replace(old_string, new_string)
        return Result(path=file_path, occurrences=text.count(old_string))


class AsyncFolder:
    """The same behind async verbs alone."""

    def __init__(self, **files: str) -> None:
        self._sync = Folder(**files)
        self.files = self._sync.files

    async def als(self, path: str) -> Result:
        return self._sync.ls(path)

    async def aread(self, file_path: str, offset: int = 0, limit: int = 2000) -> Result:
        return self._sync.read(file_path, offset, limit)

    async def agrep(self, pattern: str, path: str | None = None, glob: str | None = None) -> Result:
        return self._sync.grep(pattern, path, glob)

    async def aglob(self, pattern: str, path: str | None = None) -> Result:
        return self._sync.glob(pattern, path)

    async def awrite(self, file_path: str, content: str) -> Result:
        return self._sync.write(file_path, content)

    async def aedit(self, file_path: str, old_string: str, new_string: str, replace_all: bool = False) -> Result:
        return self._sync.edit(file_path, old_string, new_string, replace_all)


class Derived(Folder, BackendProtocol):
    """Derived from a protocol class, whose other verbs are stubs."""


KINDS: list[type[Any]] = [Folder, AsyncFolder, Derived]


@pytest.mark.parametrize("form", ["sync", "async"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mounted", [False, True])
async def test_the_file_tools_work(form: str, kind: type[Any], mounted: bool) -> None:
    folder = kind(a_md="one\ntwo\nthree")
    at = "/theirs" if mounted else ""
    backend = CompositeBackend(StoreBackend(InMemoryStore()), {"/theirs/": folder}) if mounted else folder
    turns = [
        call("ls", path=f"{at}/"),
        call("read_file", file_path=f"{at}/a.md", offset=1, limit=1),
        call("grep", pattern=r"two", path=f"{at}/"),
        call("glob", pattern="*.md", path=f"{at}/"),
        call("write_file", file_path=f"{at}/a.md", content="x"),
        call("write_file", file_path=f"{at}/b.md", content="new"),
        call("edit_file", file_path=f"{at}/b.md", old_string="new", new_string="newer"),
        call("read_file", file_path=f"{at}/nope.md"),
        call("edit_file", file_path=f"{at}/nope.md", old_string="a", new_string="b"),
    ]
    agent = create_deep_agent(ScriptedModel([*turns, say("ok")]), backend=backend)
    final = agent.invoke(ASK) if form == "sync" else await agent.ainvoke(ASK)
    assert [message.text for message in final["messages"] if message.type == "tool"] == [
        f"{at}/a.md (0 bytes)\n{at}/sub/",
        "     2\ttwo\n(1 more lines; go on with offset=2)",
        f"{at}/a.md\n     2: two\n(The search stopped early, so there may be more. Narrow it.)",
        f"{at}/a.md",
        f"Error: '{at}/a.md' exists already. Change it with edit_file, or replace it with overwrite=true.",
        f"Wrote {at}/b.md (3 characters).",
        f"Edited {at}/b.md: 1 replacement.",
        f"Error: no file '{at}/nope.md'. List the folder with ls('{at or '/'}').",
        f"Error: File '{at}/nope.md' not found",
    ]
    assert folder.files == {"/a.md": "one\ntwo\nthree", "/b.md": "newer"}


def test_our_own_backends_and_factories_are_left_alone() -> None:
    ours = StoreBackend(InMemoryStore())
    assert accept(ours) is ours
    assert accept(Folder) is Folder
    factory = lambda runtime: Folder(a_md="x")  # noqa: E731  # what people pass
    assert accept(factory) is factory
    agent = create_deep_agent(ScriptedModel([call("read_file", file_path="/a.md"), say("ok")]), backend=factory)  # type: ignore[arg-type, return-value]
    assert agent.invoke(ASK)["messages"][-2].text == "     1\tx"


def test_bad_paths_do_not_reach_the_backend() -> None:
    folder = accept(Folder())
    assert "climbs out" in str(folder.read("/../etc/passwd"))
    assert "climbs out" in str(folder.write("/../x", "1").error)
    assert "climbs out" in str(folder.ls_info("/a/../..").error)
    assert folder.inner.files == {}


@pytest.mark.parametrize(
    ("pattern", "found"), [("a.b", None), (r"a\.b", ["/x.md"]), ("a|b", None), (r"\d", None), ("plain", []), (r"a\\b", [])]
)
def test_a_regular_expression_gets_a_sentence(pattern: str, found: list[str] | None) -> None:
    answer = accept(Folder(x_md="a.b")).grep_raw(pattern)
    if found is None:
        assert isinstance(answer, ErrorText)
        assert "only be searched for exact text" in answer
    else:
        assert [row["path"] for row in answer] == found


def test_versions_tell_a_change_in_between() -> None:
    folder = Folder(a_md="one")
    backend = ForeignBackend(folder)
    version = backend.write("/a.md", "two", overwrite=True).version
    folder.files["/a.md"] = "somebody else's"
    assert "conflict" in str(backend.write("/a.md", "three", expected_version=version).error)
    assert "conflict" in str(backend.edit("/a.md", "else", "new", expected_version=version).error)
    assert folder.files["/a.md"] == "somebody else's"


def test_whole_files_come_from_base64_or_from_downloads() -> None:
    folder = Folder(a_md="ä")
    folder.files["/p.png"] = PIXEL
    backend = ForeignBackend(folder)
    assert [backend.read_whole(path) for path in ("/a.md", "/p.png")] == ["ä".encode(), PIXEL]
    assert "is not a text file" in backend.read("/p.png")
    assert "no file" in str(backend.read_whole("/nope"))
    assert backend.upload_files([("/u.md", b"up")])[0].error is None
    assert folder.files["/u.md"] == "up"

    class Downloads(Folder):
        def download_files(self, paths: list[str]) -> list[Result]:
            return [Result(path=path, content=b"bytes") if path == "/d" else Result("file_not_found", path) for path in paths]

        def upload_files(self, files: list[tuple[str, bytes]]) -> list[Result]:
            return [Result("disk full", path) for path, _ in files]

    backend = ForeignBackend(Downloads())
    assert backend.read_whole("/d") == b"bytes"
    assert "no file '/e'" in str(backend.read_whole("/e"))
    assert [(each.content, each.error) for each in backend.download_files(["/d", "/e"])] == [
        (b"bytes", None),
        (None, "file_not_found"),
    ]
    (row,) = backend.upload_files([("/u", b"x")])
    assert (row.error, row.message) == ("permission_denied", "Error: disk full")


def test_a_verb_that_a_backend_lacks_is_a_sentence() -> None:
    class Poor:
        def ls(self, path: str) -> Result:
            return Result(entries=[])

    backend = accept(Poor())
    assert backend.ls_info("/") == []  # type: ignore[attr-defined]  # wrapped
    assert backend.read("/a") == "Error: this backend cannot read files. Use another tool."  # type: ignore[attr-defined]
    assert backend.write("/a", "x").error == "Error: this backend cannot write files. Use another tool."  # type: ignore[attr-defined]


def test_delete_is_there_only_if_they_have_it() -> None:
    class Deleting(Folder):
        def delete(self, file_path: str) -> Result:
            return Result(path=file_path) if self.files.pop(file_path, None) else Result("file_not_found")

    backend = ForeignBackend(Deleting(a_md="x"))
    assert (backend.offers("delete"), backend.offers("move"), ForeignBackend(Folder()).offers("delete")) == (True, False, False)
    assert run_steps(backend.delete_steps("/a.md", None), backend.perform).path == "/a.md"
    assert backend.inner.files == {}
    assert "no file '/a.md'" in run_steps(backend.delete_steps("/a.md", None), backend.perform).error
    assert "climbs out" in run_steps(backend.delete_steps("/../a.md", None), backend.perform).error


def test_their_sandbox_brings_execute() -> None:
    class Sandbox(Folder):
        id = "box"

        def execute(self, command: str, *, timeout: int | None = None) -> Any:
            return type("ExecuteResponse", (), {"output": f"ran {command}", "exit_code": 0, "truncated": False})()

    for backend in (Sandbox(), CompositeBackend(Sandbox())):  # type: ignore[arg-type]  # by shape
        agent = create_deep_agent(ScriptedModel([call("execute", command="ls"), say("ok")]), backend=backend)  # type: ignore[arg-type]
        assert agent.invoke(ASK)["messages"][-2].text == "ran ls"
    with pytest.raises(ConfigurationError, match="backend is a dict"):
        create_deep_agent(ScriptedModel([]), backend={})  # type: ignore[arg-type]
