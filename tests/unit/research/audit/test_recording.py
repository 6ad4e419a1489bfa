"""Every request once: intent first, the answer kept, resends marked and counted, a replay without a network."""

from __future__ import annotations

import asyncio

import pytest

from stepwell.errors import BundleError, EvidenceError, NotRecordedError, RequestCeilingError
from stepwell.research.audit.exchanges.receipt import egress_receipt
from stepwell.research.audit.exchanges.recording import Outgoing, RecordedReply, Recorder, count_requests, recording_lines
from stepwell.research.audit.exchanges.redaction import without_secrets_in_url
from stepwell.research.audit.exchanges.replay import Replay
from stepwell.research.audit.memory_vault import MemoryVault
from stepwell.research.audit.trail import Entry

PAGE = Outgoing("t:1:0", "web", "get", "https://a.test/page", step="1", why="fetch_page")


class Wire:
    """What is at the other end: counts what arrives, and dies as often as told."""

    def __init__(self, deaths: int = 0) -> None:
        self.sent = 0
        self.deaths = deaths

    async def __call__(self) -> RecordedReply:
        self.sent += 1
        if self.sent <= self.deaths:
            raise ConnectionError("killed")
        return RecordedReply({"status": 200}, b"page")


async def test_the_intent_is_written_before_anything_is_sent():
    vault = MemoryVault()

    async def send() -> RecordedReply:
        assert [entry.kind for entry in await vault.entries()] == ["request"]
        return RecordedReply()

    await Recorder(vault).once(PAGE, send)
    assert [(entry.kind, entry.key) for entry in await vault.entries()] == [("request", "t:1:0"), ("response", "t:1:0:answer")]


async def test_a_step_that_runs_again_sends_nothing():
    vault, wire = MemoryVault(), Wire()
    first = await Recorder(vault).once(PAGE, wire)
    again = await Recorder(vault).once(PAGE, wire)
    assert (wire.sent, first, again) == (1, RecordedReply({"status": 200}, b"page"), first)


async def test_an_intent_without_an_answer_is_sent_again_and_marked():
    vault, wire = MemoryVault(), Wire(deaths=2)
    for _ in range(2):
        with pytest.raises(ConnectionError):
            await Recorder(vault).once(PAGE, wire)
    await Recorder(vault).once(PAGE, wire)
    requests = [entry for entry in await vault.entries() if entry.kind == "request"]
    assert [entry.key for entry in requests] == ["t:1:0", "t:1:0:resend:1", "t:1:0:resend:2"]
    assert [entry.data["resend"] for entry in requests] == [0, 1, 2]
    assert wire.sent == 3


async def test_resends_count_against_the_ceiling():
    vault, wire = MemoryVault(), Wire(deaths=9)
    for _ in range(2):
        with pytest.raises(ConnectionError):
            await Recorder(vault, max_requests=2).once(PAGE, wire)
    with pytest.raises(RequestCeilingError) as refused:
        await Recorder(vault, max_requests=2).once(PAGE, wire)
    assert (refused.value.ceiling, wire.sent) == (2, 2)


async def test_the_ceiling_holds_when_many_ask_at_once():
    vault, wire = MemoryVault(), Wire()
    recorder = Recorder(vault, max_requests=5)
    asked = [Outgoing(f"k{n}", "web", "GET", f"https://a.test/{n}") for n in range(20)]
    results = await asyncio.gather(*(recorder.once(each, wire) for each in asked), return_exceptions=True)
    assert sum(isinstance(result, RequestCeilingError) for result in results) == 15
    assert wire.sent == 5 == count_requests(await vault.entries())


@pytest.mark.parametrize("requests", [200, 800])
async def test_the_trail_is_read_once_however_many_requests_there_are(requests: int):
    """Reading all of it for each request made a long research slower with the square of its length."""

    class Counting(MemoryVault):
        read = 0

        async def entries(self, after: int = 0) -> list[Entry]:
            found = await super().entries(after)
            self.read += len(found)
            return found

    vault = Counting()
    recorder = Recorder(vault, max_requests=requests)
    for number in range(requests):
        await recorder.once(Outgoing(f"k{number}", "web", "GET", f"https://a.test/{number}"), Wire())
    assert vault.read <= len(await MemoryVault.entries(vault)) == 2 * requests
    with pytest.raises(RequestCeilingError):
        await recorder.once(Outgoing("one more", "web", "GET", "https://a.test/"), Wire())


async def test_two_recorders_of_a_trail_count_together():
    vault = MemoryVault()
    one, two = Recorder(vault, max_requests=2), Recorder(vault, max_requests=2)
    await one.once(PAGE, Wire())
    await two.once(Outgoing("k2", "web", "GET", "https://a.test/2"), Wire())
    with pytest.raises(RequestCeilingError):
        await one.once(Outgoing("k3", "web", "GET", "https://a.test/3"), Wire())


