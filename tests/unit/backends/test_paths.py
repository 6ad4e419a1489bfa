"""D12: what `paths` lets through, refuses, and says."""

from __future__ import annotations

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell.backends import messages, paths
from stepwell.backends.paths import MAX_PATH_BYTES, PathError, Place
from stepwell.backends.protocol import ErrorText


@pytest.mark.parametrize(
    ("raw", "normal"),
    [
        ("/a.md", "/a.md"),
        ("a.md", "/a.md"),
        ("//a//b/", "/a/b"),
        ("/./a/./b/.", "/a/b"),
        ("", "/"),
        ("/", "/"),
        ("./", "/"),
        ("/a/.hidden", "/a/.hidden"),
        ("/...", "/..."),
        ("/a b/ü.md", "/a b/ü.md"),
        ("/100%/a%20b", "/100%/a%20b"),
        ("/~home", "/~home"),
        ("docs\\a.md", "/docs/a.md"),
        ("\\docs\\.\\a.md\\", "/docs/a.md"),
    ],
)
def test_a_path_has_one_normal_form(raw: str, normal: str) -> None:
    assert paths.resolve(raw) == normal
    assert not isinstance(paths.resolve(raw), ErrorText)


@given(st.one_of(st.text(), st.text(alphabet="/.%2eaC:~\\", max_size=12), st.text(alphabet="x/", min_size=1000, max_size=1100)))
def test_a_path_that_passed_passes_again(raw: str) -> None:
    """D12: otherwise a mount or a second check would change the verdict."""
    once = paths.resolve(raw)
    if not isinstance(once, ErrorText):
        assert paths.resolve(once) == once
        for parent in paths.parents(once):
            inner = once[len(parent) :]
            assert paths.resolve(inner) == inner


@given(st.text())
def test_whatever_passes_is_made_of_plain_segments(raw: str) -> None:
    path = paths.resolve(raw)
    if not isinstance(path, ErrorText):
        assert path.startswith("/")
        assert path == "/" or all(segment not in ("", ".", "..") for segment in path[1:].split("/"))
        path.encode()


@pytest.mark.parametrize("raw", ["/..", "/%2e%2e", "/%252e%252e", "/．．", "/‥", "/.%2e/x", "/a%2f..%2fb", "/a%00b", "/x%5cy"])
def test_traversal_is_refused_in_every_encoding(raw: str) -> None:
    assert "climbs out" in str(paths.resolve(raw))


@pytest.mark.parametrize("raw", ["C:", "C:/x", "/c:/x", "/docs/C:", "./C:x"])
def test_a_drive_is_refused_wherever_it_stands(raw: str) -> None:
    assert "drive" in str(paths.resolve(raw))


def test_length_is_that_of_the_normal_form() -> None:
    assert paths.resolve("/" * 5_000 + "a") == "/a"
    longest = "/" + "/".join(["x" * 204] * 5)[: MAX_PATH_BYTES - 1]
    assert paths.resolve(longest) == longest
    assert isinstance(paths.resolve(longest + "x"), ErrorText)
    assert isinstance(paths.resolve(longest[1:] + "x"), ErrorText)


def test_a_message_shows_no_control_characters_and_stays_short() -> None:
    shown = str(paths.resolve("/\x1b[31m\u202e" + "x" * 5_000))
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert len(shown) < 400


def test_prefixes_open_what_lies_below_them_only() -> None:
    """D11: optional allowed prefixes."""
    allowed = ("/docs/", "/notes")
    assert paths.check_prefixes("/docs/a.md", allowed) is None
    assert paths.check_prefixes("/notes", allowed) is None
    assert paths.check_prefixes("/docs", allowed) is None
    for outside in ("/", "/docsmore/a.md", "/notes.md"):
        assert "'/docs/', '/notes'" in str(paths.check_prefixes(outside, allowed))
    assert paths.check_prefixes("/anything", ()) is None


def test_a_message_can_be_said_again_below_a_mount() -> None:
    moved = messages.no_file("/a.md")
    assert isinstance(moved, PathError)
    assert moved.below("/memories") == messages.no_file("/memories/a.md")
    assert moved.below("/inner").below("/outer") == messages.no_file("/outer/inner/a.md")


def test_only_paths_move_in_a_message() -> None:
    message = PathError("Error: ", Place("/a"), " says '/a'.")
    assert message.below("/m") == "Error: '/m/a' says '/a'."


def test_a_message_can_be_copied_and_pickled() -> None:
    message = messages.no_file("/a.md")
    for twin in (copy.deepcopy(message), pickle.loads(pickle.dumps(message))):
        assert twin == message
        assert isinstance(twin, PathError)
        assert twin.below("/m") == messages.no_file("/m/a.md")


@pytest.mark.parametrize(
    ("raw", "name"), [("call_1-a", "call_1-a"), ("../../x", "______x"), ("", "_"), ("a" * 300, "a" * 100), ("ü\x00/", "___")]
)
def test_ids_make_safe_names(raw: str, name: str) -> None:
    """D12: tool-call ids are made safe for file names."""
    assert paths.safe_name(raw) == name
    assert paths.resolve(f"/{paths.safe_name(raw)}") == f"/{name}"
