"""Money as a person sees it, against a real mint: a message that waits for it, each call's price, a run that is short, the rest that comes
back. P1 to P5 by clicking. A proxy stands before the mint: with it the mint is away, and its answers are lost."""

from __future__ import annotations

import json
import re
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from playwright.sync_api import Locator, Page, Request, Route, expect
from tests.browser.conftest import PHONE, WIDE, Watch
from tests.browser.device import put_project, texts_of
from tests.browser.steps import composer, dock, last_answer, receipts, say, thread_id
from tests.browser.test_care import violations
from tests.integration.payments import cashu_ts
from tests.integration.payments.mints import MintProcess, buy
from tests.integration.payments.test_paid_server import tables_with
from tests.integration.served.process import Server, environment, serve
from tests.integration.served.warm import run_warm
from tests.support.fault_proxy import FaultProxy

from stepwell.payments.cashu.tokens import Token, decode_token, encode_token
from stepwell.payments.wallet.mint import HttpMint

pytestmark = pytest.mark.timeout(180)

GRAPHS = Path(__file__).parent / "paid" / "langgraph.json"
PRICE = 5
QUOTES = "**/v1/mint/quote/bolt11/*"


@pytest.fixture(scope="module")
def portal() -> Iterator[BlockingPortal]:
    with start_blocking_portal() as started:
        yield started


@pytest.fixture(scope="module")
def proxy(portal: BlockingPortal, mint_process: MintProcess) -> Iterator[FaultProxy]:
    with portal.wrap_async_context_manager(FaultProxy("127.0.0.1", mint_process.port)) as started:
        yield started


@pytest.fixture(scope="module")
def variables(proxy: FaultProxy) -> dict[str, str]:
    return {"STEPWELL_MINTS": proxy.url, "STEPWELL_SATS_PER_CALL": str(PRICE), "STEPWELL_WALLET_SEED": "ab" * 32}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, variables: dict[str, str]) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("wallet")
    with serve(folder, graphs=GRAPHS, STEPWELL_PAID_GRAPHS="counter,planner,secretary", **variables) as started:
        yield started


@pytest.fixture
def watch(server: Server, proxy: FaultProxy) -> Iterator[Watch]:
    watching = Watch(server.url, proxy.url)
    yield watching
    watching.check()


@pytest.fixture
def buy_token(portal: BlockingPortal, proxy: FaultProxy, mint_process: MintProcess) -> Callable[[int], str]:
    """A token of a payer's own wallet."""

    async def bought(amount: int) -> str:
        async with HttpMint(proxy.url) as mint:
            return await buy(mint, mint_process, amount)

    return lambda amount: portal.call(bought, amount)


READ = """const open = name => new Promise(done => { indexedDB.open(name).onsuccess = event => done(event.target.result); });
const read = (database, store) => new Promise(done => {
  database.transaction(store).objectStore(store).getAll().onsuccess = event => done(event.target.result);
});"""
STORED = f"""async () => {{
  {READ}
  const rows = [];
  for (const {{name}} of await indexedDB.databases()) {{
    const database = await open(name);
    for (const store of database.objectStoreNames) rows.push(await read(database, store));
    database.close();
  }}
  return JSON.stringify([{{...localStorage}}, {{...sessionStorage}}, history.state, location.href, rows]);
}}"""
PURSE = f"""async () => {{
  {READ}
  const [{{name}}] = await indexedDB.databases();
  const database = await open(name);
  const rows = await read(database, "purse");
  database.close();
  return rows;
}}"""


@pytest.fixture
def nowhere(page: Page, server: Server) -> Callable[[list[str]], None]:
    """Asserts that neither tokens nor their secrets are anywhere: in what the browser keeps, in an address, the console, the server's log,
    or a table of its database that is not the ledger's."""
    heard: list[str] = []
    page.on("request", lambda request: heard.append(request.url))
    page.on("console", lambda message: heard.append(message.text))
    (database,) = (server.folder / "data").glob("*.db")

    def check(secrets: list[str]) -> None:
        everything = "\n".join([*heard, page.evaluate(STORED), server.output])
        assert [secret[:12] for secret in secrets if secret in everything] == []
        assert [name for name in tables_with(database, secrets) if not name.startswith("payment_")] == []

    return check


