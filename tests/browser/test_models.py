"""Connecting a model on the page: paste a key, press one button, and talk; another model per conversation; Settings by keyboard.

The model is a server on loopback that speaks OpenAI's protocol, lists two models and knows one key.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from playwright.sync_api import Locator, Page, Response, expect
from tests.browser.conftest import LOOKS, WIDE, violations
from tests.browser.model_server import calling, serve_model, tools_of
from tests.browser.steps import THREAD, composer, last_answer, open_settings, say
from tests.integration.served.process import Server, serve

pytestmark = pytest.mark.timeout(600)

KEY = "sk-loopback-0123456789-wXyZ"
MODELS = ("alpha-1", "beta-2")


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """A model that calls the tool of a test, and otherwise says which one it is."""
    if "report_ready" in tools_of(request):
        return calling("report_ready", word="ready")
    return {"content": f"{request['model']} here."}


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with serve_model(answer, models=MODELS, key=KEY) as variables:
        yield variables["LM_STUDIO_BASE_URL"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, address: str) -> Iterator[Server]:
    with serve(tmp_path_factory.mktemp("models"), graphs=None) as started:
        yield started


@pytest.fixture(autouse=True)
def nothing_connected(server: Server) -> None:
    path = f"{server.url}/api/connections"
    for connection in httpx.get(path).json()["connections"]:
        if connection["editable"]:
            assert httpx.delete(f"{path}/{connection['id']}").status_code == 204
    everything = {"scope": "mine", "default": None, "plan": None, "write": None, "judge": None}
    assert httpx.put(f"{path}/choice", json=everything).status_code == 204


def settings(page: Page) -> Locator:
    return page.get_by_role("dialog", name="Settings")


def picker(page: Page) -> Locator:
    return page.get_by_test_id("model-picker")


def connect(page: Page, address: str, key: str = KEY) -> None:
    """What a person does: five actions."""
    picker(page).click()
    settings(page).get_by_role("button", name=re.compile("OpenAI-compatible")).click()
    settings(page).get_by_label("Address").fill(address)
    settings(page).get_by_label(re.compile("^Key")).fill(key)
    settings(page).get_by_role("button", name="Test and use").click()


def test_a_model_is_connected_in_five_actions_and_answers_at_once(page: Page, address: str):
    page.goto("/new/simple_agent")
    expect(picker(page)).to_have_text("Connect a model")
    connect(page, address)
    expect(page.get_by_text("alpha-1 answers from now on.")).to_be_visible()
    expect(settings(page)).to_be_hidden()
    expect(composer(page)).to_be_focused()
    expect(page).to_have_url(re.compile("/new/simple_agent$"))
    expect(picker(page)).to_have_text("alpha-1")
    say(page, "Hello")
    expect(last_answer(page)).to_contain_text("alpha-1 here.")
    expect(page.get_by_test_id("used-model")).to_have_text(re.compile(r"^alpha-1"))
    page.reload()
    expect(page.get_by_test_id("used-model")).to_have_text(re.compile(r"^alpha-1"))


def test_a_wrong_key_says_what_to_do_and_stores_nothing(page: Page, address: str, server: Server):
    connect(page, address, key="sk-loopback-wrong-key")
    problem = settings(page).get_by_test_id("test-result").get_by_role("alert")
    expect(problem).to_contain_text(re.compile("key", re.IGNORECASE))
    assert "wrong-key" not in problem.inner_text()
    expect(settings(page).get_by_role("button", name="Test and use")).to_be_enabled()
    assert not any(each["source"] == "stored" for each in httpx.get(f"{server.url}/api/connections").json()["connections"])
    settings(page).get_by_label(re.compile("^Key")).fill(f"  {KEY}\n")
    settings(page).get_by_role("button", name="Test", exact=True).click()
    result = settings(page).get_by_test_id("test-result")
    for finding in ("Answers", "Calls tools", "Streams", "First word after"):
        expect(result).to_contain_text(finding)
    settings(page).get_by_label("Model", exact=True).select_option("beta-2")
    settings(page).get_by_role("button", name="Use this model").click()
    expect(page.get_by_text("beta-2 answers from now on.")).to_be_visible()


def test_a_key_is_nowhere_after_it_was_saved(page: Page, address: str):
    bodies: list[str] = []

    def note(response: Response) -> None:
        if "json" in response.headers.get("content-type", "") and response.request.method != "OPTIONS":
            bodies.append(response.text())

    page.on("response", note)
    connect(page, address)
    expect(page.get_by_text("answers from now on.")).to_be_visible()
    dialog = open_settings(page, "Models")
    row = dialog.get_by_test_id("connection").filter(has_text="…wXyZ")
    expect(row).to_be_visible()
    row.get_by_role("button", name=re.compile("^More about")).click()
    page.get_by_role("menuitem", name="Change").click()
    expect(dialog.get_by_label(re.compile("^Key"))).to_have_value("")
    page.wait_for_load_state("networkidle")
    everywhere = page.evaluate(
        "() => [document.documentElement.outerHTML, location.href, JSON.stringify({...localStorage}), "
        "JSON.stringify({...sessionStorage}), ...[...document.querySelectorAll('input')].map(e => e.value)]"
    )
    assert len(bodies) > 5
    assert not [text for text in [*everywhere, *bodies] if KEY in text]


def test_each_conversation_has_its_own_model_and_keeps_it(page: Page, address: str):
    page.goto("/new/simple_agent")
    connect(page, address)
    expect(picker(page)).to_have_text("alpha-1")
    picker(page).click()
    page.get_by_test_id("model-menu").get_by_role("button", name="beta-2").click()
    expect(picker(page)).to_have_text("beta-2")
    page.reload()
    expect(picker(page)).to_have_text("beta-2")
    say(page, "Hello")
    expect(last_answer(page)).to_contain_text("beta-2 here.")
    first = page.url
    page.get_by_role("link", name="New conversation").click()
    expect(picker(page)).to_have_text("alpha-1")
    page.goto(first)
    expect(picker(page)).to_have_text("beta-2")
    picker(page).click()
    page.get_by_test_id("model-menu").get_by_role("button", name="Default").click()
    expect(picker(page)).to_have_text("alpha-1")
    say(page, "And now?")
    expect(last_answer(page)).to_contain_text("alpha-1 here.")


def test_a_model_is_connected_and_chosen_by_keyboard(page: Page, address: str):
    page.goto("/new/simple_agent")
    picker(page).focus()
    page.keyboard.press("Enter")
    provider = settings(page).get_by_role("button", name=re.compile("OpenAI-compatible"))
    expect(provider).to_be_visible()
    for _ in range(30):
        if provider.evaluate("e => e === document.activeElement"):
            break
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(settings(page).get_by_label("Address")).to_be_focused()
    page.keyboard.type(address)
    page.keyboard.press("Tab")
    page.keyboard.type(KEY)
    page.keyboard.press("Enter")
    expect(page.get_by_text("alpha-1 answers from now on.")).to_be_visible()
    expect(composer(page)).to_be_focused()
    picker(page).focus()
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("model-menu").get_by_role("button", name="Default")).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(picker(page)).to_have_text("beta-2")
    expect(picker(page)).to_be_focused()


def test_a_removed_connection_answers_no_more(page: Page, address: str):
    connect(page, address)
    expect(picker(page)).to_have_text("alpha-1")
    dialog = open_settings(page, "Models")
    dialog.get_by_test_id("connection").get_by_role("button", name=re.compile("^More about")).click()
    page.get_by_role("menuitem", name="Remove").click()
    dialog.get_by_role("button", name="Remove", exact=True).click()
    expect(dialog.get_by_test_id("answers-now")).to_contain_text("No capable model connected.")
    page.keyboard.press("Escape")
    expect(picker(page)).to_have_text("Connect a model")


def test_settings_have_an_address_and_back_leads_out(page: Page):
    page.goto("/new/simple_agent#settings/appearance")
    expect(settings(page).get_by_role("heading", name="Appearance")).to_be_visible()
    settings(page).get_by_label("Large").check()
    page.keyboard.press("Escape")
    expect(settings(page)).to_be_hidden()
    expect(page).to_have_url(re.compile("/new/simple_agent$"))
    page.reload()
    assert page.evaluate("document.documentElement.dataset.text") == "large"
    open_settings(page, "Limits")
    expect(page).to_have_url(re.compile("#settings/limits$"))
    page.go_back()
    expect(settings(page)).to_be_hidden()
    expect(picker(page)).to_be_visible()


def test_a_limit_is_set_and_shown(page: Page, address: str):
    connect(page, address)
    expect(picker(page)).to_have_text("alpha-1")
    limits = open_settings(page, "Limits")
    limits.get_by_label("A day").fill("much")
    limits.get_by_role("button", name=re.compile("^Save the limits")).click()
    expect(limits.get_by_role("alert")).to_contain_text("enter an amount in dollars")
    limits.get_by_label("A day").fill("2.50")
    limits.get_by_role("button", name=re.compile("^Save the limits")).click()
    expect(limits.get_by_text("Saved.")).to_be_visible()
    page.reload()
    expect(settings(page).get_by_label("A day")).to_have_value("2.5")


def test_no_accessibility_rule_is_broken_and_nothing_scrolls_sideways(page: Page, address: str):
    found: dict[str, list[str]] = {}

    def look(state: str) -> None:
        for scheme, size in LOOKS:
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            page.set_viewport_size(size)
            if broken := violations(page, of_colours=scheme == "dark"):
                found[f"{state}, {scheme}, {size['width']} px"] = broken
        page.set_viewport_size({"width": 320, "height": 640})
        wide = page.evaluate(
            "[document.documentElement, ...document.querySelectorAll('dialog[open] section')]"
            ".filter(e => e.scrollWidth > e.clientWidth).map(e => `${e.tagName} ${e.scrollWidth}`)"
        )
        if wide:
            found[f"{state}, 320 px"] = wide
        page.set_viewport_size(WIDE)

    page.goto("/new/simple_agent")
    expect(picker(page)).to_be_visible()
    look("nothing connected")
    picker(page).click()
    expect(settings(page).get_by_test_id("answers-now")).to_be_visible()
    look("models, nothing connected")
    page.keyboard.press("Escape")
    connect(page, address, key="sk-loopback-wrong-key")
    expect(settings(page).get_by_test_id("test-result")).to_be_visible()
    look("a refused key")
    settings(page).get_by_label(re.compile("^Key")).fill(KEY)
    settings(page).get_by_role("button", name="Test and use").click()
    expect(picker(page)).to_have_text("alpha-1")
    dialog = open_settings(page, "Models")
    dialog.get_by_role("button", name=re.compile("^Test ")).click()
    expect(dialog.get_by_test_id("test-result")).to_be_visible()
    dialog.get_by_text("Different models for planning").click()
    look("models")
    for section in ("Appearance", "Limits", "This device", "Account"):
        dialog.get_by_role("link", name=section).click()
        expect(dialog.get_by_role("heading", name=section, level=3)).to_be_visible()
        page.wait_for_load_state("networkidle")
        look(section)
    page.keyboard.press("Escape")
    picker(page).click()
    expect(page.get_by_test_id("model-menu")).to_be_visible()
    look("picker")
    assert found == {}
    assert THREAD.search(page.url) is None
