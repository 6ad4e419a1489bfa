"""T5: the user's files on the user's device, mounted among the agent's own, or as seven tools."""

from __future__ import annotations

import asyncio

import pytest
from langchain_core.messages import ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command

from stepwell import ClientToolsMiddleware, StoreBackend, compile_agent, create_deep_agent
from stepwell.answers import AnswerShapes, mark_schema
from stepwell.answers.client_tools import CONTENTS
from stepwell.backends.browser import BrowserBackend, FileToWrite, file_type_of
from stepwell.backends.composite import CompositeBackend
from stepwell.backends.folder_device import FolderDevice, hash_of
from stepwell.backends.state import StateBackend
from stepwell.errors import AnswerShapeError, ConfigurationError, ToolNameConflictError
from stepwell.middleware import FilesystemMiddleware
from stepwell.testing import ScriptedModel, call, calls, say

GO = {"messages": [("user", "go")], "current_project_id": "thesis"}
THREAD = {"configurable": {"thread_id": "1"}}
SEVEN = ["list_files", "read_file", "search_files", "grep_files", "glob_files", "write_file", "patch_file"]


class Project:
    """A device with a few files, and an agent that works on them."""

    def __init__(self, *script, **options):
        self.files = StoreBackend(InMemoryStore())
        self.files.write("/notes/inflation.md", "Inflation is a rise in prices.\nIt has causes.\n")
        self.files.write("/draft.md", "Money is a tool.\n")
        self.device = FolderDevice(self.files)
        self.agent = create_deep_agent(
            ScriptedModel([*script, say("done")]),
            checkpointer=InMemorySaver(),
            middleware=[ClientToolsMiddleware(mount="/project/", **options)],
        )
        self.asked = []

    def run(self, approve=lambda changes: True, **more):
        final = self.agent.invoke({**GO, **more}, THREAD)
        while asked := final.get("__interrupt__"):
            self.asked.extend(each.value for each in asked)
            answers = {each.id: self.device.answer(each.value, approve) for each in asked}
            final = self.agent.invoke(Command(resume=answers), THREAD)
        return final

    def results(self, **more):
        return [message for message in self.run(**more)["messages"] if isinstance(message, ToolMessage)]

    @property
    def operations(self):
        return [each["tool_calls"][0]["name"] for each in self.asked]


VERBS = [
    (call("ls", path="/project/"), "list_files", "/project/notes/"),
    (call("read_file", file_path="/project/draft.md"), "read_file", "     1\tMoney is a tool."),
    (call("search", query="rise in prices", path="/project/"), "search_files", "/project/notes/inflation.md"),
    (call("search", query="rise in prices"), "search_files", "Inflation is a rise"),
    (call("grep", pattern="causes", path="/project/"), "grep_files", "     2: It has causes."),
    (call("grep", pattern="(?i)CAUSES", path="/project/notes", glob="*.md"), "grep_files", "It has causes."),
    (call("glob", pattern="**/*.md", path="/project/"), "glob_files", "/project/draft.md"),
    (call("write_file", file_path="/project/new.md", content="hello"), "write_file", "Wrote /project/new.md"),
    (
        call("edit_file", file_path="/project/draft.md", old_string="tool", new_string="sign"),
        "patch_file",
        "Edited /project/draft.md: 1 replacement",
    ),
    (call("delete", file_path="/project/draft.md"), "delete_file", "Deleted /project/draft.md (1 file)"),
    (call("move", source="/project/notes", destination="/project/old"), "move_file", "Moved /project/notes to /project/old"),
]


@pytest.mark.parametrize(("verb", "operation", "shown"), VERBS)
def test_each_verb_is_one_operation_of_the_device(verb, operation, shown):
    """T5: the operations are executed there, one interrupt each."""
    project = Project(verb)
    (result,) = project.results()
    assert shown in result.text
    assert project.operations == [operation]
    assert project.asked[0]["message"].startswith(f"Waiting for the device with the project 'thesis': {operation} ")
    assert project.asked[0]["project_id"] == "thesis"
    assert project.asked[0]["deadline_s"] == 120
    assert project.asked[0]["requires_approval"] is (operation in ("write_file", "patch_file", "delete_file", "move_file"))


