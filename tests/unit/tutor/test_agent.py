"""The tutor as an agent: its graphs, its stack, its state, its files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_type_hints

import pytest
from langchain.agents.middleware.types import AgentMiddleware
from langgraph.checkpoint.memory import InMemorySaver

from stepwell.errors import ConfigurationError
from stepwell.products import installed_products
from stepwell.testing import ScriptedModel, call, calls, say
from stepwell.tutor.agent import build, make_graph, tutor_stack
from stepwell.tutor.state import DeeptutorState

from .seminars import Tutor, results_of, tutor_with

ROOT = Path(__file__).parents[3]
THESIS = "Cities should close their centres to private cars."
MODEL_VARIABLES = ("STEPWELL_MODEL", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OLLAMA_MODEL_NAME", "STEPWELL_LOCAL_MODEL")


def test_the_three_graphs_are_published():
    """T1"""
    published = json.loads((ROOT / "langgraph.json").read_text())["graphs"]
    places = {name: place for product in installed_products() for name, place in product.graphs.items()}
    for name in ("deeptutor", "seminar_agent", "simple_agent"):
        module, _, factory = places[name].partition(":")
        assert published[name] == f"./src/{module.replace('.', '/')}.py:{factory}"


class Payment(AgentMiddleware):
    """Stands where the payment stands."""


def test_the_stack_is_in_order():
    """T2: payment, todos, clarification, files, the device's files, subagents, ..., approvals."""
    stack = tutor_stack(ScriptedModel([]), payment=Payment(), interrupt_on={"write_file": True})
    names = [entry.name for entry in stack]
    wanted = [
        "Payment",
        "PlanningMiddleware",
        "ClarifyWithHumanMiddleware",
        "FilesystemMiddleware",
        "ClientToolsMiddleware",
        "SubAgentMiddleware",
        "HumanInTheLoopMiddleware",
    ]
    assert [name for name in names if name in wanted] == wanted
    assert names[0] == wanted[0]
    assert names[-1] == wanted[-1]


def test_the_state_has_the_fields_that_clients_know():
    """T7"""
    fields = get_type_hints(DeeptutorState)
    assert {
        "messages",
        "payment_token",
        "payment_balance_sats",
        "payment_spent_sats",
        "payment_refund_token",
        "payment_status",
        "payment_refund_claimed",
        "current_project_id",
        "files",
        "todos",
        "argument",
    } <= fields.keys()
    channels = build(ScriptedModel([say("Hello.")]), checkpointer=InMemorySaver()).channels
    assert {"argument", "current_project_id", "files", "todos", "payment_status"} <= channels.keys()


@pytest.mark.parametrize("model", [None, ScriptedModel([say("Hello."), say("Hello.")])])
async def test_what_code_keeps_cannot_be_sent_in(model):
    graph = build(model, checkpointer=InMemorySaver())
    sent = {"argument": {"nodes": 5}, "progress": {}, "kept": {"loaded": True}, "told": "x", "payment_token": "cashuB"}
    thread = {"configurable": {"thread_id": "1"}}
    await graph.ainvoke({"messages": [("user", "Hello")], "current_project_id": None, **sent}, thread)
    values = (await graph.aget_state(thread)).values
    assert values.get("argument", {}).get("nodes", {}) == {}
    assert [values.get(name) or None for name in ("payment_token", "told", "kept")] == [None] * 3


async def test_scratch_files_are_free_to_write_on_the_server_and_stay_in_the_thread(tmp_path):
    """T4"""
    writes = [call("write_file", file_path=f"/{folder}/a.md", content="x") for folder in ("scratch", "summaries", "analysis")]
    elsewhere = call("write_file", file_path="/notes/a.md", content="x")
    tutor = tutor_with(tmp_path, [calls(*writes, elsewhere), say("Noted.")], project=None)
    values = await tutor.say("Take notes")
    assert tutor.asked == []
    assert sorted(values["files"]) == ["/analysis/a.md", "/scratch/a.md", "/summaries/a.md"]
    assert [message.status for message in results_of(values, "write_file")] == ["success"] * 3 + ["error"]
    assert list(tmp_path.iterdir()) == []
    other = {"configurable": {"thread_id": "another"}}
    assert "files" not in (await tutor.graph.aget_state(other)).values


async def test_a_turn_that_changed_the_argument_ends_with_one_save(tmp_path):
    """T8: three files, one interrupt; then the question. Whether notes may be kept is asked once."""
    script = [
        call("set_question", text="Should cities close their centres?"),
        call("propose_node", kind="thesis", text=THESIS),
        call("ask_user", question="About t1: how sure are you, from 0 to 100?"),
        call("update_node", node="t1", confidence=70),
        say("Noted."),
        say("I am here."),
    ]
    approvals = []
    tutor = tutor_with(tmp_path, script, answers=["70"], approve=lambda changes: approvals.append(changes) or True)
    await tutor.say(THESIS)
    kinds = [each["type"] for each in tutor.asked]
    assert kinds == ["client_tool_execution", "client_tool_execution", "clarification_request", "client_tool_execution"]
    assert [[each["args"]["path"] for each in save["tool_calls"]] for save in tutor.writes] == [
        ["/tutor/argument.json", "/tutor/seminar.md", "/tutor/log.md"]
    ] * 2
    assert len(approvals) == 1
    assert all(each["args"].get("base_hash") for each in tutor.writes[1]["tool_calls"])
    assert json.loads((tmp_path / "tutor" / "argument.json").read_text())["nodes"]["t1"]["confidence"] == 70
    await tutor.say("Are you there")
    assert len(tutor.writes) == 2


