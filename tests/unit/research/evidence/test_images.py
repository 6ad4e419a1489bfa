"""Images as documents: which model reads them, what becomes of its words, and when none may."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stepwell.errors import FetchFailedError, FetchRefusedError
from stepwell.research.evidence.images import (
    MAX_IMAGE_BYTES,
    find_image_model,
    list_transcribed,
    read_image,
    read_image_once,
)
from stepwell.research.evidence.policy.file import load_policy, parse_policy
from stepwell.settings import Settings
from stepwell.testing import ScriptedModel

PNG = b"\x89PNG\r\n\x1a\n" + bytes(40)
POLICY = load_policy(None)
HELD = parse_policy(POLICY.text.replace("before_approval = true ", "before_approval = false"), "POLICY.md")


async def test_the_text_says_in_its_place_that_a_model_wrote_it_down():
    model = ScriptedModel(["Pump 3: stopped\r\nPressure: 4.2 bar"])
    read = await read_image(model, PNG)
    assert (read.text, read.media_type) == ("Pump 3: stopped\nPressure: 4.2 bar", "image/png")
    assert read.note == "Transcribed by a model from the image; not checked."
    (part,) = read.parts
    assert (part.start, part.name) == (0, "image, transcribed by a model, not checked")
    shown: Any = model.asked[0].messages[-1].content
    assert shown[0]["mime_type"] == "image/png"


@pytest.mark.parametrize("said", ["[no text]", " \n ", "..."])
async def test_an_image_without_text_is_no_document(said: str):
    with pytest.raises(FetchFailedError, match="found no text in this image"):
        await read_image(ScriptedModel([said]), PNG)


@pytest.mark.parametrize(
    ("content", "sentence"), [(b"no image", "PNG, JPEG, WebP and GIF"), (PNG + bytes(MAX_IMAGE_BYTES), "more than 5 MB")]
)
async def test_what_is_no_image_or_too_large_is_sent_to_nobody(content: bytes, sentence: str):
    model = ScriptedModel(["never"])
    with pytest.raises(FetchRefusedError, match=sentence):
        await read_image(model, content)
    assert model.asked == []


async def test_a_model_that_fails_is_named_with_a_way_out():
    with pytest.raises(FetchFailedError, match=r"did not read this image \(ValueError\)\. Try again later"):
        await read_image(ScriptedModel([ValueError("secret request")]), PNG)


def settings(**variables: str) -> Settings:
    return Settings.load({"OPENAI_API_KEY": "sk-none", **variables})


def test_the_first_model_whose_profile_says_that_it_sees_reads_images():
    assert find_image_model(settings(STEPWELL_MODEL="openai:gpt-4.1"), POLICY)
    mixed = settings(STEPWELL_MODEL="openai:gpt-3.5-turbo", STEPWELL_MODEL_WRITE="openai:gpt-4.1")
    assert getattr(find_image_model(mixed, POLICY), "model_name", "") == "gpt-4.1"


@pytest.mark.parametrize("model", [{}, {"STEPWELL_MODEL": "openai:gpt-3.5-turbo"}, {"STEPWELL_MODEL": "openai:unheard-of"}])
def test_without_such_a_model_a_sentence_names_the_way_out(model: dict[str, str]):
    chosen = settings(**model) if model else Settings.load({})
    with pytest.raises(FetchRefusedError, match=r"no connected model is known to read images\. Connect one"):
        find_image_model(chosen, POLICY)


def test_a_policy_that_sends_nothing_before_approval_shows_images_only_to_a_model_on_this_machine():
    with pytest.raises(FetchRefusedError, match=r"rule sending\.before_approval"):
        find_image_model(settings(STEPWELL_MODEL="openai:gpt-4.1"), HELD)
    here = settings(STEPWELL_MODEL="openai:gpt-4.1", OPENAI_BASE_URL="http://127.0.0.1:9/v1")
    assert find_image_model(here, HELD)


async def test_an_image_is_read_once(tmp_path: Path):
    """Another transcription would be another document under the same name."""
    model = ScriptedModel(["Pump 3: stopped", "Pump 3 has stopped"])
    first = await read_image_once(model, PNG, tmp_path / "images")
    assert await read_image_once(model, PNG, tmp_path / "images") == first
    assert (await read_image_once(model, PNG + b"x", tmp_path / "images")).text == "Pump 3 has stopped"


def test_the_place_of_a_snippet_says_who_has_seen_its_image():
    places = ("image, transcribed by gpt-4.1, not checked", "page 3", "", "image, transcribed by gpt-4.1, not checked")
    snippets = [{"label": "a.png", "place": place} for place in places]
    assert list_transcribed(snippets) == [("gpt-4.1", "a.png")]