def test_nothing_happens_twice_when_a_step_runs_again():
    """T5: idempotent on resume; each answered call has its effect once."""
    project = Project(
        calls(
            call("write_file", file_path="/project/a.md", content="a"),
            call("edit_file", file_path="/project/draft.md", old_string="tool", new_string="tool and a tool"),
        )
    )
    first, second = project.agent.invoke(GO, THREAD)["__interrupt__"]
    paused = project.agent.invoke(Command(resume={second.id: project.device.answer(second.value)}), THREAD)
    assert [each.id for each in paused["__interrupt__"]] == [first.id]
    project.agent.invoke(Command(resume={first.id: project.device.answer(first.value)}), THREAD)
    assert project.files.read_whole("/draft.md") == b"Money is a tool and a tool.\n"


def test_several_calls_of_a_turn_are_answered_together():
    """T5."""
    project = Project(calls(*(call("read_file", file_path=path) for path in ("/project/draft.md", "/project/none.md"))))
    found, missing = project.results()
    assert "Money is a tool." in found.text
    assert (missing.status, missing.text) == (
        "error",
        "Error: no file '/project/none.md'. List the folder with ls('/project').",
    )
    assert len(project.asked) == 2


def test_a_change_is_made_only_if_the_user_allows_it():
    """T5: writes are shown as a diff and approved."""
    edit = call("edit_file", file_path="/project/draft.md", old_string="tool", new_string="sign")
    project, shown = Project(edit), []

    def refuse(changes):
        shown.extend(changes)
        return "keep my word"

    (result,) = project.results(approve=refuse)
    assert "-Money is a tool." in shown[0].diff
    assert "+Money is a sign." in shown[0].diff
    assert "keep my word" in result.text
    assert "do not repeat the call" in result.text
    assert project.files.read_whole("/draft.md") == b"Money is a tool.\n"


@pytest.mark.parametrize(
    ("options", "more", "expected"),
    [
        ({}, {}, True),
        ({"requires_approval": False}, {}, False),
        ({}, {"write_approval": False}, False),
        ({}, {"write_approval": {"thesis": False}}, False),
        ({}, {"write_approval": {"other": False}}, True),
        ({"requires_approval": False}, {"write_approval": True}, True),
        ({}, {"write_approval": {"thesis": "no"}}, True),
    ],
)
def test_write_approval_is_a_switch_of_the_project(options, more, expected):
    """T5: the user may switch write approval off."""
    project = Project(call("write_file", file_path="/project/a.md", content="a"), **options)
    project.run(**more)
    assert project.asked[0]["requires_approval"] is expected


def test_the_project_may_come_with_the_configuration():
    project = Project(call("ls", path="/project/"))
    config = {"configurable": {"thread_id": "1", "current_project_id": "from config", "write_approval": False}}
    (asked,) = project.agent.invoke({"messages": [("user", "go")]}, config)["__interrupt__"]
    assert asked.value["project_id"] == "from config"


def test_searches_from_the_root_do_not_enter_the_device_and_say_so():
    """T5."""
    project = Project(calls(call("grep", pattern="Money"), call("glob", pattern="**/*.md")))
    for result in project.results():
        assert "'/project/' was not searched: it is remote" in result.text
    assert project.asked == []


def test_large_results_and_server_files_stay_on_the_server():
    """T4, T5: the harness writes nothing to the device by itself."""

    def report() -> str:
        """A long report."""
        return "line\n" * 40_000

    model = ScriptedModel([call("report"), call("write_file", file_path="/scratch/a.md", content="mine"), say("done")])
    agent = create_deep_agent(
        model, [report], checkpointer=InMemorySaver(), middleware=[ClientToolsMiddleware(mount="/project/")]
    )
    final = agent.invoke(GO, THREAD)
    assert "__interrupt__" not in final
    assert {path.rpartition("/")[0] for path in final["files"]} == {"/large_tool_results", "/scratch"}


def test_a_mount_over_everything_keeps_large_results_off_it_too():
    def report() -> str:
        """A long report."""
        return "line\n" * 40_000

    backend = CompositeBackend(BrowserBackend(), {"/scratch/": StateBackend()})
    agent = create_deep_agent(ScriptedModel([call("report"), say("done")]), [report], backend=backend)
    final = agent.invoke(GO)
    assert "could not be saved" in next(message for message in final["messages"] if message.type == "tool").text


