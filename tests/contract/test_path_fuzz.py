"""D12: thousands of hostile paths and patterns, the same verdict from every backend: no exception, no escape, no disagreement.

Each case is given to all verbs of five backends that hold the same files. What they answer must be equal, to the letter of every
error. Around the folders on disk lies a canary, which nobody may read, change or add to.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from langgraph.store.memory import InMemoryStore

from stepwell.backends.changes import reduce_files
from stepwell.backends.composite import CompositeBackend
from stepwell.backends.filesystem import FilesystemBackend
from stepwell.backends.objects import ObjectBackend, memory_bucket
from stepwell.backends.paths import resolve
from stepwell.backends.permissions import FilesystemPermission, PathRules
from stepwell.backends.protocol import BackendProtocol, ErrorText
from stepwell.backends.state import StateBackend
from stepwell.backends.store import StoreBackend
from stepwell.testing.backends.conformance import NASTY_PATHS
from stepwell.tools.files.permitted import PermittedBackend

CANARY = "canary: never to be seen"
SEED = {"/a.md": "one\ntwo\n", "/docs/b.md": "two\n", "/docs/deep/c.md": "three\n"}

# The profile of `make prove` asks for 10,000 cases.
CASES = settings(max_examples=max(100, settings.default.max_examples if settings.default else 0), deadline=None)

DOTS = st.sampled_from([
    "..", ".", "...", "%2e%2e", "%2E.", ".%2e", "%252e%252e", "%25252e%25252e", "．．", "‥", "․․", "。。", "..%2f", "..%5c",
    "%c0%ae%c0%ae", "%uff0e%uff0e", ".. ", " ..", "..\u200b", "\u2024.", "..;", "..%00", "%2e%2e%2f", "&#46;&#46;", "%",
])  # fmt: skip
HIDDEN = st.sampled_from(["\x00", "\n", "\r", "\t", "\x1b", "\x7f", "\x85", "\u202e", "\u2066", "\u200b", "\u200e", "\ufeff", "\u2028",
                          "\ud800", "\udfff", "\U000e0001", "\u00ad"])  # fmt: skip
FOREIGN = st.sampled_from(["C:", "c:\\", "\\\\?\\C:\\", "\\", "~", "~root", "file://", "http://x", "//host", "$HOME", "%TEMP%", "CON",
                           "nul.txt", "a:b", "|", "*", "?", "-rf", "`id`", "proc", "self", "etc", "passwd"])  # fmt: skip
VALID = st.sampled_from(["a.md", "docs", "b.md", "deep", "c.md", "new", "new.md", "A.md", "ünï.md", "e\u0301", "é", "漢字", "🏺", ".hidden",
                         "a b", "it's", '"q"', "canary.txt", "root", "outside"])  # fmt: skip
LONG = st.sampled_from(["x" * 255, "x" * 256, "ü" * 127, "ü" * 128, "x" * 2_000, "d/" * 400])
SPACES = st.sampled_from(["", " ", "  ", "\u3000", "\u00a0"])
ANY = st.text(max_size=8)

SEGMENT = st.one_of(VALID, VALID, DOTS, HIDDEN, FOREIGN, LONG, SPACES, ANY, st.tuples(VALID, HIDDEN).map("".join),
                    st.tuples(DOTS, VALID).map("".join), st.tuples(VALID, DOTS).map("".join))  # fmt: skip
SLASH = st.sampled_from(["/", "/", "/", "//", "/./", "\\", "∕", "／", "⁄", "%2f"])


@st.composite
def hostile_paths(draw: st.DrawFn) -> str:
    parts = [draw(st.sampled_from(["/", "/", "", "//", "./"]))]
    for segment in draw(st.lists(SEGMENT, max_size=5)):
        parts += [segment, draw(SLASH)]
    text = "".join(parts)
    return text if draw(st.booleans()) else text.rstrip("/")


PATTERN_PART = st.one_of(VALID, DOTS, HIDDEN, st.sampled_from(["*", "**", "?", "[a-z]", "[!a]", "[", "]", "{a,b}", "{", "}", ",", "[z-a]",
                         "*.md", "{*.md,*.txt}", "\\", "**.md", "a**", "[]]", "[^/]", "{,a}", "{a,{b,c}}"]), ANY)  # fmt: skip


@st.composite
def hostile_patterns(draw: st.DrawFn) -> str:
    parts = draw(st.lists(st.tuples(PATTERN_PART, st.sampled_from(["/", "/", "", "//"])), max_size=5))
    return "".join(part for pair in parts for part in pair)


class Quintet:
    """Five backends with the same files, and the folder around those on disk."""

    def __init__(self, outside: Path) -> None:
        self.outside = outside
        self.roots = (outside / "root", outside / "root2")
        (outside / "canary.txt").write_text(CANARY)
        self.reset()

    def reset(self) -> None:
        for root in self.roots:
            shutil.rmtree(root, ignore_errors=True)
            root.mkdir()
        self.runtime = SimpleNamespace(state={"files": {}})
        self.backends: dict[str, BackendProtocol] = {
            "state": StateBackend(self.runtime),
            "store": StoreBackend(InMemoryStore()),
            "disk": FilesystemBackend(self.roots[0]),
            "objects": ObjectBackend(memory_bucket(), "/w/"),
            "composite": CompositeBackend(StoreBackend(InMemoryStore()), {"/docs/": FilesystemBackend(self.roots[1])}),
        }
        for path, content in SEED.items():
            self.ask("write", path, content)

    def ask(self, verb: str, *args: Any, without: str = "", **kwargs: Any) -> Any:
        """What all five answer (or four, without one of them), after checking that it is the same."""
        answers = {name: _plain(self._call(name, verb, *args, **kwargs)) for name in self.backends if name != without}
        first = answers["state"]
        for name, answer in answers.items():
            assert answer == first, f"{verb}{args!a}: {name} says {answer!a}, state says {first!a}"
        assert CANARY not in str(first)
        assert str(self.outside) not in str(first)
        return first

    def check_outside(self) -> None:
        assert sorted(entry.name for entry in self.outside.iterdir()) == ["canary.txt", "root", "root2"]
        assert (self.outside / "canary.txt").read_text() == CANARY

    def _call(self, name: str, verb: str, *args: Any, **kwargs: Any) -> Any:
        answer = getattr(self.backends[name], verb)(*args, **kwargs)
        if name == "state" and getattr(answer, "files_update", None):
            self.runtime.state["files"] = reduce_files(self.runtime.state["files"], [answer.files_update])
        return answer


def _plain(answer: Any) -> Any:
    """An answer without what may differ: times, versions (each backend has its own, or none), and the state's own update."""
    if isinstance(answer, str):
        return (isinstance(answer, ErrorText), str(answer))
    if isinstance(answer, list):
        rows = [{key: value for key, value in row.items() if key not in ("modified_at", "version")} for row in answer]
        return rows, getattr(answer, "error", None), getattr(answer, "note", None)
    return {key: value for key, value in vars(answer).items() if key != "files_update"}


