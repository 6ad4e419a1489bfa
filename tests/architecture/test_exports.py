"""The exports are what they say: every promised name is there, and every listed name leads somewhere."""

from __future__ import annotations

import importlib
import pkgutil

import pytest

import stepwell

# The names that other people's code is written against; taking one away is a breaking change.
PROMISED = [
    "create_deep_agent", "compile_agent", "default_stack",
    "SubAgent", "CompiledSubAgent", "DeepAgentState",
    "FilesystemMiddleware", "SubAgentMiddleware", "PatchToolCallsMiddleware", "CashuPaymentMiddleware",
    "BackendProtocol", "BackendFactory", "StateBackend", "StoreBackend", "FilesystemBackend", "CompositeBackend",
    "FileData", "FileInfo", "GrepMatch", "WriteResult", "EditResult",
    "SandboxBackendProtocol", "ExecuteResponse",
    "ObjectBackend", "ConfigToStateMiddleware", "GCSRuntimeMiddleware", "set_gcs_root_path", "get_gcs_root_path",
    "StepwellError", "ConfigurationError",
]  # fmt: skip

MODULES = sorted(
    module.name for module in pkgutil.walk_packages(stepwell.__path__, "stepwell.") if not module.name.endswith("__main__")
)


@pytest.mark.parametrize("name", PROMISED)
def test_promised_name_is_exported(name: str):
    assert name in stepwell.__all__
    assert getattr(stepwell, name) is not None


def test_listed_names_exist_and_are_found_by_dir():
    assert [name for name in stepwell.__all__ if not hasattr(stepwell, name)] == []
    assert set(stepwell.__all__) <= set(dir(stepwell))


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no_such_name"):
        stepwell.no_such_name  # noqa: B018  the access itself is what is tested


@pytest.mark.parametrize("name", MODULES)
def test_module_imports_and_keeps_its_own_list(name: str):
    module = importlib.import_module(name)
    listed = getattr(module, "__all__", [])
    assert len(set(listed)) == len(listed)
    assert [each for each in listed if not hasattr(module, each)] == []


def test_version_is_the_installed_one():
    from importlib.metadata import version

    assert stepwell.__version__ == version("stepwell")