class Till:
    """The server's side of it, over HTTP. Every test begins without money."""

    def __init__(self, server: Server) -> None:
        self._server = server
        for session in self.sessions():
            if session["state"] in ("authorized", "active", "exhausted"):
                self.ask("refund", {"funding_id": session["funding_id"]})

    def ask(self, route: str, body: dict[str, Any] | None = None) -> Any:
        sent = urllib.request.Request(f"{self._server.url}/api/wallet/{route}", headers={"content-type": "application/json"})
        sent.data = json.dumps(body).encode() if body is not None else None
        with urllib.request.urlopen(sent, timeout=30) as response:
            return json.load(response)

    def sessions(self) -> list[dict[str, Any]]:
        return list(self.ask("sessions"))

    def newest(self) -> dict[str, Any]:
        return max(self.sessions(), key=lambda session: session["created_at"])


@pytest.fixture
def till(server: Server) -> Till:
    return Till(server)


def dialog(page: Page) -> Locator:
    return page.get_by_role("dialog", name="Wallet")


def open_wallet(page: Page) -> None:
    page.get_by_role("navigation").or_(page.locator(".side")).get_by_role("button", name="Wallet").first.click()
    expect(dialog(page)).to_be_visible()


def hand_in(place: Locator, token: str) -> None:
    place.get_by_test_id("token").fill(token)
    place.get_by_role("button", name="Add ", exact=False).and_(place.locator("button:enabled")).last.click()


def test_a_message_waits_for_money_and_each_call_takes_its_price(page: Page, till: Till, buy_token, nowhere):
    """P1, P2: bad tokens are told apart; a good one is looked at, handed in once, and charged call by call."""
    handed_in: list[Request] = []
    page.on("request", lambda request: handed_in.append(request) if request.url.endswith("/api/wallet/fund") else None)
    page.add_init_script(SEEN_METERS)
    page.goto("/new/counter")
    expect(page.get_by_test_id("meter")).to_contain_text("5 sats for each model call")
    say(page, "work 4")
    expect(dialog(page)).to_contain_text("Counter is paid for, call by call")
    expect(composer(page)).to_have_value("work 4")

    token = buy_token(1100)
    good = decode_token(token)
    field, verdict = dialog(page).get_by_test_id("token"), dialog(page).locator(".pane [role=status]")
    for bad, words in (
        (encode_token(Token("https://mint.elsewhere.example", "sat", good.proofs)), "Tokens of this mint are not taken here"),
        (encode_token(Token(good.mint, "usd", good.proofs)), "only sats are taken"),
        (token[:-30], "damaged or cut off"),
        (buy_token(1), "redeeming it costs 1"),
        ("hello", "not a Cashu token"),
    ):
        field.fill(bad)
        expect(verdict).to_contain_text(words)
        expect(verdict).to_contain_text("Nothing was taken")
        expect(dialog(page).get_by_role("button", name="Add it")).to_be_disabled()
    assert till.sessions() == [] or till.newest()["state"] in ("refund_ready", "refunded")

    field.fill(f" cashu:{token[:40]}\n{token[40:]} ")
    expect(verdict).to_contain_text("1,100 sats")
    expect(verdict).to_contain_text("−1 sat")
    dialog(page).get_by_test_id("ceiling").fill("60")
    dialog(page).get_by_role("button", name="Add 1,099 sats").dblclick()
    expect(last_answer(page)).to_contain_text("All 4 calls are made.")
    expect(dialog(page)).to_be_hidden()
    assert len(handed_in) == 1
    expect(page.get_by_test_id("meter")).to_contain_text("4 calls, 20 sats spent")
    expect(page.get_by_test_id("meter")).to_contain_text("40 sats left")
    stands = till.newest()
    assert (stands["spent"], stands["balance"], stands["ceiling"]) == (4 * PRICE, 1099 - 4 * PRICE, 60)
    seen = page.evaluate("window.meters.filter(text => /[123]\\s+calls?,/.test(text)).length")
    assert seen >= 1, "the meter did not move while the run went on"

    open_wallet(page)
    dialog(page).get_by_role("button", name="Add money").click()
    field.fill(token)
    expect(verdict).to_contain_text("was spent before")
    page.keyboard.press("Escape")
    say(page, f"Take this: {token}")
    expect(page.get_by_text("There is a Cashu token in this message")).to_be_visible()
    expect(composer(page)).to_have_value(f"Take this: {token}")
    nowhere([token, *(proof.secret for proof in good.proofs)])