@pytest.fixture(scope="module")
def quintet(tmp_path_factory: pytest.TempPathFactory) -> Quintet:
    return Quintet(tmp_path_factory.mktemp("outside"))


def _all_examples(test: Any) -> Any:
    for raw in NASTY_PATHS:
        if isinstance(raw, str):
            test = example(raw=raw)(test)
    return test


@pytest.mark.prove
@pytest.mark.timeout(3600)
@_all_examples
@given(raw=hostile_paths())
@CASES
def test_no_path_escapes_raises_or_divides_the_backends(quintet: Quintet, raw: str) -> None:
    """D12: traversal, NUL, drives and the rest get the same result from all five backends."""
    quintet.ask("ls_info", raw)
    quintet.ask("read", raw)
    quintet.ask("grep_raw", "two|one", raw)
    quintet.ask("glob_info", "**/*", raw)
    edited = quintet.ask("edit", raw, "two", "2")
    written = quintet.ask("write", raw, "new\n")
    replaced = quintet.ask("write", raw, "newer\n", overwrite=True)
    if edited["error"] is None or written["error"] is None or replaced["error"] is None:
        quintet.ask("read", raw)
        quintet.ask("glob_info", "**", "/")
        quintet.check_outside()
        quintet.reset()
    quintet.check_outside()


