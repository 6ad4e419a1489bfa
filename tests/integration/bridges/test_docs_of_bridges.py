"""The programs in the how-tos about other protocols run as printed, against a real server."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.integration.served.process import Server
from tests.integration.test_docs_snippets import DOCS, python_blocks

ADDRESS = "http://127.0.0.1:8123"
GRAPH = "simple_agent"
"""What the pages ask: a graph that a server without a project has. Ours has the graph `agent`."""


@pytest.mark.parametrize(("page", "says"), [("serve-over-mcp", "It is 3."), ("use-from-openai-clients", "It is 3.\nIt is 3.")])
def test_the_page_runs_as_printed(served: Server, page: str, says: str, tmp_path: Path) -> None:
    (block,) = [
        block
        for block in python_blocks((DOCS / "how-to" / f"{page}.md").read_text(encoding="utf-8"))
        if ADDRESS in block.text and GRAPH in block.text
    ]
    program = block.text.replace(ADDRESS, served.url).replace(GRAPH, "agent")
    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.strip().endswith(says)
    assert "careful" in ran.stdout