def test_search_is_offered_only_where_something_can_be_searched():
    """T5: semantic search included."""
    plain = {tool.name for tool in FilesystemMiddleware().tools}
    mounted = FilesystemMiddleware(backend=CompositeBackend(StateBackend(), {"/project/": BrowserBackend()}))
    blind = FilesystemMiddleware(backend=CompositeBackend(StateBackend(), {"/project/": BrowserBackend(can_search=False)}))
    assert "search" not in plain
    assert {tool.name for tool in mounted.tools} - plain == {"search"}
    assert {tool.name for tool in blind.tools} == plain


def test_what_cannot_be_searched_by_meaning_says_where_it_goes():
    (result,) = Project(call("search", query="x", path="/scratch")).results()
    assert "search with path in: '/project/'" in result.text


def test_of_two_places_that_can_be_searched_one_must_be_named():
    tree = CompositeBackend(StateBackend(), {"/a/": BrowserBackend(), "/b/": BrowserBackend()})
    assert "with path in: '/a/', '/b/'" in tree.search("x")
    assert "with path in: '/a/', '/b/'" in asyncio.run(tree.asearch("x", "/c"))
    assert "climbs out" in tree.search("x", "/a/../b")


def test_a_path_that_cannot_be_one_asks_nobody():
    project = Project(calls(call("read_file", file_path="/project/../etc/passwd"), call("grep", pattern="(", path="/project/")))
    assert [result.status for result in project.results()] == ["error", "error"]
    assert project.asked == []


def test_a_subagent_works_on_the_same_project():
    """T5, T6."""
    model = ScriptedModel.by_agent(
        {
            "main": [call("task", description="read it", subagent_type="reader"), say("done")],
            "reader": [call("read_file", file_path="/project/draft.md"), say("read")],
        },
        key=lambda asked: "reader" if asked.agent == "reader" else "main",
    )
    reader = {"name": "reader", "description": "reads", "system_prompt": "read"}
    project = Project()
    project.agent = create_deep_agent(
        model, checkpointer=InMemorySaver(), subagents=[reader], middleware=[ClientToolsMiddleware(mount="/project/")]
    )
    project.run()
    assert project.operations == ["read_file"]
    assert project.asked[0]["project_id"] == "thesis"


ERRORS = [
    ("rejected", "no thanks", ["did not allow", "no thanks", "Nothing was changed"]),
    ("not_found", "", ["no file '/project/draft.md'"]),
    ("conflict", "the text is not there", ["conflict", "the text is not there", "Read it again"]),
    ("too_large", "9 MB", ["too large (9 MB)", "Ask for less"]),
    ("timeout", "", ["did not finish", "in time", "go on without it"]),
    ("failed", "quota", ["could not be reached", "quota", "go on without it"]),
]


@pytest.mark.parametrize(("code", "message", "said"), ERRORS)
def test_a_refusal_of_the_device_tells_the_model_what_to_do(code, message, said):
    project = Project(call("edit_file", file_path="/project/draft.md", old_string="a", new_string="b"))
    (asked,) = project.agent.invoke(GO, THREAD)["__interrupt__"]
    (made,) = asked.value["tool_calls"]
    answer = {"tool_results": [{"tool_call_id": made["id"], "error": {"code": code, "message": message}}]}
    final = project.agent.invoke(Command(resume={asked.id: answer}), THREAD)
    result = next(each for each in final["messages"] if isinstance(each, ToolMessage))
    assert result.status == "error"
    assert all(part in result.text for part in said), result.text


def test_an_existing_file_is_not_overwritten_unless_asked_to():
    project = Project(
        call("write_file", file_path="/project/draft.md", content="x"),
        call("write_file", file_path="/project/draft.md", content="x", overwrite=True),
    )
    refused, written = project.results()
    assert "exists already" in refused.text
    assert written.text.startswith("Wrote /project/draft.md")


def question(operation, **args):
    calls = [{"id": "c1", "name": operation, "args": args}]
    return {"type": "client_tool_execution", "tool_calls": calls, "requires_approval": False}


def results_of(content=None, **more):
    return {"tool_results": [{"tool_call_id": "c1", "content": content, **more}]}