SEEN_METERS = """window.meters = [];
new MutationObserver(() => {
  const text = document.querySelector('[data-testid=meter]')?.textContent ?? '';
  if (text !== window.meters.at(-1)) window.meters.push(text);
}).observe(document, {childList: true, subtree: true, characterData: true})"""


def test_a_run_that_is_short_goes_on_in_the_same_thread(page: Page, till: Till, buy_token, nowhere):
    """P3: also where the first top-up is too small. Nothing that was done is done again."""
    page.goto("/new/counter")
    say(page, "work 3")
    hand_in(dialog(page), buy_token(9))
    expect(dock(page)).to_contain_text("More money for the next call?")
    expect(dock(page).locator("dl")).to_contain_text(re.compile(r"Spent so far\s*5 sats"))
    expect(dock(page).locator("dl")).to_contain_text(re.compile(r"Left\s*3 sats"))
    expect(dock(page).locator("dl")).to_contain_text(re.compile(r"The next call needs\s*5 sats"))
    thread = thread_id(page)
    page.reload()
    expect(page.get_by_test_id("meter")).to_contain_text("1 call, 5 sats spent")  # it knows again which session to add to
    hand_in(dock(page), buy_token(2))
    expect(dock(page)).to_contain_text("Still missing for the next call: 1 sat.")
    last = buy_token(32)
    hand_in(dock(page), last)
    expect(last_answer(page)).to_contain_text("All 3 calls are made.")
    assert thread_id(page) == thread
    expect(page.get_by_test_id("meter")).to_contain_text("3 calls, 15 sats spent")
    assert len([session for session in till.sessions() if session["state"] in ("active", "exhausted")]) == 1, "it was no top-up"
    nowhere([last])


def test_plan_funding_and_tool_wait_in_a_row(page: Page, server: Server, till: Till, buy_token, variables: dict[str, str]):
    """Three kinds of questions, one after the other; P5. The books are exact afterwards."""
    page.goto("/new/planner")
    say(page, "Order pumps")
    hand_in(dialog(page), buy_token(64))
    expect(dock(page)).to_contain_text("Approve this plan?")
    dock(page).get_by_role("button", name="Approve").first.click()
    expect(dock(page)).to_contain_text("The agent asks for money")
    expect(dock(page)).to_contain_text("40 sats: Comparing twelve suppliers takes about eight calls.")
    hand_in(dock(page), buy_token(40))
    expect(dock(page)).to_contain_text("Run order?")
    dock(page).get_by_role("button", name="Approve").click()
    expect(last_answer(page)).to_contain_text("Done: plan approve")
    expect(last_answer(page)).to_contain_text("The user has added money")
    expect(last_answer(page)).to_contain_text("ordered 3")
    assert till.newest()["spent"] == 4 * PRICE
    say(page, "Order more")
    dock(page).get_by_role("button", name="Approve").first.click()
    dock(page).get_by_role("button", name="Decline").click()
    dock(page).get_by_role("button", name="Approve").click()
    expect(last_answer(page)).to_contain_text("declined to add money")
    settings = environment(STEPWELL_DATA_DIR=str(server.folder / "data"), **variables)
    told = run_warm(["wallet", "audit", "--json"], server.folder, settings)
    assert told.returncode == 0, told.stdout + told.stderr
    assert json.loads(told.stdout)["adds_up"] is True


def test_a_payment_that_is_late_answers_its_own_question(page: Page, till: Till, buy_token):
    """Somebody pays and looks at the next card meanwhile, which asks whether a file may be changed: the money does not say yes to that."""
    put_project(page, {"/a.md": "one\n"})
    page.goto("/new/secretary")
    say(page, "Mend the notes")
    hand_in(dialog(page), buy_token(64))
    expect(dock(page)).to_contain_text("1 of 2")
    expect(dock(page)).to_contain_text("May /notes.md be changed?")
    other = dock(page).get_by_role("button", name="Next question")
    other.click()
    expect(dock(page)).to_contain_text("The agent asks for money")
    held: list[Route] = []
    page.route("**/api/wallet/fund", lambda route: held.append(route))
    hand_in(dock(page), buy_token(40))
    other.click()
    expect(dock(page)).to_contain_text("May /notes.md be changed?")
    while not held:
        page.wait_for_timeout(20)
    held[0].continue_()
    expect(receipts(page)).to_have_count(1)
    expect(receipts(page)).to_contain_text(["You paid; the work continues."])
    expect(dock(page)).to_contain_text("May /notes.md be changed?")
    assert texts_of(page) == {"/a.md": "one\n"}
    dock(page).get_by_role("button", name="Approve").click()
    expect(last_answer(page)).to_contain_text("The user has added money")
    assert texts_of(page) == {"/a.md": "one\n", "/notes.md": "changed\n"}


