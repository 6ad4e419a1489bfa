"""The part of the backend suite about paths: the same verdict from all verbs, and never an exception."""

from __future__ import annotations

from typing import Any

import pytest

from stepwell.backends import paths
from stepwell.backends.protocol import ErrorText
from stepwell.testing.backends.case import BackendCase, Verbs

NASTY_PATHS: tuple[Any, ...] = (
    "..",
    "/..",
    "../a.md",
    "/docs/../../a.md",
    "/docs/../a.md",
    "/%2e%2e/a.md",
    "/%252e%252e%252fa.md",
    "/..%2fa.md",
    "/%c0%ae%c0%ae/a.md",
    "/\uff0e\uff0e/a.md",
    "/\u2025/a.md",
    "/docs\\..\\a.md",
    "\\\\host\\share",
    "C:\\a.md",
    "C:/a.md",
    "/c:/a.md",
    "C:a.md",
    "~/a.md",
    "~root/a.md",
    "file:///etc/passwd",
    "http://host/a.md",
    "/a\x00.md",
    "/a\n.md",
    "/a\x7f.md",
    "/a\x9b.md",
    "/\u202eexe.md",
    "/a\u200b.md",
    "/\ufeffa.md",
    "/\ud800.md",
    "/" + "x" * 256,
    "/" + "ü" * 128,
    "/" + "x/" * 600,
    "/ /a.md",
    "/\u3000/a.md",
    None,
    7,
    b"/a.md",
    ["/a.md"],
)
"""Paths that every backend refuses with the same message."""

CALLS: dict[str, tuple[Any, ...]] = {
    "ls_info": (),
    "read": (),
    "write": ("stolen",),
    "edit": ("one", "stolen"),
}


class PathCases(BackendCase):
    """The module `paths` decides which paths are valid, not the backend."""

    @pytest.mark.parametrize("raw", NASTY_PATHS, ids=lambda raw: ascii(raw)[:40])
    def test_a_nasty_path_gets_the_same_refusal_from_every_verb(self, files: Verbs, raw: Any) -> None:
        """D12: every verb returns a result and never raises."""
        files.put(a_md="one")
        verdict = paths.resolve(raw)
        assert isinstance(verdict, ErrorText)
        for verb, more in CALLS.items():
            answer = files.call(verb, raw, *more)
            assert self.error_in(answer) == verdict, verb
        if raw is not None:  # for grep, None means everywhere
            assert files.call("grep_raw", "one", raw) == verdict
        assert self.error_in(files.call("glob_info", "*", raw)) == verdict
        assert files.holds("/a.md", "one")

    @pytest.mark.parametrize("spelling", ["//a.md", "/./a.md", "/a.md/", "/././/a.md/.", "///a.md", "\\a.md"])
    def test_spellings_of_one_path_are_one_file(self, files: Verbs, spelling: str) -> None:
        assert files.write(spelling, "one").path == files.at("/a.md")
        assert files.names(files.ls("/")) == ["/a.md"]
        assert files.read(spelling) == files.read("/a.md")
        assert files.edit(spelling, "one", "two").path == files.at("/a.md")

    @pytest.mark.parametrize(
        "name", ["a b.md", "ünï.md", "漢字.md", "a'b\".md", "...", ".hidden", "a%20b", "-rf", "$(x)", "#", "*[x]?"]
    )
    def test_unusual_names_are_names(self, files: Verbs, name: str) -> None:
        assert files.write(f"/{name}", "one").path == files.at(f"/{name}")
        assert files.names(files.ls("/")) == [f"/{name}"]
        assert files.read(f"/{name}") == "     1\tone"
        assert files.names(files.glob("**")) == [f"/{name}"]

    def test_names_differ_by_case_and_form(self, files: Verbs) -> None:
        """D12: names that only look alike stay different files."""
        files.write("/\u00e9.md", "composed")
        files.write("/e\u0301.md", "decomposed")
        assert len(files.ls("/")) == 2

    @pytest.mark.parametrize("raw", ["", "/", ".", "/./", "//"])
    def test_the_root_is_no_file(self, files: Verbs, raw: str) -> None:
        verdict = paths.resolve_file(raw)
        for verb in ("read", "write", "edit"):
            assert self.error_in(files.call(verb, raw, *CALLS[verb])) == verdict

    @staticmethod
    def error_in(answer: Any) -> object:
        """The error in a verb's answer, if it failed."""
        return answer if isinstance(answer, str) else getattr(answer, "error", None)