WRONG = [
    ("read_file", None, "not null"),
    ("read_file", "text", "not a text"),
    ("read_file", {"tool_results": {}}, "a list of 'tool_results'"),
    ("read_file", {"tool_results": []}, "are missing: c1"),
    ("read_file", {"tool_results": ["text"]}, "which call"),
    ("read_file", {"tool_results": [{"tool_call_id": "c2", "content": {"text": ""}}]}, "not requested"),
    ("read_file", {"tool_results": results_of({"text": ""})["tool_results"] * 2}, "two results"),
    ("read_file", results_of(), "has neither"),
    ("read_file", results_of({"text": ""}, error={"code": "failed"}), "has both"),
    ("read_file", results_of("the text"), "content"),
    ("read_file", results_of({"text": 5}), "content.text"),
    ("read_file", results_of({"text": "x" * 262_145}), "content.text"),
    ("read_file", results_of({"text": "x" * 50_000_000}), "more than 1,000,000 characters"),
    ("read_file", results_of(None, error={"code": "teapot"}), "error.code"),
    ("read_file", results_of(None, error="no"), "error"),
    ("list_files", results_of({"files": [{"path": ""}]}), "content.files.0.path"),
    ("list_files", results_of({"files": [{"path": "/a"}] * 10_001}), "content.files"),
    ("glob_files", results_of(["/a"]), "content"),
    ("grep_files", results_of({"matches": [{"path": "/a", "line_number": 0, "line_content": ""}]}), "line_number"),
    ("search_files", results_of({"hits": [{"path": "/a"}]}), "content.hits.0.text"),
    ("write_file", results_of({}), "content.file_id"),
    ("patch_file", results_of({"file_id": "1", "occurrences": 0}), "occurrences"),
    ("read_file", {**results_of({"text": ""}), "claim_id": 5}, "'claim_id' is a number"),
]


@pytest.mark.parametrize(("operation", "wrong", "reason"), WRONG, ids=[f"{each[0]}-{each[2]}" for each in WRONG])
def test_an_answer_of_the_wrong_shape_is_refused(operation, wrong, reason):
    """T5: one schema per operation, checked before the answer is taken."""
    with pytest.raises(AnswerShapeError, match=reason):
        AnswerShapes().require("q", question(operation), wrong, mark_schema(question(operation), {}))


def test_a_refused_answer_leaves_the_question_answerable():
    project = Project(call("read_file", file_path="/project/draft.md"))
    (asked,) = project.agent.invoke(GO, THREAD)["__interrupt__"]
    with pytest.raises(AnswerShapeError):
        project.agent.invoke(Command(resume={asked.id: {"tool_results": []}}), THREAD)
    final = project.agent.invoke(Command(resume={asked.id: project.device.answer(asked.value)}), THREAD)
    assert final["messages"][-1].text == "done"


def test_the_question_carries_the_schema_of_its_answer():
    project = Project(call("read_file", file_path="/project/draft.md"))
    (asked,) = project.agent.invoke(GO, THREAD)["__interrupt__"]
    assert "total_lines" in str(asked.response_schema)
    assert set(CONTENTS) == {*SEVEN, "delete_file", "move_file"}


def test_rows_that_cannot_be_paths_are_left_out_and_counted():
    project = Project(call("ls", path="/project/"))
    (asked,) = project.agent.invoke(GO, THREAD)["__interrupt__"]
    rows = [{"path": "/a.md"}, {"path": "../b.md"}, {"path": "/deep/c.md"}, {"path": "/x\u202e.md"}]
    answer = {"tool_results": [{"tool_call_id": asked.value["tool_calls"][0]["id"], "content": {"files": rows}}]}
    final = project.agent.invoke(Command(resume={asked.id: answer}), THREAD)
    text = next(each for each in final["messages"] if isinstance(each, ToolMessage)).text
    assert text.splitlines()[:2] == ["/project/a.md (0 bytes)", "/project/deep/"]
    assert "2 are not shown" in text


