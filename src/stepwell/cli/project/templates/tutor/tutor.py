"""A tutor that develops your argument by asking. `make_graph` is what langgraph.json serves."""

from stepwell.tutor.agent import build, find_model


def make_graph():
    """With a model that can use tools, a dialogue; without one, the same method asks its questions by itself, and says so.

    To have your own approvals or another model, call `build(model, interrupt_on=...)`.
    """
    return build(find_model())