@pytest.mark.prove
@pytest.mark.timeout(3600)
@_all_examples
@given(raw=hostile_paths())
@CASES
def test_no_path_deletes_or_moves_what_is_outside(quintet: Quintet, raw: str) -> None:
    """D12: the same result from all five backends; only the composite keeps the folder where another backend is mounted."""
    without = "composite" if resolve(raw) == "/docs" else ""
    for verb, args in (
        ("delete", (raw,)),
        ("move", (raw, "/moved/x")),
        ("move", ("/a.md", raw)),
        ("move", ("/docs/deep", raw)),
    ):
        done = quintet.ask(verb, *args, without=without)
        assert "/" not in (done["path"],)
        if done["error"] is None:
            quintet.ask("glob_info", "**", "/", without=without)
            quintet.check_outside()
            quintet.reset()
    quintet.check_outside()


@pytest.mark.prove
@pytest.mark.timeout(3600)
@given(raw=hostile_patterns())
@CASES
def test_no_pattern_raises_or_divides_the_backends(quintet: Quintet, raw: str) -> None:
    """D12: globs and expressions from a model mean the same everywhere, also when they are broken."""
    quintet.ask("glob_info", raw, "/")
    quintet.ask("glob_info", raw, "/docs")
    quintet.ask("grep_raw", "t", "/", raw)
    quintet.ask("grep_raw", raw, "/", None)
    quintet.check_outside()


DENIED = PathRules([FilesystemPermission(["read", "write"], ["/docs/**", "/e\u0301", "/new/**"], "deny")])


class GuardedQuintet(Quintet):
    """The same five behind rules. What is denied must look the same at the end as at the beginning, and no answer may tell of it."""

    def guard(self) -> None:
        self.open, self.backends = self.backends, {name: PermittedBackend(each, DENIED) for name, each in self.backends.items()}

    def unguard(self) -> None:
        self.backends = self.open

    def hidden_texts(self) -> Any:
        self.unguard()
        try:
            return [self.ask("read", path) for path in SEED if path.startswith("/docs")], self.ask("glob_info", "**/*", "/docs")
        finally:
            self.guard()


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> GuardedQuintet:
    made = GuardedQuintet(tmp_path_factory.mktemp("guarded"))
    made.guard()
    return made


@pytest.mark.prove
@pytest.mark.timeout(3600)
@_all_examples
@example(raw="\\docs\\b.md")
@example(raw="docs/b.md")
@example(raw="/./docs//b.md")
@given(raw=hostile_paths())
@CASES
def test_no_form_of_a_path_reaches_a_denied_file(guarded: GuardedQuintet, raw: str) -> None:
    """Traversal, look-alikes, backslashes and the rest: no backend shows or changes what the rules deny."""
    before = guarded.hidden_texts()
    answers = [
        guarded.ask("ls_info", raw),
        guarded.ask("read", raw),
        guarded.ask("grep_raw", "two|three", raw),
        guarded.ask("glob_info", "**/*", raw),
    ]
    changes = [
        guarded.ask("edit", raw, "two", "2"),
        guarded.ask("write", raw, "new\n"),
        guarded.ask("write", raw, "newer\n", overwrite=True),
        guarded.ask("move", raw, "/elsewhere"),
        guarded.ask("move", "/a.md", raw, overwrite=True),
        guarded.ask("delete", raw),
    ]
    assert guarded.hidden_texts() == before
    for answer in answers:
        assert "three" not in str(answer)
        rows = answer[0] if isinstance(answer[0], list) else []
        assert not any(row["path"].startswith("/docs") for row in rows)
    if any(change["error"] is None for change in changes):
        guarded.unguard()
        guarded.reset()
        guarded.guard()
    guarded.check_outside()


@pytest.mark.prove
@pytest.mark.timeout(3600)
@given(raw=hostile_patterns())
@CASES
def test_no_pattern_shows_a_denied_file(guarded: GuardedQuintet, raw: str) -> None:
    """A glob or an expression of any form finds only what may be seen."""
    for answer in (
        guarded.ask("glob_info", raw, "/"),
        guarded.ask("grep_raw", "t", "/", raw),
        guarded.ask("grep_raw", raw, "/", None),
    ):
        rows = answer[0] if isinstance(answer[0], list) else []
        assert not any(row["path"].startswith("/docs") for row in rows)
    assert "permission denied" in str(guarded.ask("glob_info", "**/*", "/docs"))