async def test_a_hand_edit_is_merged_and_the_model_is_told(tmp_path):
    """T8"""
    script = [
        call("propose_node", kind="thesis", text=THESIS),
        say("Noted."),
        call("set_question", text="Should cities close their centres?"),
        say("Named."),
        say("I saw your change."),
    ]
    tutor = tutor_with(tmp_path, script)
    await tutor.say(THESIS)
    page = tmp_path / "tutor" / "seminar.md"
    page.write_text(page.read_text().replace("their centres", "some streets"))
    values = await tutor.say("The question is whether cities should do it")
    assert "changed by hand" in values["messages"][-1].text
    argument = await tutor.argument()
    assert argument.thesis.text == "Cities should close some streets to private cars."
    assert argument.question == "Should cities close their centres?"
    await tutor.say("Look again")
    assert "# Should cities close their centres?" in page.read_text()
    assert "some streets" in page.read_text()


async def test_files_that_cannot_be_read_end_the_turn_with_line_and_reason(tmp_path):
    """T8"""
    (tmp_path / "tutor").mkdir()
    (tmp_path / "tutor" / "argument.json").write_text('{\n  "format": 7\n}')
    tutor = tutor_with(tmp_path, [])
    values = await tutor.say("Go on")
    assert values["messages"][-1].text.startswith("tutor/argument.json, line 2: the format is not")
    assert (tmp_path / "tutor" / "argument.json").read_text() == '{\n  "format": 7\n}'


async def test_an_export_needs_no_model(tmp_path):
    """T8: what only shows the argument is answered by code."""
    tutor = tutor_with(tmp_path, [call("propose_node", kind="thesis", text=THESIS), say("Noted.")])
    await tutor.say(THESIS)
    assert f't1["t1: {THESIS}"]' in (await tutor.say("/export mermaid"))["messages"][-1].text
    assert "There are: md, json, argdown, mermaid." in (await tutor.say("/export pdf"))["messages"][-1].text
    assert (await tutor.say("/lint"))["messages"][-1].text == "Nothing to mark."


async def test_the_reader_finds_things_in_the_users_files(tmp_path):
    (tmp_path / "a.md").write_text("Inflation is a tax.\n")
    scripts = {
        "deeptutor": [call("task", description="What is said on inflation?", subagent_type="reader"), say("It is a tax.")],
        "reader": [call("grep", pattern="Inflation", path="/project/"), say("/a.md: “Inflation is a tax.”")],
    }
    tutor = Tutor(build(ScriptedModel.by_agent(scripts), checkpointer=InMemorySaver()), tmp_path)
    values = await tutor.say("What do my files say about inflation")
    assert "Inflation is a tax." in results_of(values, "task")[0].text
    assert [each["tool_calls"][0]["name"] for each in tutor.asked] == ["read_file", "grep_files"]


def test_the_assembled_prompt_is_pinned():
    """T8: vague asks lead to a question, clear asks to action; the whole prompt as the model gets it."""
    model = ScriptedModel([say("Hello.")])
    build(model).invoke({"messages": [("user", "Hello")]})
    kept = ROOT / "tests" / "snapshots" / "tutor_prompt.md"
    prompt = model.asked[0].system + "\n"
    assert kept.read_text(encoding="utf-8") == prompt, (
        "if the change is meant, write the prompt into tests/snapshots/tutor_prompt.md"
    )
    for example in ("Help me with my argument", "I want to write about economics", "Improve this"):
        assert f'"{example}": open.' in prompt
    for example in ("Create a new document titled", "Search my files for mentions of inflation"):
        assert example in prompt


@pytest.mark.parametrize("local", [None, "smollm2-135m"])
def test_where_no_capable_model_is_configured_the_method_leads_alone(monkeypatch, tmp_path, local):
    """T8: nothing configured, or a model that cannot use tools."""
    monkeypatch.chdir(tmp_path)
    for name in MODEL_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    if local:
        monkeypatch.setenv("STEPWELL_MODEL", f"local:{local}")
    assert set(make_graph().nodes) == {"__start__", "load", "take", "errand", "save", "reread", "ask"}


def test_a_model_that_is_configured_wrongly_is_an_error_and_no_reason_to_go_on_without(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STEPWELL_MODEL", "nobody:knows")
    with pytest.raises(ConfigurationError, match="nobody"):
        make_graph()
