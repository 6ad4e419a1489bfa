"""A file is in its place whole or not at all; sources with processes and sockets are in the integration tests."""

from __future__ import annotations

import hashlib
import shutil
from collections import namedtuple
from pathlib import Path

import pytest

from stepwell.errors import ConfigurationError, ModelDiskFullError, ModelDownloadError
from stepwell.models import Capabilities, LocalModel, LocalModels
from stepwell.models.local.catalogue import HubSource
from stepwell.models.local.files.fetching import fetch_model, is_in_place, remove_model

CONTENT = b"GGUF" + bytes(1000)


def model(content: bytes = CONTENT) -> LocalModel:
    digest = hashlib.sha256(content).hexdigest()
    can = Capabilities(tools=False, writes=False, context=100)
    source = HubSource("https://hub.test/a/b/resolve/main/tiny.gguf")
    return LocalModel("tiny", "Tiny", "tiny.gguf", len(content), digest, "MIT", source, "f16", can, "Anything.")


def never(done: int, total: int) -> None:
    raise AssertionError("nothing should be fetched")


def test_a_file_in_its_place_is_not_fetched_again(tmp_path: Path):
    (tmp_path / "tiny.gguf").write_bytes(CONTENT)
    assert fetch_model(model(), tmp_path, never) == tmp_path / "tiny.gguf"


def test_a_file_of_another_size_is_not_in_its_place(tmp_path: Path):
    (tmp_path / "tiny.gguf").write_bytes(CONTENT[:-1])
    assert not is_in_place(model(), tmp_path)


def test_a_download_that_was_complete_but_not_yet_placed_is_taken(tmp_path: Path):
    (tmp_path / ".tiny.gguf.part").write_bytes(CONTENT)
    assert fetch_model(model(), tmp_path, never).read_bytes() == CONTENT
    assert sorted(path.name for path in tmp_path.iterdir()) == [".tiny.gguf.lock", "tiny.gguf"]


def test_too_little_room_is_told_before_anything_is_fetched(tmp_path: Path, monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(10_000, 9_000, 500))
    with pytest.raises(ModelDiskFullError, match=r"no room on the disk for 'tiny'.*STEPWELL_DATA_DIR"):
        fetch_model(model(), tmp_path, never)


def test_a_folder_that_cannot_be_made_is_told_without_its_path(tmp_path: Path):
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(ModelDownloadError, match=r"'tiny' cannot be written \(.+\)") as caught:
        fetch_model(model(), tmp_path / "file" / "models", never)
    assert str(tmp_path) not in str(caught.value)


def test_removing_takes_the_leftovers_too(tmp_path: Path):
    for name in ("tiny.gguf", ".tiny.gguf.part", "other.gguf"):
        (tmp_path / name).write_bytes(b"x")
    assert remove_model(model(), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["other.gguf"]
    assert not remove_model(model(), tmp_path)


def test_a_file_of_the_users_own_is_never_deleted(tmp_path: Path):
    own = tmp_path / "own.gguf"
    own.write_bytes(CONTENT)
    with pytest.raises(ConfigurationError, match=r"'own\.gguf' is a file of your own"):
        LocalModels(tmp_path).remove(str(own))
    assert own.exists()
