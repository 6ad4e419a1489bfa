"""Images that an agent reads: where the model's profile allows them, in subagents too, stored once, and in summaries by their name."""

from __future__ import annotations

import random
import struct
import zlib
from base64 import b64encode
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.messages import HumanMessage, ToolMessage
from langgraph.checkpoint.sqlite import SqliteSaver

from stepwell import CompositeBackend, FilesystemBackend, StateBackend, SummarizationMiddleware, create_deep_agent
from stepwell.backends.objects import ObjectBackend, memory_bucket
from stepwell.backends.sync_async import run_in_portal
from stepwell.models.facts import takes_in_results
from stepwell.models.token_count import estimate
from stepwell.testing import ScriptedModel, call, say

ASK = {"messages": [("user", "Look.")]}
SEES = {"image_inputs": True}


def noise(width: int = 20, height: int = 10) -> bytes:
    """A PNG that cannot be compressed, in shades of grey."""
    dice = random.Random(7)
    rows = b"".join(b"\0" + dice.randbytes(width) for _ in range(height))
    parts = ((b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body)) for name, body in parts
    )


@pytest.fixture
def folder(tmp_path: Path) -> FilesystemBackend:
    (tmp_path / "a.png").write_bytes(noise())
    return FilesystemBackend(tmp_path)


def result(final: dict[str, Any]) -> ToolMessage:
    (found,) = [message for message in final["messages"] if message.type == "tool"]
    return found


@pytest.mark.parametrize("form", ["sync", "async"])
@pytest.mark.parametrize(
    ("profile", "sees"),
    [
        (SEES, True),
        ({**SEES, "image_tool_message": True}, True),
        ({**SEES, "image_tool_message": False}, False),
        ({"image_inputs": False}, False),
        ({}, False),
        (None, False),
    ],
)
async def test_the_models_profile_decides(folder: FilesystemBackend, form: str, profile: Any, sees: bool) -> None:
    model = ScriptedModel([call("read_file", file_path="/a.png"), say("ok")], profile=profile)
    agent = create_deep_agent(model, backend=folder)
    final = agent.invoke(ASK) if form == "sync" else await agent.ainvoke(ASK)
    read = result(final)
    if sees:
        assert read.content[0] == {"type": "image", "base64": b64encode(noise()).decode(), "mime_type": "image/png"}
        assert model.last_asked.messages[-1].content == read.content
    else:
        assert "is an image (PNG image, 20 × 10 pixels," in read.text
        assert "you cannot see images" in read.text


def test_a_subagents_own_model_decides(folder: FilesystemBackend) -> None:
    seeing = ScriptedModel([call("read_file", file_path="/a.png"), say("A red well.")], profile=SEES)
    main = ScriptedModel([call("task", description="look", subagent_type="eyes"), say("ok")], profile={"image_inputs": False})
    eyes: Any = {"name": "eyes", "description": "looks", "system_prompt": "Look.", "model": seeing}
    final = create_deep_agent(main, backend=folder, subagents=[eyes]).invoke(ASK)
    assert seeing.last_asked.messages[-1].content[0]["type"] == "image"
    assert result(final).text == "A red well."


def test_an_image_is_stored_once_however_long_the_thread_goes_on(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(noise(1_000, 300))
    thread = {"configurable": {"thread_id": "1"}}
    size = len(b64encode(noise(1_000, 300)))
    with SqliteSaver.from_conn_string(str(tmp_path / "threads.db")) as saver:
        turns = [
            call("read_file", file_path="/a.png"),
            *(call("write_file", file_path=f"/{n}", content="x") for n in range(20)),
        ]
        model = ScriptedModel([*turns, say("ok")], profile=SEES)
        final = create_deep_agent(model, backend=FilesystemBackend(tmp_path), checkpointer=saver).invoke(ASK, thread)
        assert final["messages"][-1].text == "ok"
        rows = saver.conn.execute("select value from writes union all select checkpoint from checkpoints").fetchall()
    assert size < sum(len(row[0]) for row in rows) < 2 * size


def test_a_summary_names_images_and_never_shows_their_bytes(folder: FilesystemBackend) -> None:
    turns = [*(call("read_file", file_path="/a.png") for _ in range(2)), say("The summary."), say("ok")]
    model = ScriptedModel(turns, profile=SEES)
    summaries = SummarizationMiddleware(model, trigger_tokens=3_000, keep_messages=1)
    create_deep_agent(model, backend=folder, middleware=[summaries]).invoke(ASK)
    (prompt,) = [asked.messages[0].text for asked in model.asked if "<conversation>" in asked.messages[0].text]
    assert "(/a.png: PNG image, 20 × 10 pixels" in prompt
    assert b64encode(noise()).decode()[:40] not in prompt


def test_blocks_are_counted_by_what_they_cost() -> None:
    image = {"type": "image", "base64": "x" * 400_000, "mime_type": "image/png"}
    file = {"type": "file", "base64": "x" * 400_000, "mime_type": "application/pdf"}
    assert 1_600 <= estimate([HumanMessage([image])]) < 1_700
    assert 8_000 <= estimate([HumanMessage([file])]) < 8_100
    assert 9_600 <= estimate([HumanMessage([{"type": "text", "text": "Look"}, image, file])]) < 9_800


def test_a_pdf_in_the_conversation_is_only_named_to_a_model_that_cannot_read_it() -> None:
    file = {"type": "file", "base64": "x", "mime_type": "application/pdf"}
    model = ScriptedModel([say("ok")], profile={"pdf_inputs": False})
    create_deep_agent(model).invoke({"messages": [HumanMessage([file]), HumanMessage("Go on.")]})
    assert model.last_asked.messages[1].text == "[A PDF file that you cannot read]"
    assert takes_in_results(ScriptedModel([], profile={"pdf_inputs": True}), "pdf")
    assert not takes_in_results(object(), "pdf")


class Base64Folder:
    """A backend of deepagents 0.7, whose images come as base64 with `read`."""

    def ls(self, path: str) -> Any:
        return SimpleNamespace(error=None, entries=[])

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> Any:
        return SimpleNamespace(error=None, file_data={"content": b64encode(noise()).decode(), "encoding": "base64"})


def bucket_with_image() -> ObjectBackend:
    bucket = memory_bucket()
    run_in_portal(bucket.put("t1/a.png", noise(), {}, None))
    return ObjectBackend(bucket, "/t1/")


@pytest.mark.parametrize("form", ["sync", "async"])
@pytest.mark.parametrize("build", [bucket_with_image, Base64Folder])
async def test_images_come_from_every_backend_that_gives_bytes(build: Any, form: str) -> None:
    model = ScriptedModel([call("read_file", file_path="/mine/a.png"), say("ok")], profile=SEES)
    agent = create_deep_agent(model, backend=CompositeBackend(StateBackend(), {"/mine/": build()}))
    final = agent.invoke(ASK) if form == "sync" else await agent.ainvoke(ASK)
    image, about = result(final).content
    assert image["base64"] == b64encode(noise()).decode()
    assert about["text"].startswith("(/mine/a.png: PNG image, 20 × 10 pixels")
