"""The catalogue says of each model what a user and an application must know."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from stepwell.errors import ModelUnavailableError
from stepwell.models import CATALOGUE, DEFAULT_LOCAL_MODEL, find_local_model
from stepwell.models.local.catalogue import HubSource, WheelSource


@pytest.mark.parametrize("model", CATALOGUE.values(), ids=CATALOGUE)
def test_every_entry_can_be_verified_and_says_what_it_cannot_do(model):
    assert re.fullmatch(r"[0-9a-f]{64}", model.sha256)
    assert model.size_bytes > 50_000_000
    assert model.licence == "Apache-2.0"
    assert model.file.endswith(".gguf")
    assert model.cannot.endswith(".")
    assert model.capabilities.context >= 8192


@pytest.mark.parametrize("model", CATALOGUE.values(), ids=CATALOGUE)
def test_a_hub_file_is_pinned_to_a_revision_over_https(model):
    if isinstance(model.source, HubSource):
        assert re.fullmatch(r"https://[\w.]+/[\w.-]+/[\w.-]+/resolve/[0-9a-f]{40}/[\w.-]+\.gguf", model.source.url)


def test_the_default_needs_no_hub_and_promises_nothing():
    """R10: the model that is always there is honest about itself."""
    model = CATALOGUE[DEFAULT_LOCAL_MODEL]
    assert isinstance(model.source, WheelSource)
    assert (model.capabilities.tools, model.capabilities.writes) == (False, False)


def test_a_name_is_an_id_or_a_path():
    assert find_local_model("SmolLM2-135M ").id == "smollm2-135m"
    assert find_local_model("/models/mine.gguf") is None
    assert find_local_model("C:\\models\\mine.gguf") is None
    assert find_local_model("mine.gguf") is None


def test_an_unknown_name_suggests_the_nearest():
    with pytest.raises(ModelUnavailableError, match=r"Unknown local model 'smollm-135m'\. Did you mean 'smollm2-135m'\?"):
        find_local_model("smollm-135m")


def test_no_id_looks_like_a_path():
    assert [name for name in CATALOGUE if Path(name).suffix == ".gguf" or "/" in name] == []
