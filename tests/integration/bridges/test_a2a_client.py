"""A2A against a server process: the program of the how-to as printed, and a task that outlives a killed server."""

from __future__ import annotations

import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

import httpx
from tests.integration.bridges.test_docs_of_bridges import ADDRESS, GRAPH
from tests.integration.served.process import Server
from tests.integration.test_docs_snippets import DOCS, python_blocks


def test_the_page_runs_as_printed(served: Server, tmp_path: Path) -> None:
    page = (DOCS / "how-to" / "talk-to-other-agents.md").read_text(encoding="utf-8")
    (block,) = [block for block in python_blocks(page) if ADDRESS in block.text]
    command = [sys.executable, "-c", block.text.replace(ADDRESS, served.url).replace(GRAPH, "agent")]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.strip() == "It is 3."


def test_question_and_its_task_survive_a_killed_server(server_process: Server) -> None:
    def call(method: str, **params: Any) -> Any:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        answer = httpx.post(f"{server_process.url}/a2a/chooser", json=body, headers={"A2A-Version": "1.0"}, timeout=120)
        return answer.json()["result"]

    def message(text: str, **names: str) -> dict[str, Any]:
        return {"messageId": str(uuid.uuid4()), "role": "ROLE_USER", "parts": [{"text": text}], **names}

    task = call("SendMessage", message=message("hello"))["task"]
    assert task["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
    server_process.kill()
    server_process.start()
    assert call("GetTask", id=task["id"])["status"] == task["status"]
    done = call("SendMessage", message=message("1", taskId=task["id"]))["task"]
    assert (done["id"], done["status"]["state"]) == (task["id"], "TASK_STATE_COMPLETED")
