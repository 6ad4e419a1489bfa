"""A server keeps an image that an agent has read a few times at most, however many steps follow, and a long message as it was typed."""

from __future__ import annotations

import random
import struct
import zlib
from pathlib import Path

from tests.integration.server.conftest import serve

from stepwell import FilesystemBackend, create_deep_agent
from stepwell.testing import ScriptedModel, call, say

TEXT = "Look at the image.\n" + "all is well\n" * 30_000


def noise(width: int, height: int) -> bytes:
    """A PNG that cannot be compressed."""
    dice = random.Random(7)
    rows = b"".join(b"\0" + dice.randbytes(width) for _ in range(height))
    parts = ((b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body)) for name, body in parts
    )


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.glob("server.db*"))


async def test_images_and_long_messages_are_not_stored_with_every_step(tmp_path: Path) -> None:
    files = tmp_path / "files"
    files.mkdir()
    image = noise(1_000, 400)
    (files / "a.png").write_bytes(image)
    turns = [
        call("read_file", file_path="/a.png"),
        *(call("write_file", file_path=f"/{n}", content="x") for n in range(30)),
        say("A well."),
    ]
    model = ScriptedModel(turns, profile={"image_inputs": True})
    agent = create_deep_agent(model, backend=FilesystemBackend(files))
    async with serve(tmp_path, graphs={"looker": agent}) as server:
        thread = await server.client.threads.create()
        given = {"messages": [{"role": "user", "content": TEXT}]}
        modes = ["values", "messages-tuple", "updates"]
        async for _ in server.client.runs.stream(thread["thread_id"], "looker", input=given, stream_mode=modes):  # type: ignore[arg-type]
            pass
        state = await server.client.threads.get_state(thread["thread_id"])
    messages = state["values"]["messages"]  # type: ignore[call-overload]  # a dict
    assert messages[0]["content"] == TEXT
    assert "The whole message is in /large_messages/" in model.last_asked.messages[1].text
    assert messages[2]["content"][0]["type"] == "image"
    assert messages[-1]["content"] == "A well."
    stored = size_of(tmp_path)
    assert stored < 10 * (len(image) + len(TEXT)), (
        "about once for each of checkpoint, writes, events and record; there are 32 steps"
    )
