"""Pictures reach models that can see. Others say so in a sentence, instead of a provider's error."""

from __future__ import annotations

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from stepwell import create_deep_agent
from stepwell.errors import ModelCannotSeeError
from stepwell.models.facts import can_see
from stepwell.testing import ScriptedModel, say

PICTURE = {"type": "image", "base64": "iVBORw0KGgo=", "mime_type": "image/png"}
ADDRESS = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}


def asking(*blocks: object) -> HumanMessage:
    return HumanMessage([{"type": "text", "text": "What is this?"}, *blocks])


@pytest.mark.parametrize("profile", [{"image_inputs": True}, {}, None])
def test_a_model_that_sees_or_may_see_gets_the_picture(profile):
    model = ScriptedModel([say("A well.")], profile=profile)
    final = create_deep_agent(model).invoke({"messages": [asking(PICTURE)]})
    assert PICTURE in model.last_asked.messages[-1].content
    assert final["messages"][-1].text == "A well."


@pytest.mark.parametrize("block", [PICTURE, ADDRESS])
def test_a_model_that_cannot_see_refuses_with_a_sentence(block):
    model = ScriptedModel([say("A well.")], profile={"image_inputs": False})
    with pytest.raises(
        ModelCannotSeeError, match=r"cannot see images. Choose a model that can, or send the message without them\."
    ):
        create_deep_agent(model).invoke({"messages": [asking(block)]})


def test_earlier_pictures_are_only_named_to_a_model_that_cannot_see():
    """A conversation can go on after its model was changed."""
    model = ScriptedModel([say("Yes.")], profile={"image_inputs": False})
    history = [asking(PICTURE), AIMessage("A well."), HumanMessage("Is it deep?")]
    final = create_deep_agent(model).invoke({"messages": history})
    assert [message.text for message in model.last_asked.messages[1:]] == [
        "What is this?[An image that you cannot see]",
        "A well.",
        "Is it deep?",
    ]
    assert PICTURE in final["messages"][0].content, "the thread keeps it"


def test_a_picture_of_a_tool_is_only_named_too():
    model = ScriptedModel([say("Done.")], profile={"image_inputs": False})
    call = AIMessage("", tool_calls=[{"name": "ls", "args": {}, "id": "1"}])
    create_deep_agent(model).invoke({"messages": [HumanMessage("Look"), call, ToolMessage([PICTURE], tool_call_id="1")]})
    assert model.last_asked.messages[-1].text == "[An image that you cannot see]"


def test_whether_a_model_sees_is_known_from_its_profile():
    assert can_see(ScriptedModel([], profile={"image_inputs": True})) is True
    assert can_see(ScriptedModel([], profile={"image_inputs": False})) is False
    assert can_see(ScriptedModel([])) is None
