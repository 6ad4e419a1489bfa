"""Record what a server says while scripted agents work, for the tests of the page's reducer (tests/fixtures/page/*.json).

stepwell serve --graphs tests/fixtures/page/langgraph.json --port 8741
python web/scripts/record_events.py http://127.0.0.1:8741
"""

from __future__ import annotations

import json
import sys
import uuid
from pathlib import Path
from typing import Any

import httpx

MODES = ["updates", "messages-tuple", "custom", "tools", "lifecycle"]
FOLDER = Path(__file__).parents[2] / "tests" / "fixtures" / "page"
APPROVE = {"decisions": [{"type": "approve"}]}
SCENARIOS: dict[str, list[str]] = {
    "writer": ["Tell me about stepwells"],
    "worker": ["Write a note"],
    "team": ["Ask both"],
    "fails": ["Hello"],
}


def frames(text: str) -> list[dict[str, Any]]:
    found = []
    for block in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":") and ": " in line)
        if "data" in fields:
            found.append({"seq": int(fields["id"]), "event": fields["event"], "data": json.loads(fields["data"])})
    return found


def run(client: httpx.Client, thread: str, graph: str, given: dict[str, Any]) -> list[dict[str, Any]]:
    """One run from its start to its end."""
    order = {"assistant_id": graph, "stream_mode": MODES, "stream_subgraphs": True, **given}
    return frames(client.post(f"/threads/{thread}/runs/stream", json=order).text)


def record(client: httpx.Client, graph: str, questions: list[str]) -> dict[str, Any]:
    """Ask, approve whatever is asked back, and take the state at the end."""
    thread = client.post("/threads", json={}).json()["thread_id"]
    events: list[dict[str, Any]] = []
    for number, question in enumerate(questions):
        message = {"type": "human", "id": str(uuid.uuid5(uuid.NAMESPACE_URL, f"{graph}/{number}")), "content": question}
        events += run(client, thread, graph, {"input": {"messages": [message]}})
        while open_ones := client.get(f"/threads/{thread}/state").json()["interrupts"]:
            answers = {each["id"]: APPROVE for each in open_ones}
            events += run(client, thread, graph, {"command": {"resume": answers}})
    return {"thread_id": thread, "graph_id": graph, "events": events, "state": client.get(f"/threads/{thread}/state").json()}


def main(address: str) -> None:
    with httpx.Client(base_url=address, timeout=120) as client:
        for graph, questions in SCENARIOS.items():
            recorded = record(client, graph, questions)
            (FOLDER / f"{graph}.json").write_text(json.dumps(recorded, ensure_ascii=False, separators=(",", ":")) + "\n")
            print(f"{graph}: {len(recorded['events'])} events")


if __name__ == "__main__":
    main(sys.argv[1])
