"""The default stack: its order, what replaces what, what is folded, and the prompt it makes."""

from __future__ import annotations

from pathlib import Path

import pytest
from langchain.agents.middleware import AgentMiddleware, HumanInTheLoopMiddleware, TodoListMiddleware
from langchain.agents.middleware import SummarizationMiddleware as LangChainSummarization
from tests.support.claude import claude

from stepwell import (
    ClarifyWithHumanMiddleware,
    ClientToolsMiddleware,
    ConfigurationError,
    FilesystemMiddleware,
    MemoryMiddleware,
    SkillsMiddleware,
    StateBackend,
    SubAgentMiddleware,
    SummarizationMiddleware,
    compile_agent,
    create_deep_agent,
    default_stack,
)
from stepwell.middleware.request import RequestMiddleware, fold
from stepwell.testing import ScriptedModel, call, say

SNAPSHOTS = Path(__file__).parents[2] / "snapshots"
ASK = {"messages": [("user", "go")]}


class Extra(AgentMiddleware):
    pass


def stack_of(**options):
    delegation = SubAgentMiddleware(subagents=[{"name": "a", "description": "b", "system_prompt": "c"}])
    return default_stack(ScriptedModel(), backend=StateBackend(), subagents=delegation, **options)


def names(stack):
    return [type(entry).__name__ for entry in stack]


def test_order_is_the_mission_s():
    """D2: todos, filesystem, subagents, (stubborn models,) summarization, (prompt caching,) patching, the caller's, approvals."""
    assert names(stack_of(middleware=[Extra()], interrupt_on={"write_file": True})) == [
        "SteeringMiddleware",
        "PlanningMiddleware",
        "FilesystemMiddleware",
        "SubAgentMiddleware",
        "SideQuestionMiddleware",
        "StubbornModelMiddleware",
        "SummarizationMiddleware",
        "PatchToolCallsMiddleware",
        "Extra",
        "ApprovalMiddleware",
    ]


def test_skills_and_memory_have_their_places_and_cost_nothing_unused():
    """Skills follow the files; memory follows the cache mark, after everything that stays the same from call to call."""
    without, with_both = names(stack_of()), names(stack_of(skills=["/skills"], memory=["/AGENTS.md"]))
    assert with_both == [
        "SteeringMiddleware",
        "PlanningMiddleware",
        "FilesystemMiddleware",
        "SkillsMiddleware",
        "SubAgentMiddleware",
        "SideQuestionMiddleware",
        "StubbornModelMiddleware",
        "SummarizationMiddleware",
        "MemoryMiddleware",
        "PatchToolCallsMiddleware",
    ]
    assert without == [name for name in with_both if name not in ("SkillsMiddleware", "MemoryMiddleware")]
    brought = [Extra(), MemoryMiddleware(sources=["/m.md"]), SkillsMiddleware(sources=["/s"])]
    assert names(stack_of(middleware=brought)) == [*with_both, "Extra"]
    assert stack_of(middleware=brought, skills=["/skills"])[3] is brought[2]
    assert not [node for node in create_deep_agent(ScriptedModel()).nodes if "Skills" in node or "Memory" in node]


def test_the_cache_mark_of_an_anthropic_model_stands_before_the_memory():
    assert names(default_stack(claude(), backend=StateBackend(), memory=["/AGENTS.md"]))[-3:] == [
        "AnthropicPromptCachingMiddleware",
        "MemoryMiddleware",
        "PatchToolCallsMiddleware",
    ]


def test_questions_and_the_user_s_files_have_places_of_their_own():
    """T3, T5: todos, clarify, filesystem, client tools, subagents, ..., approvals, however the caller lists them."""
    brought = [ClientToolsMiddleware(mount="/project/"), Extra(), ClarifyWithHumanMiddleware()]
    assert names(stack_of(middleware=brought, interrupt_on={"write_file": True})) == [
        "SteeringMiddleware",
        "PlanningMiddleware",
        "ClarifyWithHumanMiddleware",
        "FilesystemMiddleware",
        "ClientToolsMiddleware",
        "SubAgentMiddleware",
        "SideQuestionMiddleware",
        "StubbornModelMiddleware",
        "SummarizationMiddleware",
        "PatchToolCallsMiddleware",
        "Extra",
        "ApprovalMiddleware",
    ]
    with pytest.raises(ConfigurationError, match="do the same thing"):
        stack_of(middleware=[ClarifyWithHumanMiddleware(), ClarifyWithHumanMiddleware()])


def test_prompt_caching_stands_before_patching_on_anthropic_models():
    """D2, D8."""
    from langchain_anthropic import ChatAnthropic

    model = ChatAnthropic(model="claude-sonnet-4-6", api_key="not-a-key")
    kinds = names(default_stack(model, backend=StateBackend()))
    assert kinds[-2:] == ["AnthropicPromptCachingMiddleware", "PatchToolCallsMiddleware"]
    create_deep_agent(model)


