"""Images in a message: pasted, dropped or chosen, made smaller, shown after a reload, and refused where nobody would see them."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from PIL import Image
from playwright.sync_api import Page, expect
from tests.browser.conftest import violations
from tests.browser.model_server import serve_model
from tests.browser.steps import THREAD, composer, last_answer, thread_id
from tests.integration.served.process import Server, serve


def picture(width: int = 40, height: int = 30, form: str = "PNG") -> bytes:
    made = io.BytesIO()
    Image.effect_noise((width, height), 80).convert("RGB").save(made, form)
    return made.getvalue()


def sizes_in(request: dict[str, Any]) -> list[tuple[int, int]]:
    found = []
    for message in request["messages"]:
        for block in message["content"] if isinstance(message["content"], list) else []:
            if block["type"] == "image_url":
                data = block["image_url"]["url"].partition(",")[2]
                found.append(Image.open(io.BytesIO(base64.b64decode(data))).size)
    return found


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    def answer(request: dict[str, Any]) -> dict[str, Any]:
        sizes = sizes_in(request)
        return {"content": f"I see {len(sizes)} images: {', '.join(f'{width} by {height}' for width, height in sizes)}."}

    with (
        serve_model(answer) as variables,
        serve(tmp_path_factory.mktemp("attachments"), graphs=None, **variables) as started,
    ):
        yield started


def strip(page: Page):
    return page.get_by_test_id("pictures").get_by_role("listitem")


def choose(page: Page, *files: tuple[str, bytes]) -> None:
    page.get_by_test_id("choose-images").set_input_files(
        [{"name": name, "mimeType": f"image/{name.rpartition('.')[2]}", "buffer": data} for name, data in files]
    )


def hand_over(page: Page, how: str, target: str, data: bytes, name: str = "shot.png", kind: str = "image/png") -> None:
    """A paste or a drop, as the browser sends it."""
    page.evaluate(
        """([how, target, data, name, kind]) => {
          const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
          const files = new DataTransfer();
          files.items.add(new File([bytes], name, { type: kind }));
          const event = how === "paste"
            ? new ClipboardEvent("paste", { clipboardData: files, bubbles: true, cancelable: true })
            : new DragEvent("drop", { dataTransfer: files, bubbles: true, cancelable: true });
          document.querySelector(target).dispatchEvent(event);
        }""",
        [how, target, base64.b64encode(data).decode(), name, kind],
    )


def test_images_are_pasted_dropped_and_chosen_and_reach_the_model(page: Page, server: Server):
    page.goto("/new/simple_agent")
    composer(page).focus()
    hand_over(page, "paste", "[data-testid=composer]", picture(40, 30))
    expect(strip(page)).to_have_count(1)
    hand_over(page, "drop", ".welcome", picture(50, 30), "dropped.png")
    expect(strip(page)).to_have_count(2)
    choose(page, ("chosen.png", picture(60, 30)), ("unwanted.png", picture(70, 30)))
    expect(strip(page)).to_have_count(4)
    page.get_by_role("button", name="Remove unwanted.png").click()
    expect(strip(page)).to_have_count(3)
    expect(page.get_by_test_id("pictures")).to_contain_text("may not see images")
    assert violations(page) == []
    composer(page).fill("What is this?")
    composer(page).press("Enter")
    expect(page).to_have_url(THREAD)
    expect(last_answer(page)).to_contain_text("I see 3 images: 40 by 30, 50 by 30, 60 by 30.")
    expect(page.get_by_test_id("pictures")).to_have_count(0)
    shown = page.get_by_test_id("user-message").get_by_role("img")
    expect(shown).to_have_count(3)
    page.reload()
    expect(shown).to_have_count(3)
    assert page.evaluate("[...document.querySelectorAll('article img')].every((each) => each.naturalWidth > 0)")
    assert violations(page) == []
    messages = httpx.get(f"{server.url}/threads/{thread_id(page)}/messages").json()["messages"]
    assert {block["type"] for block in messages[-1]["content"]} == {"text", "image"}


def test_a_large_image_is_made_smaller_before_it_is_sent(page: Page):
    page.goto("/new/simple_agent")
    choose(page, ("large.png", picture(3000, 1500)))
    expect(strip(page)).to_have_count(1)
    composer(page).press("Enter")  # an image alone is a message
    expect(last_answer(page)).to_contain_text("I see 1 images: 1568 by 784.")
    expect(page.get_by_test_id("thread-row").first).to_contain_text("Picture")


def test_an_edited_message_keeps_its_images(page: Page):
    page.goto("/new/simple_agent")
    choose(page, ("one.png", picture()))
    composer(page).fill("one")
    composer(page).press("Enter")
    expect(last_answer(page)).to_contain_text("I see 1 images")
    message = page.get_by_test_id("user-message").last
    message.hover()
    message.get_by_role("button", name="Edit").click()
    page.get_by_label("Edit your message").fill("another")
    page.get_by_role("button", name="Send this instead").click()
    expect(page.get_by_test_id("user-message").last).to_contain_text("another")
    expect(page.get_by_test_id("user-message").get_by_role("img")).to_have_count(1)
    expect(last_answer(page)).to_contain_text("I see 1 images")


def test_too_many_and_unreadable_files_are_refused_in_words(page: Page):
    page.goto("/new/simple_agent")
    choose(page, ("broken.png", b"not an image"))
    expect(page.get_by_test_id("pictures")).to_contain_text("broken.png is not an image that this browser can read.")
    choose(page, *((f"{number}.png", picture()) for number in range(8)))
    expect(strip(page)).to_have_count(6)
    expect(page.get_by_test_id("pictures")).to_contain_text("A message takes 6 images.")


def test_an_assistant_that_reads_only_text_says_so_before_sending(page: Page):
    page.goto("/new/research")
    choose(page, ("one.png", picture()))
    composer(page).fill("What is this?")
    expect(page.get_by_test_id("pictures")).to_contain_text("Research reads only text. Remove the images, or ask an agent.")
    expect(page.get_by_role("button", name="Send")).to_be_disabled()
    composer(page).press("Enter")
    page.get_by_role("button", name="Remove one.png").click()
    expect(page.get_by_role("button", name="Send")).to_be_enabled()


def test_a_document_that_is_dropped_is_knowledge(page: Page):
    page.goto("/new/simple_agent")
    expect(composer(page)).to_be_visible()
    page.evaluate(
        "window.dispatchEvent(new DragEvent('dragenter', { dataTransfer: (() => { const d = new DataTransfer();"
        " d.items.add(new File(['x'], 'a.txt')); return d; })() }))"
    )
    hand_over(page, "drop", ".welcome", b"The pump house was built in 1911.", "pumps.txt", "text/plain")
    expect(page.get_by_role("dialog", name="Knowledge")).to_contain_text("pumps.txt")
    expect(page.get_by_test_id("pictures")).to_have_count(0)
