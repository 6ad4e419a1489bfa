"""No key is in trail or bundle, whether its name or its form gives it away, and whoever brought it: the question, notes, addresses, what a
person says at the gate, a redirect, a model's answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from stepwell.demo.web import OfflineWorld
from stepwell.models.embedding.lexical import LexicalEmbedder
from stepwell.research.audit.bundle import BundleReader, write_bundle
from stepwell.research.audit.canonical import sha256
from stepwell.research.audit.story import hash_plan
from stepwell.research.audit.verify import verify_bundle
from stepwell.research.graph.replaying import replay_bundle
from stepwell.research.graph.schemas import ResearchPlan, ResearchStep, keep_plan, plan_sha256

from .conftest import StartResearch
from .roles import Evidence, Roles, plan

KEY = "sk-proj-" + "Ab3dE5" * 6
TOKEN = "ghp_" + "x9Y8z7" * 6
NAMED = "b3VyIHNlY3JldCB2YWx1ZQ"


@pytest.mark.parametrize("writes", [False, True], ids=["extractive", "written"])
async def test_a_key_is_in_no_member_of_a_bundle(
    world: OfflineWorld, start: StartResearch, tmp_path: Path, writes: bool
) -> None:
    page = world.pages[0]

    def write(shown: Evidence) -> str:
        name, text = next(iter(shown.items()))
        return f"{text.split('. ')[0]} [{name}]. The key is {KEY} [{name}]."

    models = Roles(plans=[plan(page.subject, f"{page.subject} {KEY}")] * 2, write=write).routes if writes else None
    research = start(models=models)
    state = await research.ask(
        f"How large is the {page.subject}? My key is {KEY}.",
        knowledge_context=f"The {page.subject} is large. password='{NAMED}' and {TOKEN}.",
        context_urls=[f"{page.url}?refresh_token={NAMED}", f"https://ada:{NAMED}@nobody.example/"],
    )
    assert KEY not in state["user_query"]
    shown = state["__interrupt__"][0].value["plan"]
    steps = [*shown["steps"][:2], {"tool": "fetch_page", "input": f"{page.url}?id_token={NAMED}"}]
    await research.answer({"decision": "edit", "plan": {**shown, "steps": steps}, "reason": f"with {TOKEN}"})
    state = await research.answer(True)
    assert state["status"] == "complete", state["error_message"]
    await write_bundle(research.vault, tmp_path / "b.zip")
    checked = verify_bundle(tmp_path / "b.zip")
    assert checked.ok, checked.problems
    with BundleReader(tmp_path / "b.zip") as bundle:
        for name in bundle.members:
            content = bundle.read(name).decode("utf-8", "replace")
            for secret in (KEY, TOKEN, NAMED):
                assert secret not in content, (name, content[max(0, content.index(secret) - 200) :][:400])
    replayed = await replay_bundle(tmp_path / "b.zip", embedder=LexicalEmbedder())
    assert replayed.equal, replayed.differences


def test_a_plan_without_keys_keeps_the_hash_it_had() -> None:
    """Threads that wait at the gate hold it."""
    step = ResearchStep(id="1", input='wells "and" Brunnen é \u2028 \x07 #x', rationale="why", depends_on=("0",))
    made = ResearchPlan(objective="Know\nit", steps=(step.model_copy(update={"output": "Read."}),), revision=2)
    unset = {"words", "outline"}
    assert keep_plan(made) == made.model_dump(mode="json", exclude=unset)
    before = made.model_copy(update={"steps": (step,)}).model_dump_json(exclude=unset)
    assert plan_sha256(made) == hash_plan(keep_plan(made)) == sha256(before.encode())
