"""Importing does nothing: no SDK is loaded, and it costs almost no time. CPU time, best of some, so a busy machine passes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CPU_OF = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime)
"""


def run(*arguments: str, cwd: Path | None = None) -> str:
    return subprocess.run([sys.executable, *arguments], check=True, capture_output=True, text=True, timeout=60, cwd=cwd).stdout


def cpu_seconds(*arguments: str) -> float:
    """The least CPU time of five starts of Python with these arguments; the start of Python itself is included."""
    pytest.importorskip("resource", reason="this platform does not tell the CPU time of children")
    return min(float(run("-c", CPU_OF, sys.executable, *arguments)) for _ in range(5))


def test_importing_loads_no_sdk_and_no_graph():
    heavy = "langchain langchain_core langgraph langsmith pydantic openai anthropic httpx dotenv re2 asyncio"
    code = f"import sys, stepwell; print(*[m for m in {heavy.split()!r} if m in sys.modules])"
    assert run("-c", code).strip() == ""


def test_a_server_loads_neither_agents_nor_clients_nor_checks_until_they_are_needed():
    code = """
import sys
from stepwell.server.deferred_packages import defer_packages
defer_packages()
import stepwell.cli.compose, stepwell.server.listening
from stepwell.products import installed_products, load_part
for product in installed_products():
    load_part(product, "service"), load_part(product, "routes"), load_part(product, "tables")
heavy = "langchain.agents stepwell.middleware httpx langgraph_sdk.client langsmith.types.run openai anthropic numpy mcp pypdf cryptography \
uvicorn.main click"
ours = "research.audit.checks research.audit.forms research.graph.schemas research.evidence.asking_words tools.documents.page \
tools.web.fetch tutor.argument.exports models.local.models"
print(*[name for name in [*heavy.split(), *[f"stepwell.{name}" for name in ours.split()]] if name in sys.modules])
"""
    assert run("-c", code).strip() == ""


def test_a_server_builds_no_models_of_others_until_they_are_needed():
    code = """
from stepwell.server.deferred_packages import defer_packages, import_with_late_models
defer_packages()
import_with_late_models()
import stepwell.cli.compose
from fastapi.openapi.models import OpenAPI
from langchain_core.messages import AIMessage
from langsmith.schemas import Run
print(*[model.__name__ for model in (OpenAPI, AIMessage, Run) if model.__pydantic_complete__])
"""
    assert run("-c", code).strip() == ""


def test_importing_writes_nothing(tmp_path: Path):
    run("-c", "import stepwell", cwd=tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def bare() -> float:
    """What Python itself takes to start: on a slow machine everything takes longer."""
    return cpu_seconds("-c", "pass")


def test_import_costs_at_most_a_tenth_of_a_second(bare: float):
    assert cpu_seconds("-c", "import stepwell") <= max(0.1, 5 * bare)


def test_help_costs_at_most_four_tenths_of_a_second(bare: float):
    assert cpu_seconds("-m", "stepwell", "--help") <= max(0.4, 20 * bare)