def test_prompt_caching_is_absent_on_other_models():
    """D8: no effect and no error on other models."""
    assert "AnthropicPromptCachingMiddleware" not in names(stack_of())


@pytest.mark.parametrize(
    ("own", "position"),
    [
        (TodoListMiddleware(), 1),
        (FilesystemMiddleware(system_prompt="mine"), 2),
        (SummarizationMiddleware(ScriptedModel(), trigger_tokens=5), 6),
        (LangChainSummarization(ScriptedModel(), trigger=("tokens", 5)), 6),
        (HumanInTheLoopMiddleware({"ls": True}), 8),
    ],
)
def test_a_caller_s_middleware_of_the_same_kind_replaces_the_default(own, position):
    """D2."""
    stack = stack_of(middleware=[own], interrupt_on={"write_file": True})
    assert stack[position] is own
    assert len(stack) == 9


def test_two_of_one_kind_are_refused():
    with pytest.raises(ConfigurationError, match="do the same thing"):
        stack_of(middleware=[FilesystemMiddleware(), FilesystemMiddleware()])


def test_neighbours_are_folded_and_others_left_alone():
    """Build 2: adjacent capabilities that only prepare the request become one wrapper."""
    folded = fold(stack_of(middleware=[Extra()]))
    assert len(folded) == 2
    assert [member.name for member in folded[0].members] == names(stack_of())
    assert isinstance(folded[1], Extra)


def test_folding_does_not_change_what_an_agent_does():
    def script():
        return [call("write_file", file_path="/a.md", content="x"), call("grep", pattern="x"), say("done")]

    def asked_by(stack_type):
        model = ScriptedModel(script())
        stack = default_stack(model, backend=StateBackend())
        if stack_type == "separate":
            stack.insert(1, Extra())  # splits the fold
        agent = compile_agent(stack, model=model, system_prompt="base")
        final = agent.invoke(ASK)
        return [(asked.system, [m.content for m in asked.messages]) for asked in model.asked], final["files"].keys()

    assert asked_by("folded") == asked_by("separate")


def test_compile_agent_takes_an_order_of_the_application_s_own():
    model = ScriptedModel([call("write_file", file_path="/a.md", content="x"), say("ok")])
    agent = compile_agent([Extra(), FilesystemMiddleware()], model=model, system_prompt="only files")
    assert agent.invoke(ASK)["files"]
    assert model.last_asked.tool_names == ["ls", "read_file", "write_file", "edit_file", "delete", "move", "glob", "grep"]


def test_assembled_prompt_and_tools_are_as_pinned():
    """D2: planning, reading before editing, when to delegate."""
    model = ScriptedModel([say("ok")])
    create_deep_agent(model, system_prompt="You are the caller's own text.").invoke(ASK)
    asked = model.last_asked
    tools = "\n".join(f"- {schema['function']['name']}: {schema['function']['description']}" for schema in asked.tool_schemas)
    assembled = f"{asked.system}\n\n# Tools\n{tools}\n"
    assert assembled == (SNAPSHOTS / "default_prompt.md").read_text(encoding="utf-8")


def test_a_budget_stands_outermost_and_reaches_custom_subagents():
    """Ceilings hold for the whole run: summaries and subagents count."""
    from stepwell import BudgetMiddleware

    assert type(stack_of(middleware=[Extra(), BudgetMiddleware(max_model_calls=2)])[0]) is BudgetMiddleware
    model = ScriptedModel.by_agent(
        {"main": [call("task", description="x", subagent_type="worker")], "worker": [call("ls")] * 5}
    )
    agent = create_deep_agent(
        model,
        subagents=[{"name": "worker", "description": "works", "system_prompt": "Work."}],
        middleware=[BudgetMiddleware(max_model_calls=3)],
    )
    final = agent.invoke(ASK)
    assert len(model.asked) == 3
    assert "model calls" in final["messages"][-1].text


async def test_async_only_hooks_of_a_request_capability_are_not_lost_in_a_fold():
    heard = []

    class AroundTools(RequestMiddleware):
        async def awrap_tool_call(self, request, handler):
            heard.append("tool")
            return await handler(request)

    class AroundModel(RequestMiddleware):
        async def awrap_model_call(self, request, handler):
            heard.append("model")
            return await handler(request)

    model = ScriptedModel([call("ls"), say("ok")])
    stack = default_stack(model, backend=StateBackend(), middleware=[AroundTools(), AroundModel()])
    await compile_agent(stack, model=model).ainvoke(ASK)
    assert heard == ["model", "tool", "model"]
