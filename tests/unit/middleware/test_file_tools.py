"""D4: the file tools as a model meets them."""

from __future__ import annotations

import pytest

from stepwell import FilesystemBackend, FilesystemMiddleware, create_deep_agent
from stepwell.testing import ScriptedModel, call, calls, say


def results(*turns, files=None, **options):
    """The tool results of a run that makes these calls, one turn each."""
    agent = create_deep_agent(ScriptedModel([*turns, say("done")]), **options)
    final = agent.invoke({"messages": [("user", "go")], "files": files or {}})
    return [message for message in final["messages"] if message.type == "tool"], final["files"]


def test_read_numbers_lines_and_pages():
    """D4: numbered lines, offset and limit."""
    files = {"/a.md": "\n".join(f"line {n}" for n in range(1, 8))}
    (page,), _ = results(call("read_file", file_path="/a.md", offset=2, limit=2), files=files)
    assert page.content == "     3\tline 3\n     4\tline 4\n(3 more lines; go on with offset=4)"


def test_long_lines_are_cut_with_a_note():
    """D4."""
    (page,), _ = results(call("read_file", file_path="/a.md"), files={"/a.md": "x" * 5000})
    assert page.content.endswith("(cut: the line has 5,000 characters)")
    assert len(page.content) < 2100


def test_a_page_that_would_fill_the_context_is_cut_at_a_line():
    files = {"/a.md": "\n".join("y" * 1000 for _ in range(200))}
    (page,), _ = results(call("read_file", file_path="/a.md"), files=files)
    assert len(page.content) < 61_000
    assert "go on with offset=59" in page.content


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"old_string": "absent", "new_string": "b"}, "does not occur"),
        ({"old_string": "a", "new_string": "b"}, "occurs 3 times"),
        ({"old_string": "", "new_string": "b"}, "is empty"),
        ({"old_string": "a", "new_string": "a"}, "are the same"),
    ],
)
def test_edit_refuses_what_does_not_fit(arguments, expected):
    """D4: exact edit that fails on no match and on more than one."""
    (result,), files = results(call("edit_file", file_path="/a.md", **arguments), files={"/a.md": "a and a"})
    assert result.status == "error"
    assert expected in result.content
    assert files["/a.md"]["content"] == ["a and a"]


def test_edit_replaces_all_when_asked():
    """D4: unless replace_all."""
    (result,), files = results(
        call("edit_file", file_path="/a.md", old_string="a", new_string="b", replace_all=True), files={"/a.md": "a, a"}
    )
    assert result.content == "Edited /a.md: 2 replacements."
    assert files["/a.md"]["content"] == ["b, b"]


def test_write_refuses_an_existing_file_and_names_the_ways_out():
    """Resolution of 001, 003 and 004: create, or overwrite=true."""
    (refused, written), files = results(
        call("write_file", file_path="/a.md", content="new"),
        call("write_file", file_path="/a.md", content="new", overwrite=True),
        files={"/a.md": "old"},
    )
    assert refused.status == "error"
    assert "edit_file" in refused.content
    assert "overwrite" in refused.content
    assert written.status == "success"
    assert files["/a.md"]["content"] == ["new"]


def test_names_without_a_slash_are_taken_from_the_root():
    """Resolution of 004's flat names."""
    _, files = results(call("write_file", file_path="notes.md", content="x"), files={"seed.txt": "s"})
    assert set(files) == {"/notes.md", "/seed.txt"}


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("content", "/a.py\n     1: one\n     3: one more\n/b.py\n     1: one"),
        ("files_with_matches", "/a.py\n/b.py"),
        ("count", "/a.py: 2\n/b.py: 1"),
    ],
)
def test_grep_answers_in_the_form_that_is_asked_for(mode, expected):
    """D4."""
    files = {"/a.py": "one\ntwo\none more", "/b.py": "one"}
    (found,), _ = results(call("grep", pattern="one", output_mode=mode), files=files)
    assert found.content == expected


