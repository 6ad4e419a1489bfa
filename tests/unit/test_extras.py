"""A missing extra is called so, and nothing else is: advice to install what is installed helps nobody."""

from __future__ import annotations

import re
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from stepwell.errors import EXTRA_MODULES, ConfigurationError, MissingExtraError, needs_extra

ROOT = Path(__file__).parents[2]


def test_a_package_of_the_extra_that_is_not_there_is_a_missing_extra(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "trafilatura", None)
    with (
        pytest.raises(MissingExtraError, match=r"pip install 'stepwell\[research\]'"),
        needs_extra("Reading web pages", "research"),
    ):
        import trafilatura  # noqa: F401


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("import nothing_of_this_name", "No module named 'nothing_of_this_name'"),
        ("raise ImportError('the other half is a separate project')", "the other half is a separate project"),
        ("import lxml.nothing_of_this_name", "No module named 'lxml.nothing_of_this_name'"),
    ],
)
def test_a_package_that_is_there_and_fails_says_what_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, said: str
):
    (tmp_path / "half_a_package.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ConfigurationError, match=re.escape(said)) as failed, needs_extra("Reading web pages", "research"):
        import half_a_package  # noqa: F401
    assert not isinstance(failed.value, MissingExtraError)
    assert "pip install" not in str(failed.value)


def test_the_research_extra_names_what_pip_23_would_leave_out():
    """justext asks for `lxml[html_clean]`, which that pip does not see."""
    assert any(line.startswith("lxml-html-clean") for line in extras()["research"])


@pytest.mark.parametrize("extra", EXTRA_MODULES)
def test_each_package_of_each_extra_is_known_as_missing(monkeypatch: pytest.MonkeyPatch, extra: str):
    assert extra in extras()
    for module in EXTRA_MODULES[extra]:
        first = module.partition(".")[0]
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, first, None)
            with pytest.raises(MissingExtraError, match=rf"stepwell\[{extra}\]"), needs_extra("This", extra):
                import_module(first)


def test_every_extra_that_the_code_asks_for_has_its_packages_listed():
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py")]
    asked = {extra for text in sources for extra in re.findall(r'needs_extra\([^,)]+, "(\w+)"\)', text)}
    assert {"acp", "redis", "server"} <= asked <= set(EXTRA_MODULES)


def extras() -> dict[str, list[str]]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return project["optional-dependencies"]