async def test_a_ceiling_counts_its_own_scope():
    vault = MemoryVault()
    await Recorder(vault, max_requests=1, scope="q1:").once(Outgoing("q1:a", "web", "GET", "https://a.test/1"), Wire())
    other = Recorder(vault, max_requests=1, scope="q2:")
    await other.once(Outgoing("q2:a", "web", "GET", "https://a.test/2"), Wire())
    with pytest.raises(RequestCeilingError):
        await other.once(Outgoing("q2:b", "web", "GET", "https://a.test/3"), Wire())


async def test_a_model_in_the_process_leaves_no_request_and_counts_for_no_ceiling():
    vault = MemoryVault()
    local = Outgoing("m:1", "model", "CALL", "model:embedded", b"prompt", leaves_machine=False)
    remote = Outgoing("m:2", "model", "POST", "https://api.test/v1", b"prompt")
    recorder = Recorder(vault, max_requests=0)
    await recorder.once(local, Wire())
    await recorder.once(remote, Wire())
    assert [entry.kind for entry in await vault.entries()] == ["model_call", "request", "model_call"]
    assert [request["host"] for request in egress_receipt(await vault.entries())["requests"]] == ["api.test"]


async def test_a_key_used_for_another_request_is_refused():
    vault = MemoryVault()
    await Recorder(vault).once(PAGE, Wire())
    with pytest.raises(EvidenceError, match="another request"):
        await Recorder(vault).once(Outgoing(PAGE.key, "web", "GET", "https://a.test/other"), Wire())


async def test_no_key_and_no_cookie_reaches_the_trail():
    vault = MemoryVault()
    outgoing = Outgoing("k", "web", "GET", "https://me:pw@a.test/s?q=wells&KEY=hush&cx=1#frag")

    async def send() -> RecordedReply:
        return RecordedReply({"headers": {"Set-Cookie": "hush", "ETag": "1"}}, b"")

    answer = await Recorder(vault).once(outgoing, send)
    written = repr(await vault.entries())
    assert "hush" not in written
    assert "pw" not in written
    assert "https://a.test/s?q=wells&KEY=REDACTED&cx=1" in written
    assert answer.data == {"headers": {"ETag": "1"}}


@pytest.mark.parametrize(
    "url", ["https://a.test/", "https://a.test/s?q=a%20b+c&x=%C3%BC", "model:embedded", "https://a.test/?q="]
)
def test_an_address_without_secrets_stays_as_it_is(url: str):
    assert without_secrets_in_url(url) == url


def test_an_address_that_is_none_is_refused():
    with pytest.raises(EvidenceError):
        without_secrets_in_url("http://[bad")


async def test_the_receipt_lists_everything_that_left():
    vault = MemoryVault()
    recorder = Recorder(vault)
    await recorder.once(Outgoing("k1", "web", "POST", "https://a.test/x", b"12345", "2", "web_search"), Wire())
    with pytest.raises(ConnectionError):
        await recorder.once(PAGE, Wire(deaths=1))
    receipt = egress_receipt(await vault.entries())
    first, second = receipt["requests"]
    assert (first["method"], first["host"], first["bytes"], first["why"], first["answered"]) == (
        "POST",
        "a.test",
        21,
        "web_search",
        True,
    )
    assert (second["answered"], second["resend"]) == (False, 0)
    assert receipt["totals"] == {"requests": 2, "resends": 0, "bytes": 40, "hosts": {"a.test": 2}, "refused": 0}


async def recorded(*asked: Outgoing) -> Replay:
    vault = MemoryVault()
    for number, each in enumerate(asked):

        async def send(number: int = number) -> RecordedReply:
            return RecordedReply({"number": number}, str(number).encode())

        await Recorder(vault).once(each, send)
    entries = await vault.entries()
    bodies = {entry.data["body_sha256"]: await vault.get(entry.data["body_sha256"]) for entry in entries}
    return Replay(recording_lines(entries), bodies.__getitem__)


async def test_a_replay_answers_by_what_is_asked_and_not_by_key():
    replay = await recorded(PAGE, Outgoing("t:2:0", "web", "GET", "https://a.test/two?key=mine"))
    other = Outgoing("another thread", "web", "GET", "https://a.test/two?key=yours")
    assert await replay.answer(other) == RecordedReply({"number": 1}, b"1")
    assert await replay.answer(PAGE) == RecordedReply({"number": 0}, b"0")
    assert replay.unused == 0


async def test_the_same_question_twice_gets_its_answers_in_order():
    replay = await recorded(PAGE, Outgoing("again", "web", "GET", PAGE.url))
    assert [(await replay.answer(PAGE)).body for _ in range(2)] == [b"0", b"1"]
    with pytest.raises(NotRecordedError, match="more often"):
        await replay.answer(PAGE)


async def test_a_replay_says_what_it_does_not_know():
    replay = await recorded(PAGE)
    with pytest.raises(NotRecordedError, match=r"GET https://b\.test/") as refused:
        await replay.answer(Outgoing("k", "web", "GET", "https://b.test/?token=hush", step="7"))
    assert "hush" not in str(refused.value)
    assert replay.unused == 1


@pytest.mark.parametrize("line", [b"nonsense\n", b"[]\n", b"{}\n"])
def test_a_recording_that_is_none_is_refused(line: bytes):
    with pytest.raises(BundleError, match="Line 1"):
        Replay(line, lambda digest: b"")