def test_grep_refuses_a_form_that_there_is_not():
    """D4."""
    (refused,), _ = results(call("grep", pattern="one", output_mode="json"), files={"/a.py": "one"})
    assert refused.status == "error"
    assert "output_mode" in refused.content


def test_every_argument_of_every_file_tool_is_described():
    """D4: models that read only the schema know what to give."""
    for tool in FilesystemMiddleware().tools:
        for name, field in tool.args.items():
            assert field.get("description"), f"{tool.name}.{name}"


def test_ls_glob_and_grep_answer_in_short_lines():
    """D4."""
    (listing, found, matches), _ = results(
        call("ls"),
        call("glob", pattern="**/*.py"),
        call("grep", pattern=r"def \w+", glob="*.py"),
        files={"/a.md": "x", "/src/m.py": "import os\ndef main():\n    pass"},
    )
    assert listing.content == "/a.md (1 bytes)\n/src/"
    assert found.content == "/src/m.py"
    assert matches.content == "/src/m.py\n     2: def main():"


def test_empty_answers_say_so():
    (listing, found, matches), _ = results(call("ls"), call("glob", pattern="*.x"), call("grep", pattern="x"))
    assert listing.content == "(empty)"
    assert found.content == "(no file matches '*.x')"
    assert matches.content == "(no line matches 'x')"


def test_edits_of_one_turn_apply_in_call_order():
    """Semantics settled: several edits of one file in one model turn are applied in call order."""
    turn = calls(
        call("write_file", file_path="/a.md", content="one"),
        call("edit_file", file_path="/a.md", old_string="one", new_string="two"),
        call("edit_file", file_path="a.md", old_string="two", new_string="three"),
        call("edit_file", file_path="/a.md", old_string="one", new_string="four"),
    )
    answers, files = results(turn)
    assert [answer.status for answer in answers] == ["success", "success", "success", "error"]
    assert files["/a.md"]["content"] == ["three"]
    assert list(files) == ["/a.md"]


def test_bad_arguments_are_a_tool_error_not_a_crash():
    """Bad input: a malformed tool call is a tool error."""
    (missing, wrong), _ = results(call("write_file", file_path="/a.md"), call("read_file", file_path=["/a.md"]))
    assert missing.status == wrong.status == "error"
    assert "content" in missing.content


async def test_tools_answer_alike_in_async_runs():
    model = ScriptedModel([call("write_file", file_path="/a.md", content="x"), call("ls"), say("done")])
    final = await create_deep_agent(model).ainvoke({"messages": [("user", "go")]})
    assert final["messages"][-2].content == "/a.md (1 bytes)"


def test_a_file_and_a_folder_of_one_name_are_refused_within_a_turn_too():
    """Semantics settled: a call works as if the earlier ones of its turn had happened."""
    turn = calls(
        call("write_file", file_path="/a/b.md", content="x"),
        call("write_file", file_path="/a", content="x"),
        call("write_file", file_path="/a/b.md/c.md", content="x"),
    )
    answers, files = results(turn)
    assert [answer.status for answer in answers] == ["success", "error", "error"]
    assert list(files) == ["/a/b.md"]


@pytest.mark.parametrize("colour", ["sync", "async"])
async def test_changes_of_one_turn_happen_in_call_order_on_disk_too(tmp_path, colour):
    """Side by side, the second edit would look for text that the first has not written yet."""
    for number in range(10):
        name = f"/{number}.md"
        turn = calls(
            call("write_file", file_path=name, content="one"),
            call("edit_file", file_path=name, old_string="one", new_string="two"),
            call("edit_file", file_path=name, old_string="two", new_string="three"),
        )
        agent = create_deep_agent(ScriptedModel([turn, say("done")]), backend=FilesystemBackend(root_dir=tmp_path))
        ask = {"messages": [("user", "go")]}
        final = agent.invoke(ask) if colour == "sync" else await agent.ainvoke(ask)
        assert [message.status for message in final["messages"] if message.type == "tool"] == ["success"] * 3
        assert (tmp_path / f"{number}.md").read_text() == "three"
