"""The agent: its tools, its prompt and its model. `make_graph` is what langgraph.json serves."""

from datetime import date

from stand_in import stand_in
from stepwell import ToolUseError, create_deep_agent
from stepwell.models import find_model, resolve_model
from stepwell.settings import Settings

PROMPT = "You help people plan. Count days with days_between, never by yourself. Keep what is worth keeping in files."


def days_between(first: str, last: str) -> str:
    """Count the days from one date to another. Dates are written as 2026-03-01."""
    try:
        days = (date.fromisoformat(last) - date.fromisoformat(first)).days
    except ValueError:
        raise ToolUseError(f"'{first}' or '{last}' is not a date. Write dates as 2026-03-01.") from None
    return f"{days} days"


def build(model):
    """The agent on a model of the caller's. Tests give it a scripted one."""
    return create_deep_agent(model, tools=[days_between], system_prompt=PROMPT, name="agent")


def make_graph():
    """The agent on the model you have connected, in .env or on the page; before that, on the script in stand_in.py."""
    settings = Settings.load()
    return build(resolve_model(None, settings=settings) if find_model(settings) else stand_in())
