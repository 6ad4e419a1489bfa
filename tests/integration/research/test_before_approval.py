"""What has left the machine when a person is asked to approve: said as it is, and forbidden where the policy says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stepwell.demo.web import OfflineWorld
from stepwell.models.embedding.lexical import LexicalEmbedder
from stepwell.models.routing import ModelRoutes
from stepwell.research.audit.bundle import write_bundle
from stepwell.research.commands.gate import plan_lines
from stepwell.research.evidence.equipment import make_equipment
from stepwell.research.evidence.policy.file import default_policy, parse_policy
from stepwell.research.graph.replaying import replay_bundle
from stepwell.settings import Settings
from stepwell.testing import Asked, ScriptedModel

from .conftest import Research, StartResearch
from .roles import audit, plan, word_for_word

NOTE = "Our own survey found 41 cracked beams in the spring."
NOTHING = "Nothing has been sent yet."
HELD = parse_policy(default_policy().text.replace("before_approval = true", "before_approval = false"), "POLICY.md")


class Served(ScriptedModel):
    """A model behind an address, which keeps all it is asked."""

    base_url: str = ""
    name: str = "m1"

    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> Any:
        return {"ls_provider": "maker"}

    @property
    def model_name(self) -> str:
        return "m1"


def served(world: OfflineWorld, server: str) -> Served:
    def reply(asked: Asked) -> str:
        if asked.system.startswith("You write a research report"):
            return word_for_word({"e1": "It is so."})
        if asked.system.startswith("You check one sentence"):
            return '{"verdict": "supported", "reason": "so it reads"}'
        return audit() if asked.system.startswith("You audit") else plan(world.pages[0].subject)

    made = Served.answering(reply)
    made.base_url = server
    assert isinstance(made, Served)
    return made


def remote(world: OfflineWorld) -> Served:
    return served(world, "https://api.maker.test/v1")


def here(world: OfflineWorld) -> Served:
    return served(world, "http://127.0.0.1:11434")


async def at_the_gate(research: Research, **more: Any) -> dict[str, Any]:
    state = await research.ask("What did our survey find?", **more)
    value: dict[str, Any] = state["__interrupt__"][0].value
    return value


async def test_what_a_model_elsewhere_was_sent_is_said_at_the_gate(world: OfflineWorld, start: StartResearch) -> None:
    model = remote(world)
    question = await at_the_gate(start(models=ModelRoutes(model)), knowledge_context=NOTE, context_urls=[world.pages[0].url])
    assert any(NOTE in asked.human for asked in model.asked), "it did leave"
    sent = question["sent"]
    assert sent["nothing"] is False
    (place,) = sent["to"]
    assert (place["host"], place["model"], place["requests"]) == ("api.maker.test", "maker:m1", len(model.asked))
    assert place["what"] == ["question", "notes", "addresses", "plan"]
    assert sent["summary"].startswith(
        "The model maker:m1 (api.maker.test) was sent your question, your notes, the addresses you gave and the plan (2 requests, "
    )
    assert sent["summary"].endswith(" Nothing else has been sent.")
    assert f"Sent so far: {sent['summary']}" in list(plan_lines(question))
    assert world.count() == 0


async def test_without_notes_none_are_said_to_have_left(world: OfflineWorld, start: StartResearch) -> None:
    assert (await at_the_gate(start(models=ModelRoutes(remote(world)))))["sent"]["to"][0]["what"] == ["question", "plan"]


async def test_stopping_says_what_has_left(world: OfflineWorld, start: StartResearch) -> None:
    research = start(models=ModelRoutes(remote(world)))
    await at_the_gate(research)
    state = await research.answer({"decision": "reject", "stop": True})
    assert state["error_message"].startswith(
        "You stopped the research. The model maker:m1 (api.maker.test) was sent your question"
    )


@pytest.mark.parametrize("how", ["rules", "a model on this machine"])
async def test_nothing_has_left_is_said_where_it_is_true(world: OfflineWorld, start: StartResearch, how: str) -> None:
    model = here(world)
    research = start(models=None if how == "rules" else ModelRoutes(model))
    question = await at_the_gate(research, knowledge_context=NOTE)
    assert question["sent"] == {"nothing": True, "summary": NOTHING, "to": []}
    assert bool(model.asked) is (how != "rules")
    state = await research.answer({"decision": "reject", "stop": True})
    assert state["error_message"] == f"You stopped the research. {NOTHING}"
    assert world.count() == 0


@pytest.mark.parametrize("beside", [False, True], ids=["rules", "a local model beside it"])
async def test_a_policy_can_forbid_sending_before_approval(
    world: OfflineWorld, start: StartResearch, tmp_path: Path, beside: bool
) -> None:
    model, local = remote(world), here(world)
    research = start(models=ModelRoutes(model), policy=HELD, local=local if beside else None)
    question = await at_the_gate(research, knowledge_context=NOTE)
    assert model.asked == []
    assert bool(local.asked) is beside
    assert question["sent"]["summary"] == NOTHING
    assert bool(question["audit"]["leftToTheHuman"]) is not beside, "the rules to be judged are a person's then"
    state = await research.answer(True)
    maker = "a model on this machine" if beside else "rules"
    assert any(f"Made by {maker}: the policy sends nothing before you approve" in each.summary for each in state["reasoning"])
    assert state["status"] == "complete"
    assert model.asked, "after the approval it writes"
    path = tmp_path / "bundle.zip"
    await write_bundle(research.vault, path)
    replayed = await replay_bundle(path, embedder=LexicalEmbedder())
    assert replayed.equal, replayed.differences


async def test_a_local_route_plans_where_nothing_may_be_sent(world: OfflineWorld, start: StartResearch) -> None:
    model, local = remote(world), here(world)
    question = await at_the_gate(start(models=ModelRoutes(model, files=local), policy=HELD))
    assert (model.asked, question["sent"]["nothing"]) == ([], True)
    assert len(local.asked) == 2, "plan and audit"


def test_a_model_on_this_machine_is_found_in_the_environment(tmp_path: Path) -> None:
    environment = {"STEPWELL_DATA_DIR": str(tmp_path), "STEPWELL_LOCAL_MODEL": "smollm2-135m"}
    parts: dict[str, Any] = {"web": None, "embedder": LexicalEmbedder(), "models": None}
    settings = Settings.load(environment)
    assert make_equipment(settings, policy=HELD, **parts).local is not None
    assert make_equipment(settings, policy=default_policy(), **parts).local is None, "it is not needed"
