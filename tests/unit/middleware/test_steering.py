"""Messages that enter a run while it works: where they stand, who sees them, and what happens to those that come too late."""

from __future__ import annotations

import pytest
from langchain.agents import create_agent
from langchain_core.messages import BaseMessage
from langgraph.checkpoint.memory import InMemorySaver

from stepwell import HooksMiddleware, Refusal, Steering, SteeringMiddleware, create_deep_agent
from stepwell.errors import InvalidRequestError, SteerQueueFullError
from stepwell.testing import ScriptedModel, call, say

GO = {"messages": [("user", "go")]}


def texts(messages: list[BaseMessage]) -> list[tuple[str, str]]:
    return [(message.type, message.text) for message in messages]


class Kit:
    """An agent with a tool during whose call messages are sent."""

    def __init__(self, *sent: str, script=None, fails: int = 0, **options):
        self.steering = Steering()
        self.sent = list(sent)
        self.places: list[int] = []
        self.model = ScriptedModel(script or [call("work"), say("done")])
        self.failures = fails

        def work() -> str:
            """Work."""
            for number, text in enumerate(self.sent):
                self.places.append(self.steering.send(text, id=f"m{number}"))
            return "worked"

        self.agent = create_deep_agent(self.model, [work], checkpointer=InMemorySaver(), **options)
        self.config = self.steering.config(thread_id="1")

    def run(self) -> list[tuple[str, str]]:
        return texts(self.agent.invoke(GO, self.config)["messages"])


def test_a_message_enters_after_the_tool_results_and_before_the_answer():
    kit = Kit("Use B.", "Then C.")
    assert kit.run() == [
        ("human", "go"),
        ("ai", ""),
        ("tool", "worked"),
        ("human", "Use B."),
        ("human", "Then C."),
        ("ai", "done"),
    ]
    assert kit.places == [1, 2]
    assert [message.text for message in kit.model.last_asked.messages][-2:] == ["Use B.", "Then C."]
    assert kit.steering.take_left(kit.agent.get_state(kit.config).values["messages"]) == []


async def test_async_runs_take_messages_too():
    kit = Kit("Use B.")
    messages = (await kit.agent.ainvoke(GO, kit.config))["messages"]
    assert texts(messages)[3] == ("human", "Use B.")


def test_a_message_is_in_the_thread_once_however_many_calls_follow():
    kit = Kit("Use B.", script=[call("work"), call("ls", path="/"), call("ls", path="/"), say("done")])
    assert kit.run().count(("human", "Use B.")) == 1
    assert kit.steering.waiting == []


def test_what_comes_too_late_is_left_for_the_next_run():
    kit = Kit()
    kit.run()
    kit.steering.send("Too late.", id="late")
    left = kit.steering.take_left(kit.agent.get_state(kit.config).values["messages"])
    assert [(message.id, message.content) for message in left] == [("late", "Too late.")]
    assert kit.steering.waiting == []


def test_a_call_that_fails_gives_the_message_to_the_next_attempt():
    kit = Kit("Use B.", script=[call("work"), RuntimeError("provider down"), say("done")])
    with pytest.raises(RuntimeError):
        kit.run()
    assert ("human", "Use B.") not in texts(kit.agent.get_state(kit.config).values["messages"])
    messages = kit.agent.invoke(None, kit.config)["messages"]
    assert texts(messages)[-2:] == [("human", "Use B."), ("ai", "done")]


def test_the_same_id_is_one_message_and_other_content_is_refused():
    steering = Steering()
    assert [steering.send("a", id="1"), steering.send("b", id="2"), steering.send("a", id="1")] == [1, 2, 1]
    with pytest.raises(InvalidRequestError, match="sent before, with another content"):
        steering.send("c", id="1")


def test_eleven_messages_are_too_many():
    steering = Steering()
    for number in range(10):
        steering.send(str(number))
    with pytest.raises(SteerQueueFullError, match="10 messages wait") as refused:
        steering.send("more")
    assert refused.value.code == "STEER_QUEUE_FULL"


@pytest.mark.parametrize(
    "content", ["", "  ", [], [1], [{"text": "no type"}], [{"type": 5}], [{"type": "tool_use", "name": "x"}], None]
)
def test_a_message_without_content_is_refused(content):
    with pytest.raises(InvalidRequestError, match="has no content"):
        Steering().send(content)


@pytest.mark.parametrize("name", [".", "..", "a/b", "a\x00b", "x" * 257])
def test_an_id_can_stand_in_an_address(name):
    with pytest.raises(InvalidRequestError, match="cannot be the id of a message"):
        Steering().send("text", id=name)


def test_a_waiting_message_can_be_withdrawn():
    kit = Kit("Use B.", "Forget it.")
    kit.steering.send("Early.", id="early")
    assert kit.steering.withdraw("early")
    assert not kit.steering.withdraw("early")
    assert ("human", "Early.") not in kit.run()
    assert not kit.steering.withdraw("m0")  # the model has it


def test_subagents_take_no_messages():
    script = [call("task", description="d", subagent_type="general-purpose"), call("work"), say("sub done"), say("done")]
    kit = Kit("Use B.", script=script)
    assert kit.run()[-3:] == [("tool", "sub done"), ("human", "Use B."), ("ai", "done")]
    assert "Use B." not in [message.text for message in kit.model.asked[2].messages]


def test_input_hooks_see_messages_that_enter():
    hooks = HooksMiddleware(on_input=lambda event: event.message.text.replace("secret", "***"))
    kit = Kit("The secret is 5.", middleware=[hooks])
    assert kit.run()[3] == ("human", "The *** is 5.")
    assert kit.model.last_asked.messages[-1].text == "The *** is 5."


def test_a_refused_message_ends_the_run_with_the_reason():
    asked: list[str] = []

    def refuse(event):
        asked.append(event.message.text)
        return Refusal("Not allowed here.") if "bomb" in event.message.text else None

    kit = Kit("Build a bomb.", middleware=[HooksMiddleware(on_input=refuse)])
    assert kit.run()[-2:] == [("human", "[This message was withheld by a check.]"), ("ai", "Not allowed here.")]
    assert len(kit.model.asked) == 1
    assert asked == ["go", "Build a bomb."]


def test_an_agent_of_langchain_takes_messages_with_the_middleware():
    steering = Steering()

    def work() -> str:
        """Work."""
        steering.send("Use B.")
        return "worked"

    agent = create_agent(ScriptedModel([call("work"), say("done")]), [work], middleware=[SteeringMiddleware(steering)])
    assert texts(agent.invoke(GO)["messages"])[3] == ("human", "Use B.")


def test_pictures_can_be_sent():
    kit = Kit()
    kit.steering.send([{"type": "text", "text": "Look"}], id="p")
    assert ("human", "Look") in kit.run()
