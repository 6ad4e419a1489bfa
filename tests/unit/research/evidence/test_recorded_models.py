"""Where a model is asked, for the receipt: only one that is surely on this machine does not leave it."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableLambda

from stepwell.research.audit.exchanges.receipt import egress_receipt
from stepwell.research.audit.exchanges.recording import Recorder
from stepwell.research.audit.memory_vault import MemoryVault
from stepwell.research.evidence.recorded.models import RecordedModels, locate_model
from stepwell.testing import ScriptedModel, say


class Served(ScriptedModel):
    """A model behind an address."""

    base_url: str = ""

    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> Any:
        return {"ls_provider": "maker"}


@pytest.mark.parametrize(
    ("server", "host", "leaves"),
    [
        ("http://127.0.0.1:11434", "127.0.0.1", False),
        ("http://localhost:1234/v1", "localhost", False),
        ("http://[::1]:80", "::1", False),
        ("http://models.localhost:1234/v1", "models.localhost", False),
        ("https://api.maker.test/v1", "api.maker.test", True),
        ("http://192.168.1.4:11434", "192.168.1.4", True),
        ("", "maker", True),
    ],
)
async def test_a_model_on_this_machine_is_no_egress(server: str, host: str, leaves: bool) -> None:
    model = Served([say("Yes.")], base_url=server)
    told = locate_model(model)
    assert (told["host"], told["leaves_machine"]) == (host, leaves)
    assert locate_model(model | RunnableLambda(str)) == told
    vault = MemoryVault()
    await RecordedModels(Recorder(vault), "q1").call("k", "writer", [HumanMessage("Hello?")], model)
    assert [each["host"] for each in egress_receipt(await vault.entries())["requests"]] == ([host] if leaves else [])
    assert [entry.kind for entry in await vault.entries()][-1] == "model_call"


def test_what_is_not_known_counts_as_gone() -> None:
    assert locate_model(RunnableLambda(str)) == {}
