"""The reducer of the files channel: the same files however writes are batched, and nothing that was accepted is lost."""

from __future__ import annotations

import re
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stepwell.backends import changes, paths, text
from stepwell.backends.changes import conflicts, reduce_files
from stepwell.errors import BackendError

# Whole histories are slow to make; this many cases of each law take minutes already.
LONG = settings(max_examples=min(settings().max_examples, 2_000))
AT = "2026-01-01T00:00:00+00:00"
PATHS = st.sampled_from(["/a.md", "/b/c.md", "/a.md.conflict-1"])
TEXTS = st.text(alphabet="xy\n", max_size=6)
BASES = st.one_of(st.none(), TEXTS.map(text.version_of))
PUTS = st.builds(lambda content, base: changes.put(content, base=base, at=AT), TEXTS, BASES)
EDITS = st.builds(
    lambda old, new, every, base: changes.edit(old, new, every, base=base, at=AT),
    TEXTS, TEXTS, st.booleans(), TEXTS.map(text.version_of),
)  # fmt: skip
SEEDS = st.one_of(
    TEXTS,
    st.builds(lambda content: {"content": content}, TEXTS),
    st.builds(lambda lines: {"content": lines, "created_at": AT, "modified_at": AT}, st.lists(TEXTS, max_size=3)),
)
UPDATES = st.one_of(st.none(), st.dictionaries(PATHS, st.one_of(PUTS, EDITS, SEEDS, st.none()), max_size=3))
WRITES = st.lists(UPDATES, max_size=8)


def texts(files: changes.Files) -> dict[str, str]:
    return {path: changes.text_of(file) for path, file in files.items()}


@pytest.mark.prove
@LONG
@given(WRITES, WRITES, WRITES)
def test_batches_do_not_matter(start, first, second):
    state = reduce_files(None, start)
    assert reduce_files(reduce_files(state, first), second) == reduce_files(state, first + second)


@pytest.mark.prove
@LONG
@given(WRITES, WRITES)
def test_replaying_gives_the_same_files(start, writes):
    once = reduce_files(reduce_files({}, start), deepcopy(writes))
    assert once == reduce_files(reduce_files({}, start), deepcopy(writes))
    assert all(file["content"] == text.split_lines(changes.text_of(file)) for file in once.values())


@pytest.mark.prove
@LONG
@given(WRITES, WRITES)
def test_nothing_given_is_changed(start, writes):
    state = reduce_files({}, start)
    state_before, writes_before = deepcopy(state), deepcopy(writes)
    reduce_files(state, writes)
    assert state == state_before
    assert writes == writes_before


@pytest.mark.prove
@LONG
@given(WRITES, PATHS, PUTS)
def test_a_write_is_stored_or_kept_aside_and_touches_nothing_else(start, path, put):
    """D13: concurrent writes of one file are all kept."""
    before = reduce_files({}, start)
    after = reduce_files(before, [{path: put}])
    changed = {name for name in after if before.get(name) != after[name]}
    assert before.keys() <= after.keys()
    assert len(changed) <= 1
    stored = after[changed.pop() if changed else path]
    assert stored["content"] == put["content"]
    if "conflict_of" in stored:
        assert stored["conflict_of"] == path
        assert path not in before or text.version_of(texts(before)[path]) != put["base"]


@pytest.mark.prove
@LONG
@given(WRITES, PATHS, EDITS)
def test_an_edit_is_applied_or_kept_aside_and_touches_nothing_else(start, path, edit):
    """D13: concurrent edits of one file are all kept."""
    before = reduce_files({}, start)
    after = reduce_files(before, [{path: edit}])
    [changed] = [name for name in after if before.get(name) != after[name]] or [path]
    [step] = edit["edits"]
    assert {name: file for name, file in before.items() if name != changed}.items() <= after.items()
    if changed == path and path in before:
        expected = text.replace_exact(path, texts(before)[path], step["old"], step["new"], step["all"])
        assert expected[0] == texts(after)[path]
    else:
        assert changed not in before
        assert texts(after)[changed] == step["new"]
        assert conflicts(after)[changed] == path


@pytest.mark.prove
@LONG
@given(st.lists(TEXTS, min_size=1, max_size=6, unique=True))
def test_of_many_writers_that_saw_the_same_version_none_is_lost(contents):
    """D13: all from the same base, as parallel subagents are."""
    seeded = reduce_files({}, [{"/a.md": "base text"}])
    base = text.version_of("base text")
    files = reduce_files(seeded, [{"/a.md": changes.put(content, base=base, at=AT)} for content in contents])
    assert sorted(texts(files).values()) == sorted(contents)
    assert set(conflicts(files).values()) <= {"/a.md"}


def test_an_edit_that_still_fits_another_version_is_applied():
    files = reduce_files({}, [{"/a.md": "one two three"}])
    base = text.version_of("one two three")
    first = changes.edit("one", "1", False, base=base, at=AT)
    second = changes.edit("three", "3", False, base=base, at=AT)
    assert texts(reduce_files(files, [{"/a.md": first}, {"/a.md": second}])) == {"/a.md": "1 two 3"}


def test_an_edit_of_several_steps_is_kept_whole_when_one_does_not_fit():
    change = {"change": "edit", "base": None, "at": AT, "edits": [
        {"old": "one", "new": "1", "all": False}, {"old": "absent", "new": "2", "all": False}]}  # fmt: skip
    files = reduce_files({}, [{"/a.md": "one"}, {"/a.md": change}])
    assert texts(files) == {"/a.md": "one", "/a.md.conflict-1": "1\n2"}


def test_a_file_keeps_the_time_it_was_made():
    made = reduce_files({}, [{"/a.md": changes.put("x", base=None, at="then")}])
    later = reduce_files(made, [{"/a.md": changes.put("y", base=text.version_of("x"), at="now")}])
    assert (later["/a.md"]["created_at"], later["/a.md"]["modified_at"]) == ("then", "now")


def test_none_removes_a_file_and_knows_no_absent_one():
    assert reduce_files({}, [{"/a.md": "x"}, {"/a.md": None, "/b.md": None}]) == {}


@pytest.mark.parametrize(
    "path", ["/" + "n" * 255, "/" + "é" * 127, "/" + "/".join(["d" * 200] * 5), "/" + "/".join(["d" * 254] * 4)]
)
def test_a_version_kept_aside_has_a_path_that_tools_can_open(path: str):
    files = reduce_files({}, [{path: "mine"}, *({path: changes.put(f"theirs {n}", base="other", at=AT)} for n in range(3))])
    assert sorted(texts(files).values()) == ["mine", "theirs 0", "theirs 1", "theirs 2"]
    assert [name for name in files if paths.resolve_file(name) != name] == []


def test_a_version_kept_aside_takes_no_folder_s_name():
    files = reduce_files({}, [{"/a": "mine", "/a.conflict-1/x": "x"}, {"/a": changes.put("theirs", base="other", at=AT)}])
    assert texts(files)["/a.conflict-2"] == "theirs"


@pytest.mark.parametrize(
    ("update", "said"),
    [
        ({"/../x": "t"}, "'..'"),
        ({"/a.md": 3}, "'/a.md' is a int"),
        ({"/a.md": {}}, "'/a.md' has no text"),
        ({"/a.md": {"content": [1, 2]}}, "'/a.md' has no text"),
        ("text", "not by a str"),
    ],
)
def test_what_is_no_file_is_refused_by_name(update: Any, said: str):
    with pytest.raises(BackendError, match=re.escape(said)):
        reduce_files({}, [update])
