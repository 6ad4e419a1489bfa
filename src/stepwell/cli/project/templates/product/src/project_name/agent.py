"""The product's agent."""

from stepwell import create_deep_agent
from stepwell.models import find_model, resolve_model
from stepwell.settings import Settings
from stepwell.testing import ScriptedModel


def make_graph():
    """The agent on the connected model; before there is one, a script that repeats what it hears."""
    settings = Settings.load()
    return build(resolve_model(None, settings=settings) if find_model(settings) else ScriptedModel.answering(echo, remember=0))


def build(model):
    return create_deep_agent(model, name="project_name")


def echo(asked):
    return f"You said: {asked.human} (No model is connected yet: this is a script.)"