def test_several_files_are_written_with_one_question_and_one_approval():
    """T5: all of them or none."""
    files = StoreBackend(InMemoryStore())
    files.write("/argument.json", "{}")
    device, results = FolderDevice(files), []

    def save(base_hash: str) -> str:
        """Save."""
        browser = BrowserBackend(project_id="p")
        results[:] = browser.write_files(
            [FileToWrite("/argument.json", "{1}", overwrite=True, base_hash=base_hash), FileToWrite("/log.md", "moved")]
        )
        return "saved"

    def run(base_hash, thread):
        agent = create_deep_agent(
            ScriptedModel([call("save", base_hash=base_hash), say("ok")]), [save], checkpointer=InMemorySaver()
        )
        config = {"configurable": {"thread_id": thread}}
        (asked,) = agent.invoke(GO, config)["__interrupt__"]
        shown = []
        answer = device.answer(asked.value, lambda changes: shown.append(changes) or True)
        agent.invoke(Command(resume={asked.id: answer}), config)
        return [change.path for changes in shown for change in changes]

    assert run(hash_of("somebody else's"), "1") == []
    assert [bool(each.error) for each in results] == [True, True]
    assert files.read_whole("/argument.json") == b"{}"
    assert run(hash_of("{}"), "2") == ["/argument.json", "/log.md"]
    assert [each.version for each in results] == [hash_of("{1}"), hash_of("moved")]


def test_without_a_mount_there_are_seven_tools():
    """T5: the seven names, for agents that have no files of their own."""
    client = ClientToolsMiddleware()
    assert [tool.name for tool in client.tools] == SEVEN
    files = StoreBackend(InMemoryStore())
    files.write("/draft.md", "Money is a tool.\n")
    turns = [
        call("list_files"),
        call("read_file", file_id="/draft.md"),
        call("search_files", query="money tool"),
        call("grep_files", pattern="MONEY"),
        call("glob_files", pattern="*.md"),
        call("write_file", title="new.md", content="hi", file_type="note"),
        call("patch_file", file_id="/draft.md", search="tool", replace="sign", description="a better word"),
        call("patch_file", file_id="/none.md", search="tool", replace="sign", description="a better word"),
    ]
    agent = compile_agent([client], model=ScriptedModel([*turns, say("done")]), checkpointer=InMemorySaver())
    final, asked = agent.invoke(GO, THREAD), []
    while waiting := final.get("__interrupt__"):
        asked.append(waiting[0].value["tool_calls"][0]["name"])
        final = agent.invoke(Command(resume={waiting[0].id: FolderDevice(files).answer(waiting[0].value)}), THREAD)
    assert asked == [*SEVEN, "patch_file"]
    texts = [message.text for message in final["messages"] if isinstance(message, ToolMessage)]
    assert texts[0] == "/draft.md [draft] id=/draft.md"
    assert texts[1] == "     1\tMoney is a tool."
    assert "Money is a sign" in files.read("/draft.md")
    assert texts[-1] == "Error: no file '/none.md'. See which there are with list_files."


def test_the_seven_names_beside_the_agents_own_files_are_refused():
    with pytest.raises(ToolNameConflictError, match=r"ClientToolsMiddleware\(mount=\"/project/\"\)"):
        create_deep_agent(ScriptedModel([]), middleware=[ClientToolsMiddleware()])


@pytest.mark.parametrize("mount", ["project", "/project", "/", "/../x/", ""])
def test_a_mount_is_written_as_a_folder(mount):
    with pytest.raises(ConfigurationError, match="mount is"):
        ClientToolsMiddleware(mount=mount)


def test_a_mount_needs_files_to_be_mounted_in():
    with pytest.raises(ConfigurationError, match="Add FilesystemMiddleware"):
        compile_agent([ClientToolsMiddleware(mount="/project/")], model=ScriptedModel([]))


def test_the_middleware_of_a_caller_is_not_changed_by_a_mount():
    files = FilesystemMiddleware()
    before = files.backend
    compile_agent([files, ClientToolsMiddleware(mount="/project/")], model=ScriptedModel([]))
    assert files.backend is before


def test_the_prompt_names_the_mount_and_the_approval():
    assert "Below /p/ are the user's own files" in ClientToolsMiddleware(mount="/p/").prompt
    assert "allows it or not" in ClientToolsMiddleware(mount="/p/").prompt
    assert "allows it or not" not in ClientToolsMiddleware(mount="/p/", requires_approval=False).prompt


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/seminar.md", "seminar"),
        ("/drafts/one.md", "draft"),
        ("/a.md", "note"),
        ("/a.py", "code"),
        ("/page.html", "article"),
        ("/photo.png", "other"),
        ("/README", "other"),
    ],
)
def test_the_type_of_a_file_follows_from_its_name(path, expected):
    assert file_type_of(path) == expected
