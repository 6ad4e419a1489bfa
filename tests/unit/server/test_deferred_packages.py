"""A deferred package runs its `__init__` when somebody asks it for a name, once."""

from __future__ import annotations

import importlib
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from stepwell.server.deferred_packages import defer_packages

INIT = """
import builtins
builtins.loads_of_slow_package = getattr(builtins, "loads_of_slow_package", 0) + 1
from slow_package.inner import VALUE
from slow_package import other
"""


@pytest.fixture(autouse=True)
def slow_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = tmp_path / "slow_package"
    folder.mkdir()
    (folder / "__init__.py").write_text(INIT)
    (folder / "inner.py").write_text("VALUE = 1")
    (folder / "other.py").write_text("OTHER = 2")
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
