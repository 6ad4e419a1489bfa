"""Much of everything: threads of 10,000 messages, lists of 500, and a reload at any moment of a run."""

from __future__ import annotations

import re
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Page, expect
from tests.browser.steps import answers, ask, composer, last_answer, say, thread_id
from tests.conftest import Effort
from tests.integration.served.process import Server

LIMIT = re.compile(r"/messages\?(?:.*&)?limit=(\d+)")


def test_a_thread_of_ten_thousand_messages_opens_at_its_end(page: Page, server: Server):
    with httpx.Client(base_url=server.url, timeout=60) as client:
        thread = client.post("/threads", json={"metadata": {"graph_id": "echo", "title": "Long"}}).json()["thread_id"]
        for start in range(0, 10_000, 2_000):
            messages = [
                {"type": "human" if n % 2 == 0 else "ai", "content": f"message {n}", "id": f"m{n}"}
                for n in range(start, start + 2_000)
            ]
            client.post(
                f"/threads/{thread}/state", json={"values": {"messages": messages}, "as_node": "model"}
            ).raise_for_status()
    asked: list[int] = []
    page.on("request", lambda request: asked.extend(map(int, LIMIT.findall(request.url))))
    page.goto(f"/t/{thread}")
    expect(page.get_by_text("message 9999", exact=True)).to_be_visible()
    assert 0 < sum(asked) < 1_000, "it loads far more than the end"
    assert page.evaluate("document.querySelectorAll('*').length") < 5_000, "it draws far more than is seen"
    # Each page of messages is fetched when the reader comes near, and only what is seen is drawn.
    page.wait_for_function(
        """() => {
            document.querySelector('[data-testid=transcript]').scrollTo({top: 0});
            const seen = [...document.querySelectorAll('[data-testid=user-message] .bubble')].map(e => Number(e.innerText.match(/[0-9]+/)));
            return Math.min(...seen) < 9700;
        }""",
        polling=100,
        timeout=120_000,
    )
    assert page.evaluate("document.querySelectorAll('*').length") < 10_000, "it keeps drawing what is far away"


def test_five_hundred_threads_are_listed_and_searched(page: Page, server: Server):
    with httpx.Client(base_url=server.url, timeout=60) as client:
        for number in range(500):
            client.post("/threads", json={"metadata": {"graph_id": "echo", "title": f"Talk {number:03}"}}).raise_for_status()
    page.reload()
    expect(page.get_by_test_id("thread-row").first).to_be_visible()
    page.get_by_test_id("thread-search").fill("Talk 007")
    expect(page.get_by_test_id("thread-row")).to_have_count(1)


@pytest.mark.prove
def test_a_reload_at_any_moment_gives_the_same_page(page: Page, effort: Effort):
    """What a page shows that was there all the time, and one that comes in the middle, is the same in the end."""
    ask(page, "talker", "Talk to me")
    expect_whole(page)
    unbroken = answers(page).all_inner_texts()
    first = thread_id(page)
    points = effort.cases(2, 100)
    for point in range(points):
        ask(page, "talker", "Talk to me")
        expect(last_answer(page)).to_contain_text(f"word{point * 199 // points}")
        page.reload()
        expect_whole(page)
        assert answers(page).all_inner_texts() == unbroken, f"reloaded at word{point * 199 // points}"
        assert thread_id(page) != first


MOST_IN_A_FRAME = """() => {
  let added = 0;
  window.most = 0;
  new MutationObserver((changes) => {
    for (const { addedNodes } of changes) for (const node of addedNodes) added += 1 + (node.querySelectorAll?.("*").length ?? 0);
  }).observe(document, { childList: true, subtree: true });
  const frame = () => { window.most = Math.max(window.most, added); added = 0; requestAnimationFrame(frame); };
  requestAnimationFrame(frame);
}"""


@pytest.mark.parametrize("kind", ["emphasis", "headings", "marks", "items"])
def test_an_answer_that_is_hard_to_draw_leaves_the_page_usable(page: Page, tmp_path: Path, kind: str):
    """While it streams a click is heard and a word can be typed; of the rest as much is drawn as is asked for."""
    over = tmp_path / "over"
    page.goto("/new/burden")
    page.evaluate(MOST_IN_A_FRAME)
    say(page, f"{kind} until {over}")
    expect(last_answer(page)).to_have_attribute("data-status", "streaming")
    page.get_by_role("button", name="Details").click()
    expect(page.get_by_role("tab", name="Steps")).to_be_visible()
    composer(page).fill("I can still write")
    expect(composer(page)).to_have_value("I can still write")
    assert not over.exists()
    over.touch()
    expect(last_answer(page)).to_have_attribute("data-status", "done")
    assert page.evaluate("window.most") < 8_000, "it is drawn in large steps"
    if kind == "marks":
        assert len(last_answer(page).inner_text()) < 100
    else:
        expect(last_answer(page).get_by_role("button", name="Show more")).to_be_visible()
        assert last_answer(page).locator("*").count() < 20_000, "all of it is drawn"


def expect_whole(page: Page) -> None:
    """All of it is there, and with it what stands under an answer that is done."""
    expect(last_answer(page)).to_contain_text("word199")
    expect(last_answer(page)).to_have_attribute("data-status", "done")