def test_what_says_no_to_paying_keeps_its_place(page: Page, till: Till, buy_token):
    """Until it is known what is in the wallet, one can say no already; where that stood, there is no way to pay a moment later."""
    page.goto("/new/counter")
    say(page, "work 3")
    hand_in(dialog(page), buy_token(9))
    expect(dock(page)).to_contain_text("More money for the next call?")
    till.ask("fund", {"token": buy_token(32)})
    known, held = False, list[Route]()
    page.route("**/api/wallet/sessions*", lambda route: route.continue_() if known else held.append(route))
    page.reload()
    stop = dock(page).get_by_role("button", name="Stop here")
    expect(stop).to_be_visible()
    expect(page.get_by_test_id("meter")).to_be_visible()  # the line below, which is another part of the page
    before = stop.bounding_box()
    known = True
    for route in held:
        route.continue_()
    expect(dock(page).get_by_role("button", name="Pay from the wallet")).to_be_visible()
    assert stop.bounding_box() == before


def test_money_from_a_mint_survives_a_reload_and_a_mint_that_is_away(
    page: Page, till: Till, proxy: FaultProxy, allow_console, nowhere
):
    """An invoice is kept with its secrets before anybody can pay it; whatever happens then, the money arrives once."""
    allow_console("ERR_|503")
    page.goto("/new/counter")
    say(page, "work 1")
    dialog(page).get_by_role("tab", name="Get one from a mint").click()
    dialog(page).get_by_test_id("amount").fill("0")
    expect(dialog(page)).to_contain_text("Write a whole number of sats")
    dialog(page).get_by_test_id("amount").fill("50")
    order = dialog(page).get_by_role("button", name="Get an invoice for 50 sats")
    proxy.faults = [("", "lose_request")] * 1000
    order.click()
    expect(dialog(page)).to_contain_text("does not answer. Nothing is lost.")
    proxy.faults = []
    page.route(QUOTES, unpaid)
    dialog(page).get_by_role("button", name="Try again").click()
    expect(dialog(page).get_by_role("textbox", name="The invoice")).to_have_value(re.compile("^lnbc"))
    (kept,) = page.evaluate(PURSE)
    assert kept["quote"]
    assert sum(int(output["blindedMessage"]["amount"]) for output in kept["outputs"]) == 50
    proxy.faults = [("", "lose_request")] * 1000
    page.unroute_all(behavior="ignoreErrors")
    expect(dialog(page).get_by_test_id("purse-item")).to_contain_text("does not answer. Nothing is lost.")
    page.reload()
    proxy.faults = [("POST /v1/mint/bolt11", "lose_answer")]
    open_wallet(page)
    expect(dialog(page).get_by_test_id("balance")).to_have_text("49 sats", timeout=60_000)
    assert page.evaluate(PURSE) == []
    assert "POST /v1/restore" in proxy.seen, "the answer was not lost"
    nowhere([output["secret"] for output in kept["outputs"]])
    assert till.newest()["waiting"] == 49
    page.keyboard.press("Escape")
    expect(composer(page)).to_have_value("work 1")
    composer(page).press("Enter")
    expect(last_answer(page)).to_contain_text("All 1 calls are made.")


def unpaid(route: Route) -> None:
    """The mint's fake Lightning pays at once; here the payer takes a while."""
    answer = route.fetch()
    route.fulfill(response=answer, json={**answer.json(), "state": "UNPAID"})


def test_a_browser_that_keeps_nothing_gets_no_invoice(page: Page, till: Till):
    """Money on its way could get lost there. A token can still be handed in."""
    page.add_init_script("IDBFactory.prototype.open = () => { throw new DOMException('private', 'SecurityError'); }")
    page.goto("/new/counter")
    say(page, "work 1")
    dialog(page).get_by_role("tab", name="Get one from a mint").click()
    expect(dialog(page)).to_contain_text("This browser keeps nothing for this page")
    dialog(page).get_by_role("tab", name="Paste a token").click()
    expect(dialog(page).get_by_test_id("token")).to_be_editable()
    page.keyboard.press("Escape")
    expect(composer(page)).to_have_value("work 1")


