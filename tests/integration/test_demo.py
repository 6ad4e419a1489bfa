"""What can be seen without a model, a key and a network: served, and in the terminal."""

from __future__ import annotations

import asyncio
import hashlib
import html
import json
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
import pytest_asyncio
from tests.integration.cli.test_cli import stepwell
from tests.integration.server.conftest import listening

from stepwell.cli.compose import graphs_to_serve, open_server
from stepwell.demo.web.stepwells import stepwell_pages
from stepwell.research.audit.evidence import HELD
from stepwell.research.demo import UNANSWERED
from stepwell.research.demo_writer import INVENTED, QUESTION, WRONG_FIGURE
from stepwell.server.settings import ServerSettings
from stepwell.settings import Settings

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def http(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[httpx.AsyncClient]:
    folder = tmp_path_factory.mktemp("demo")
    settings = Settings.load({"STEPWELL_DATA_DIR": str(folder)})
    served = graphs_to_serve(None, demo=True)
    async with (
        open_server(settings, ServerSettings(drain_s=0), served, folder / "s.db") as server,
        listening(server.app) as url,
        httpx.AsyncClient(base_url=url, timeout=60) as client,
    ):
        yield client
        server.services.streams.end_all()


class Visitor:
    """Somebody with a thread of their own."""

    def __init__(self, http: httpx.AsyncClient, graph: str) -> None:
        self.http = http
        self.graph = graph
        self.thread = str(uuid.uuid4())

    async def say(self, text: str) -> Any:
        message = {"type": "human", "id": str(uuid.uuid4()), "content": text}
        return await self._run(input={"messages": [message]}, if_not_exists="create")

    async def answer(self, answer: Any) -> Any:
        """To the one question that is open."""
        (waiting,) = await self.waiting()
        return await self._run(command={"resume": {waiting["interrupt_id"]: answer}})

    async def waiting(self) -> list[dict[str, Any]]:
        return (await self.http.get(f"/threads/{self.thread}/interrupts")).json()["interrupts"]

    async def _run(self, **body: Any) -> Any:
        answer = await self.http.post(f"/threads/{self.thread}/runs/wait", json={"assistant_id": self.graph, **body})
        assert answer.status_code == 200, answer.text
        assert "__error__" not in answer.json()
        return answer.json()


APPROVE = {"type": "approve"}
REJECT = {"type": "reject", "message": "Not now."}


async def play(visitor: Visitor, reader: str, *decisions: dict[str, Any]) -> dict[str, Any]:
    """To the end, with a decision for each change of a file."""
    state = await visitor.say("What is a stepwell?")
    (asked,) = await visitor.waiting()
    assert (asked["type"], asked["payload"]["question"]) == ("clarification_request", "Who is the note for?")
    await visitor.answer({"selected": [reader]})
    for tool, decision in zip(("write_file", "edit_file"), decisions, strict=False):
        (asked,) = await visitor.waiting()
        assert (asked["type"], asked["payload"]["action_requests"][0]["name"]) == ("tool_approval", tool)
        state = await visitor.answer({"decisions": [decision]})
    assert await visitor.waiting() == []
    return dict(state)


async def test_the_assistants_say_that_they_are_demonstrations(http: httpx.AsyncClient):
    found = (await http.post("/assistants/search", json={"metadata": {"demo": True}})).json()
    assert {assistant["graph_id"] for assistant in found} == {"research_demo", "demo_agent"}
    assert all("script" in each["description"] for each in found)
    assert all(each["metadata"]["question"] and each["metadata"]["follow_ups"] for each in found)
    assert (await http.get("/api/me")).json()["server"]["demo"] is True


async def test_visitors_play_the_agent_side_by_side_each_from_the_start(http: httpx.AsyncClient):
    visitors = [Visitor(http, "demo_agent") for _ in range(3)]
    readers = ["child", "traveller", "engineer"]
    states = await asyncio.gather(
        *(play(visitor, reader, APPROVE, APPROVE) for visitor, reader in zip(visitors, readers, strict=True))
    )
    notes = ["\n".join(state["files"]["/note.md"]["content"]) for state in states]
    assert len(set(notes)) == 3
    assert all("western India" in note for note in notes)
    assert all({todo["status"] for todo in state["todos"]} == {"completed"} for state in states)
    assert states[0]["messages"][-1]["content"].startswith("The note is in /note.md")
    steps = (await http.get(f"/threads/{visitors[0].thread}/steps")).json()["steps"]
    assert {step["name"] for step in steps if step["kind"] == "agent"} == {"researcher", "historian"}
    assert {step["name"] for step in steps if step["kind"] == "model"} == {"script:demo"}
    assert (await http.get(f"/threads/{visitors[0].thread}/usage")).json()["cost_usd"] == 0
    again = await visitors[0].say("And now?")
    assert "I am a script" in again["messages"][-1]["content"]


async def test_the_agent_answers_each_follow_up_that_it_offers_and_asks_before_it_edits_again(http: httpx.AsyncClient):
    (assistant,) = (await http.post("/assistants/search", json={"graph_id": "demo_agent"})).json()
    which, take_out = assistant["metadata"]["follow_ups"]
    visitor = Visitor(http, "demo_agent")
    await play(visitor, "child", APPROVE, APPROVE)
    listed = (await visitor.say(which))["messages"][-1]["content"]
    assert "writing /note.md: allowed\n- editing /note.md: allowed" in listed
    await visitor.say(take_out)
    (asked,) = await visitor.waiting()
    assert (asked["type"], asked["payload"]["action_requests"][0]["name"]) == ("tool_approval", "edit_file")
    state = await visitor.answer({"decisions": [APPROVE]})
    assert "western India" not in "\n".join(state["files"]["/note.md"]["content"])
    assert "out again" in state["messages"][-1]["content"]


async def test_who_says_no_gets_no_file(http: httpx.AsyncClient):
    state = await play(Visitor(http, "demo_agent"), "child", REJECT)
    assert "/note.md" not in state.get("files", {})
    assert "nothing happens without you" in state["messages"][-1]["content"]


async def test_the_demonstration_asks_again_before_it_edits_a_file_that_was_approved(http: httpx.AsyncClient):
    state = await play(Visitor(http, "demo_agent"), "child", APPROVE, REJECT)
    assert "western India" not in "\n".join(state["files"]["/note.md"]["content"])
    assert "as you approved it" in state["messages"][-1]["content"]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def researched(http: httpx.AsyncClient) -> Visitor:
    """A research of the demonstration that has ended."""
    visitor = Visitor(http, "research_demo")
    await visitor.say(QUESTION)
    (asked,) = await visitor.waiting()
    assert asked["type"] == "plan_approval"
    assert asked["payload"]["sent"]["nothing"] is True
    state = await visitor.answer({"decision": "approve"})
    assert "Stepwells gave people water all year round [1]." in state["final_report"]
    return visitor


async def test_the_checks_catch_the_wrong_figure_and_the_invented_sentence(http: httpx.AsyncClient, researched: Visitor):
    told = (await http.get(f"/api/research/{researched.thread}/report")).json()
    caught = {claim["text"]: claim for claim in told["claims"] if claim["verdict"] not in HELD}
    assert set(caught) == {f"{WRONG_FIGURE}.", f"{INVENTED}."}
    wrong, invented = caught[f"{WRONG_FIGURE}."], caught[f"{INVENTED}."]
    assert (wrong["verdict"], wrong["in_report"]) == ("contradicted", False)
    assert wrong["reasons"] == ["the claim says '38 metres', the source '28 metres'"]
    assert (invented["verdict"], invented["in_report"]) == ("unsupported", False)
    assert WRONG_FIGURE not in told["report"]
    assert INVENTED not in told["report"]
    assert sum(claim["in_report"] for claim in told["claims"]) == 7


async def test_an_earlier_report_keeps_its_evidence_after_a_follow_up(http: httpx.AsyncClient):
    visitor = Visitor(http, "research_demo")
    await visitor.say(QUESTION)
    first = (await visitor.answer({"decision": "approve"}))["final_report"]
    whole = (await http.get(f"/api/research/{visitor.thread}/report")).json()
    await visitor.say("How deep is Chand Baori?")
    await visitor.answer({"decision": "approve"})
    digest = hashlib.sha256(first.encode()).hexdigest()
    told = (await http.get(f"/api/research/{visitor.thread}/report", params={"sha256": digest})).json()
    for name in ("question", "report", "references", "claims", "quotes", "sources", "approvals"):
        assert told[name] == whole[name]
    newest = (await http.get(f"/api/research/{visitor.thread}/report")).json()
    assert newest["question"] == "How deep is Chand Baori?"
    missing = await http.get(f"/api/research/{visitor.thread}/report", params={"sha256": "0" * 64})
    assert missing.status_code == 404


async def test_the_writer_answers_the_follow_ups_that_the_demo_offers(http: httpx.AsyncClient):
    (assistant,) = (await http.post("/assistants/search", json={"graph_id": "research_demo"})).json()
    answers = {}
    for follow_up in assistant["metadata"]["follow_ups"]:
        visitor = Visitor(http, "research_demo")
        await visitor.say(follow_up)
        answers[follow_up] = (await visitor.answer({"decision": "approve"}))["final_report"]
    assert "some 3,500 narrow steps [1]" in answers["How many steps does Chand Baori have?"]
    assert "anything from 20 to 30 metres [1]" in answers["How deep is Chand Baori?"]


async def test_a_question_that_the_pages_do_not_answer_gets_no_report(http: httpx.AsyncClient):
    visitor = Visitor(http, "research_demo")
    for question in ("Who designed the Quellmouth bridge?", "What do water towers cost in Iceland?"):
        await visitor.say(question)
        report = (await visitor.answer({"decision": "approve"}))["final_report"]
        assert report.startswith("# Insufficient evidence")
        assert UNANSWERED in report
        told = (await http.get(f"/api/research/{visitor.thread}/report")).json()
        assert told["claims"] == []
    checked = (await http.get(f"/api/research/{visitor.thread}/verify")).json()
    assert checked["ok"], checked


async def test_every_page_says_that_it_is_ours_and_names_its_works():
    assert all(page.paragraphs[-1].startswith("We wrote this page for Stepwell’s demo") for page in stepwell_pages())
    assert all("It rests on: " in page.paragraphs[-1] for page in stepwell_pages())
    assert all((urlsplit(page.url).hostname or "").endswith(".example") for page in stepwell_pages())


async def test_each_sentence_of_a_report_leads_to_its_words_in_a_stored_text(http: httpx.AsyncClient, researched: Visitor):
    told = (await http.get(f"/api/research/{researched.thread}/report")).json()
    assert told["question"] == QUESTION
    assert told["mode"] == "written"
    sources = {source["source_id"]: source for source in told["sources"]}
    assert sources[told["references"][0]]["url"] == "https://water.example/why-stepwells"
    assert told["approvals"][-1]["data"]["decision"] == "approve"
    assert told["egress"]["totals"]["requests"] > 0
    quotes = {quote["quote_id"]: quote for quote in told["quotes"]}
    texts: dict[str, str] = {}
    for claim in told["claims"]:
        for name in claim["evidence"]:
            quote = quotes[name]
            if quote["source_id"] not in texts:
                stored = await http.get(f"/api/research/{researched.thread}/sources/{quote['source_id']}/text")
                texts[quote["source_id"]] = stored.json()["text"]
            assert texts[quote["source_id"]][quote["start"] : quote["end"]] == quote["text"]


@pytest.mark.parametrize(
    ("form", "begins"),
    [
        ("md", b"> This is a demo."),
        ("html", b"<!doctype"),
        ("pdf", b"%PDF"),
        ("docx", b"PK"),
        ("bib", b"% This is a demo."),
        ("json", b"["),
        ("zip", b"PK"),
    ],
)
async def test_a_demo_is_had_in_every_format(http: httpx.AsyncClient, researched: Visitor, form: str, begins: bytes):
    answer = await http.get(f"/api/research/{researched.thread}/export", params={"format": form})
    assert answer.status_code == 200, answer.text
    assert answer.content[: len(begins)].lower() == begins.lower()
    assert answer.headers["content-disposition"].endswith(f'.{form}"')


async def test_the_documents_of_a_demo_say_that_it_is_one_and_that_nothing_left(http: httpx.AsyncClient, researched: Visitor):
    async def export(form: str) -> str:
        return (await http.get(f"/api/research/{researched.thread}/export", params={"format": form})).text

    page = html.unescape(await export("html"))
    assert page.index("This is a demo.") < page.index('id="report"')
    assert "Nothing: 9 requests" in page
    assert not any(wrong in page for wrong in ("left the machine.", "A model wrote", "<dd>searxng</dd>"))
    assert all(item["note"].startswith("A page made for a demo") for item in json.loads(await export("json")))
    assert "A page made for a demo" in await export("bib")


async def test_a_thread_and_its_bundle_are_checked_part_by_part(http: httpx.AsyncClient, researched: Visitor):
    checked = (await http.get(f"/api/research/{researched.thread}/verify")).json()
    bundle = (await http.get(f"/api/research/{researched.thread}/bundle")).content
    sent = await http.post("/api/research/verify", content=bundle, headers={"content-type": "application/zip"})
    assert checked["ok"] is True
    assert sent.json() == checked
    assert {part["part"] for part in checked["parts"]} == {
        *(
            "bytes",
            "trail",
            "manifest",
            "signature",
            "members",
            "quotes",
            "claims",
            "checks",
            "report",
            "story",
            "plans",
            "requests",
        ),
    }
    assert all(part["ok"] and part["checked"] for part in checked["parts"])
    place = bundle.index(b"28 metres")
    changed = bundle[:place] + b"38" + bundle[place + 2 :]
    broken = await http.post("/api/research/verify", content=changed, headers={"content-type": "application/zip"})
    assert broken.json()["ok"] is False
    assert [part["part"] for part in broken.json()["parts"] if not part["ok"]]


async def test_the_check_takes_the_options_of_the_command(http: httpx.AsyncClient, researched: Visitor):
    """Who vouches for it, and the head that the thread itself has noted."""
    path, zipped = f"/api/research/{researched.thread}/verify", {"content-type": "application/zip"}
    state = (await http.get(f"/threads/{researched.thread}/state")).json()["values"]
    plain = (await http.get(path)).json()
    key, other = plain["signed_by"], "ed25519:" + "A" * 43 + "="
    assert (plain["vouched"], plain["format"], plain["lacks"]) == (None, "stepwell-bundle-6", [])
    assert plain["head"] == state["trail_head"]
    known = (await http.get(path, params={"key": key, "head": state["trail_head"], "strict": True})).json()
    assert (known["ok"], known["vouched"]) == (True, True)
    bundle = (await http.get(f"/api/research/{researched.thread}/bundle")).content
    for wrong in ({"key": other}, {"head": "0" * 64}):
        refused = (await http.post("/api/research/verify", params=wrong, content=bundle, headers=zipped)).json()
        assert refused["ok"] is False
        assert [part["part"] for part in refused["parts"] if not part["ok"]] == ["signature" if "key" in wrong else "head"]
    for rubbish in ({"key": "/etc/hostname"}, {"key": "ed25519:x"}, {"head": "12"}):
        answer = await http.get(path, params=rubbish)
        assert answer.status_code == 422, answer.text


async def test_what_is_no_bundle_is_said_and_what_is_no_zip_is_refused(http: httpx.AsyncClient):
    rubbish = await http.post("/api/research/verify", content=b"no zip", headers={"content-type": "application/zip"})
    json = await http.post("/api/research/verify", json={})
    text = await http.post("/api/research/verify", content=b"x", headers={"content-type": "text/plain"})
    assert (rubbish.status_code, rubbish.json()["ok"], rubbish.json()["parts"][0]["part"]) == (200, False, "file")
    assert (json.status_code, text.status_code) == (422, 415)


async def test_a_bundle_that_is_too_large_is_refused(http: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("stepwell.research.http.evidence.MAX_BUNDLE_BYTES", 1000)
    answer = await http.post("/api/research/verify", content=b"x" * 1001, headers={"content-type": "application/zip"})
    assert answer.status_code == 413


async def test_a_thread_without_a_research_has_no_evidence(http: httpx.AsyncClient):
    thread = (await http.post("/threads", json={})).json()["thread_id"]
    for path in ("report", "verify", "export", "sources/s1/text"):
        assert (await http.get(f"/api/research/{thread}/{path}")).status_code == 404


@pytest.mark.parametrize("settings", [ServerSettings(always_ask=True), ServerSettings(host="0.0.0.0")], ids=["asked", "open"])
async def test_where_people_sign_in_there_is_no_demonstration(settings: ServerSettings):
    assert graphs_to_serve(None, demo=not settings.asks_who).registry.demos == []


async def test_the_terminal_researches_the_packaged_web(tmp_path: Path):
    result = await asyncio.to_thread(stepwell, "research", "--demo", cwd=tmp_path, STEPWELL_DATA_DIR=str(tmp_path / "data"))
    assert result.returncode == 0, result.stderr
    assert "The writer in this demo plays a script" in result.stderr
    assert f"Question: {QUESTION}" in result.stderr
    assert "Stepwells gave people water all year round [1]." in result.stdout
    assert "2 sentences were left out" in result.stdout
    assert f"“{WRONG_FIGURE}.”\n    Differs: “38 metres”; the source says “28 metres”\n" in result.stderr
    assert f"“{INVENTED}.”\n    Not in its source: " in result.stderr
    (bundle,) = (tmp_path / "data").rglob("bundle.zip")
    verified = await asyncio.to_thread(stepwell, "verify", str(bundle), cwd=tmp_path)
    assert (verified.returncode, "holds" in verified.stdout) == (0, True)
