"""Models by kind of task."""

from __future__ import annotations

import pytest

from stepwell import create_deep_agent
from stepwell.errors import ConfigurationError, ModelUnavailableError
from stepwell.models.connected import TASK_KINDS
from stepwell.models.routing import ModelRoutes
from stepwell.settings import TASK_KINDS as VARIABLES
from stepwell.settings import Settings
from stepwell.testing import ScriptedModel, call, say


def test_each_kind_has_its_model_and_the_rest_the_default():
    """R15: model routing per task."""
    default, cheap = ScriptedModel(), ScriptedModel()
    routes = ModelRoutes(default, files=cheap)
    assert routes["files"] is cheap
    assert all(routes[kind] is default for kind in TASK_KINDS if kind != "files")


def test_subagents_use_the_routes():
    """R15: the main agent plans with one model, a subagent does file work with another."""
    clerk = ScriptedModel([say("3 files")])
    routes = ModelRoutes(ScriptedModel([call("task", description="count", subagent_type="clerk"), say("done")]), files=clerk)
    subagent = {"name": "clerk", "description": "files", "system_prompt": "count", "model": routes["files"]}
    create_deep_agent(routes["plan"], subagents=[subagent]).invoke({"messages": [("user", "go")]})
    clerk.assert_finished()


def test_names_are_resolved_when_they_are_needed_and_shared():
    settings = Settings.load({"OLLAMA_HOST": "127.0.0.1"})
    routes = ModelRoutes("ollama:big", files="ollama:small", summarise="ollama:small", audit="nobody:x", settings=settings)
    assert routes["files"] is routes["summarise"]
    assert routes["files"].model == "small"
    assert routes["plan"] is routes["write"]
    with pytest.raises(ModelUnavailableError, match="nobody"):
        routes["audit"]


def test_the_environment_can_set_every_kind():
    environ = {f"STEPWELL_MODEL_{kind.upper()}": f"ollama:{kind}" for kind in TASK_KINDS}
    routes = ModelRoutes.from_settings(Settings.load({"STEPWELL_MODEL": "ollama:any", **environ}))
    assert [routes[kind].model for kind in TASK_KINDS] == list(TASK_KINDS)


def test_a_kind_without_a_variable_has_the_environments_model():
    routes = ModelRoutes.from_settings(Settings.load({"STEPWELL_MODEL": "ollama:any", "STEPWELL_MODEL_WRITE": "ollama:pen"}))
    assert (routes["plan"].model, routes["write"].model) == ("any", "pen")
    assert routes.names() == {"write": "ollama:pen"}


def test_settings_and_routes_know_the_same_kinds():
    assert VARIABLES == TASK_KINDS


def test_an_unknown_kind_is_refused():
    with pytest.raises(ConfigurationError, match="plan, audit, write, files, summarise"):
        ModelRoutes(ScriptedModel())["cook"]
