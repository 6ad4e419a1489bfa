"""`@file` in a message becomes a bounded excerpt, for the model alone, of the tenant's own files only."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from stepwell.backends.objects import ObjectBackend, memory_bucket
from stepwell.testing import ScriptedModel, say
from stepwell.workspace.agent import build_agent
from stepwell.workspace.mentions import MAX_CHARS, MAX_FILES, find_mentions
from stepwell.workspace.places import InBucket

AT = {"configurable": {"gcs_root_path": "/acme/plans/", "thread_id": "1"}}


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("What is in @may.md?", ["/may.md"]),
        ("Compare @/plans/may.md, @june.md and @/plans/may.md.", ["/plans/may.md", "/june.md"]),
        ('See @"my notes/first draft.md"', ["/my notes/first draft.md"]),
        ("Mail ada@example.com, or ask @ada", []),
        ("@../other/a.md @/%2e%2e/a.md @/..", []),
        (" ".join(f"@{number}.md" for number in range(20)), [f"/{number}.md" for number in range(MAX_FILES)]),
        ("@" * 5_000 + "a.md", []),
    ],
)
def test_what_counts_as_a_mention(text: str, named: list[str]):
    assert find_mentions([HumanMessage(text, id="1")])[1] == named


async def converse(model: ScriptedModel, files: dict[str, str], *texts: str) -> Any:
    bucket = memory_bucket()
    for path, content in files.items():
        await ObjectBackend(bucket, "/acme/plans/").awrite(path, content)
    await ObjectBackend(bucket, "/acme/other/").awrite("/theirs.md", "their secret")
    graph = build_agent(model, InBucket(bucket), checkpointer=InMemorySaver())
    for text in texts:
        final = await graph.ainvoke({"messages": [("user", text)]}, AT)
    return final


async def test_the_model_sees_the_excerpt_and_the_thread_keeps_the_message():
    model = ScriptedModel([say("Tea."), say("Still tea.")])
    final = await converse(model, {"/may.md": "tea at four\n"}, "What is in @may.md?", "And now?")
    for asked in model.asked:
        first = next(message for message in asked.messages if message.type == "human")
        assert first.content.startswith("What is in @may.md?")
        assert "tea at four" in first.content
    assert [message.content for message in final["messages"] if message.type == "human"] == ["What is in @may.md?", "And now?"]


async def test_an_excerpt_is_short():
    model = ScriptedModel([say("Long.")])
    await converse(model, {"/long.md": "word " * 50_000}, "@long.md")
    assert len(model.last_asked.messages[-1].content) < MAX_CHARS + 500


async def test_another_tenant_s_file_and_a_missing_one_read_the_same():
    """W9: also by way of a mention."""
    said = []
    for name in ("theirs.md", "nobody.md"):
        model = ScriptedModel([say("No.")])
        await converse(model, {}, f"@{name}")
        said.append(model.last_asked.messages[-1].content.replace(name, "X"))
    assert said[0] == said[1]
    assert "no file" in said[0]