def test_an_opened_session_stays_open_when_the_wallet_reads_it_again(page: Page, till: Till, buy_token):
    """The list is fetched whenever the dialog opens; on a slow machine it arrives after the person has opened a session."""
    funded = till.ask("fund", {"token": buy_token(64)})
    page.goto("/new/counter")
    expect(page.get_by_test_id("meter")).to_contain_text("63 sats")  # less the fee
    known, held = False, list[Route]()
    page.route("**/api/wallet/sessions*", lambda route: route.continue_() if known else held.append(route))
    open_wallet(page)
    session = dialog(page).get_by_test_id("session").first
    expect(session.locator("summary")).to_contain_text("63 sats")
    session.locator("summary").click()
    expect(session.get_by_role("button", name="Take the rest back")).to_be_visible()
    till.ask("fund", {"token": buy_token(32), "funding_id": funded["funding_id"]})
    while not held:
        page.wait_for_timeout(20)
    known = True
    for route in held:
        route.continue_()
    expect(session.locator("summary")).to_contain_text("94 sats")
    expect(session.get_by_role("button", name="Take the rest back")).to_be_visible()


def test_the_rest_comes_back_and_the_history_agrees_with_the_ledger(
    page: Page, till: Till, buy_token, proxy: FaultProxy, allow_console, nowhere
):
    """P4: the refund is the same after a reload, and real money."""
    allow_console("409")  # that a refund was received is told by there being none to fetch any more
    page.goto("/new/counter")
    say(page, "work 2")
    hand_in(dialog(page), buy_token(100))
    expect(last_answer(page)).to_contain_text("All 2 calls are made.")
    open_wallet(page)
    session = dialog(page).get_by_test_id("session").first
    expect(session.locator("summary")).to_contain_text("89 sats")
    session.locator("summary").click()
    session.get_by_role("button", name="Take the rest back (89 sats").click()
    expect(session.get_by_test_id("refund")).to_contain_text("Waiting for you: 88 sats")
    page.keyboard.press("Escape")
    say(page, "work 1")  # paid with what came back
    dialog(page).get_by_role("tab", name="Use what came back").click()
    dialog(page).get_by_role("listitem").filter(has_text="88 sats").get_by_role("button", name="Pay with it").click()
    expect(last_answer(page)).to_contain_text("All 1 calls are made.")
    funding_id = till.newest()["funding_id"]
    open_wallet(page)
    expect(session.locator("summary")).to_contain_text("82 sats")  # the wallet has heard of the second session
    session.locator("summary").click()
    session.get_by_role("button", name="Take the rest back (82 sats").click()
    expect(session.get_by_test_id("refund")).to_contain_text("Waiting for you: 81 sats")
    session.get_by_role("button", name="Show the token").click()
    refund = session.get_by_role("textbox", name="The token").input_value()
    page.reload()
    open_wallet(page)
    session.get_by_role("button", name="Show the token").click()
    expect(session.get_by_role("textbox", name="The token")).to_have_value(refund)
    look_everywhere(page)
    assert int(cashu_ts.ask(proxy.url, "receive", refund)) in (79, 80)
    expect(session.locator("summary")).to_contain_text("paid back")

    lines = till.ask(f"history?funding_id={funding_id}")
    shown = session.get_by_test_id("history").locator("tbody tr")
    expect(shown).to_have_count(len(lines))
    expect(session.get_by_test_id("sums")).to_have_text(
        "88 sats paid in − 2 sats of fees − 5 sats for 1 call − 81 sats paid back = 0 sats left"
    )
    sums = {
        kind: sum(line["amount_sats"] for line in lines if line["kind"] == kind)
        for kind in ("credit", "fee", "charge", "refund")
    }
    assert sums == {"credit": 88, "fee": 2, "charge": 5, "refund": 81}
    nowhere([refund, *(proof.secret for proof in decode_token(refund).proofs)])


def look_everywhere(page: Page) -> None:
    """No accessibility rule is broken in the wallet, in light, in dark and on a phone."""
    for scheme, size in (("light", WIDE), ("dark", WIDE), ("light", PHONE)):
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        page.set_viewport_size(size)
        page.wait_for_function("theme => document.documentElement.dataset.theme === theme", arg=scheme)
        assert violations(page, of_colours=scheme == "dark") == []
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    page.set_viewport_size(WIDE)
