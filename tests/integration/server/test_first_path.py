"""The shortest way through the server with LangGraph's own client."""

from __future__ import annotations

from tests.integration.server.conftest import Server


async def test_a_run_streams_its_values_to_the_python_sdk(server: Server) -> None:
    thread = await server.client.threads.create()
    parts = [
        part
        async for part in server.client.runs.stream(
            thread["thread_id"], "echo", input={"messages": [{"role": "user", "content": "hi"}]}
        )
    ]
    assert parts[0].event == "metadata"
    assert parts[-1].event == "end"
    values = [part.data for part in parts if part.event == "values"]
    assert values[-1]["messages"][-1]["content"] == "You said: hi"
    assert values[-1]["log"] == ["heard", "answered"]
