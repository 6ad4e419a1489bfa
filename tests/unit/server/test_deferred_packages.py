"""A deferred package runs its `__init__` when somebody asks it for a name, once. Late models are built at their first use."""

from __future__ import annotations

import importlib
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pydantic import BaseModel, ValidationError

from stepwell.server.deferred_packages import defer_packages, import_with_late_models

INIT = """
import builtins
builtins.loads_of_slow_package = getattr(builtins, "loads_of_slow_package", 0) + 1
from slow_package.inner import VALUE
from slow_package import other
"""
MODELS = """
from __future__ import annotations
from pydantic import BaseModel
class Letter(BaseModel):
    to: Person
class Person(BaseModel):
    name: str
Letter.model_rebuild()
class Used(BaseModel):
    number: int
USED = Used(number="1")
"""


@pytest.fixture(autouse=True)
def slow_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = tmp_path / "slow_package"
    folder.mkdir()
    (folder / "__init__.py").write_text(INIT)
    (folder / "inner.py").write_text("VALUE = 1")
    (folder / "other.py").write_text("OTHER = 2")
    (folder / "models.py").write_text(MODELS)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("builtins.loads_of_slow_package", 0, raising=False)
    defer_packages(("slow_package",))
    yield
    for name in [name for name in sys.modules if name.split(".")[0] == "slow_package"]:
        del sys.modules[name]


def loads() -> int:
    import builtins

    return int(builtins.loads_of_slow_package)  # type: ignore[attr-defined]


def test_importing_a_module_of_a_deferred_package_does_not_run_its_init():
    assert importlib.import_module("slow_package.inner").VALUE == 1
    assert loads() == 0


def test_asking_for_a_name_runs_the_init_once_also_from_several_threads():
    package = importlib.import_module("slow_package")
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(lambda _: (package.VALUE, package.other.OTHER), range(32))) == [(1, 2)] * 32
    assert loads() == 1


def test_a_name_that_the_package_does_not_have_is_an_attribute_error():
    package = importlib.import_module("slow_package")
    with pytest.raises(AttributeError):
        package.missing  # noqa: B018
    assert loads() == 1


def test_a_missing_package_stays_missing():
    defer_packages(("no_such_package_anywhere",))
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("no_such_package_anywhere")


def test_late_models_are_built_when_they_are_used():
    rebuild = vars(BaseModel)["model_rebuild"]
    import_with_late_models(("slow_package.models",))
    models = importlib.import_module("slow_package.models")
    assert not models.Letter.__pydantic_complete__
    with ThreadPoolExecutor(8) as threads:
        letters = list(threads.map(lambda _: models.Letter(to={"name": "Ada"}), range(32)))
    assert {letter.to.name for letter in letters} == {"Ada"}
    assert models.Letter.__pydantic_complete__
    assert models.USED.number == 1
    with pytest.raises(ValidationError):
        models.Letter(to={})
    assert vars(BaseModel)["model_rebuild"] is rebuild


def test_models_of_other_modules_are_built_at_once():
    import_with_late_models(("slow_package.models",))

    class Own(BaseModel):
        word: str

    assert Own.__pydantic_complete__
