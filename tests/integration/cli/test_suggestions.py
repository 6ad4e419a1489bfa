"""Names that only a server or a catalogue knows: a misspelt one is answered with the nearest."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.integration.served.process import environment, serve
from tests.integration.served.warm import run_warm


def test_a_misspelt_assistant_on_a_server_gets_the_nearest_name(tmp_path: Path):
    graphs = tmp_path / "langgraph.json"
    graphs.write_text('{"graphs": {"gardener": "./agent.py:graph"}}')
    (tmp_path / "agent.py").write_text(
        "from langgraph.graph import MessagesState, StateGraph\ngraph = StateGraph(MessagesState)\n"
        "graph.add_node('a', lambda state: {})\ngraph.set_entry_point('a')\n"
    )
    with serve(tmp_path, graphs=graphs) as server:
        added = run_warm(["crons", "add", "gardner", "@daily", "water", "--url", server.url], tmp_path, environment())
        talked = run_warm(["chat", "--url", server.url, "--assistant", "gardner", "--once", "hi"], tmp_path, environment())
    for said in (added, talked):
        assert said.returncode == 2, said
        assert "Did you mean 'gardener'?" in said.stderr


@pytest.mark.parametrize(
    ("arguments", "nearest"),
    [
        (["models", "pull", "qwen3-4"], "qwen3-4b"),
        (["models", "use", "antropic"], "anthropic"),
        (["chat", "--model", "opnai:gpt-5.5", "--once", "hi"], "openai"),
        (["acp", "--graph", "deptutor"], "deeptutor"),
    ],
    ids=["local", "provider", "model", "graph"],
)
def test_a_misspelt_model_or_graph_gets_the_nearest_name(tmp_path: Path, arguments: list[str], nearest: str):
    said = run_warm(arguments, tmp_path, environment(STEPWELL_DATA_DIR=str(tmp_path)))
    assert said.returncode == 2, said
    assert f"Did you mean '{nearest}'?" in said.stderr
