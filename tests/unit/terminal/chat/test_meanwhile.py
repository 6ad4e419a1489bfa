"""What a person types on a real (pseudo) terminal while a turn is under way."""

from __future__ import annotations

import asyncio
import os
import pty
import signal
import sys
import termios
import time
from collections.abc import Callable
from threading import Thread
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from stepwell import create_deep_agent
from stepwell.terminal.chat.loop import Chat
from stepwell.terminal.dialogue.graph_session import GraphConversations
from stepwell.terminal.dialogue.terminal import Terminal
from stepwell.testing import Asked, ScriptedModel, call, reply, say

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo terminal")


class Person:
    """Someone at a keyboard. What is typed at the prompt comes from `lines`; during a turn, `type` presses keys."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, lines: list[str]) -> None:
        self.outer, self.inner = pty.openpty()
        self._lines = iter(lines)
        self.prompts: list[str] = []
        self.shown = b""
        self._reading = Thread(target=self._read, daemon=True)
        self._reading.start()
        self.source = os.fdopen(os.dup(self.inner))
        self.screen = os.fdopen(os.dup(self.inner), "w")
        monkeypatch.setattr("stepwell.terminal.dialogue.terminal._edit", self._answer_prompt)

    def _answer_prompt(self, prompt: str, draft: str) -> str:
        self.prompts.append(prompt + draft)
        try:
            return draft + next(self._lines)
        except StopIteration:
            raise EOFError from None

    def _read(self) -> None:
        while True:
            try:
                self.shown += os.read(self.outer, 65536)
            except OSError:
                return

    def type(self, keys: str) -> None:
        os.write(self.outer, keys.encode())

    def see(self, text: str) -> None:
        deadline = time.monotonic() + 20
        while text not in self.text:
            assert time.monotonic() < deadline, self.text
            time.sleep(0.01)

    @property
    def text(self) -> str:
        return self.shown.decode(errors="replace").replace("\r\n", "\n")

    def talk(self, turns: list[Any], tools: list[Callable[..., Any]]) -> tuple[int, ScriptedModel]:
        model = ScriptedModel(turns)
        agent = create_deep_agent(model, tools, checkpointer=InMemorySaver())
        with asyncio.Runner() as runner:
            code = Chat(runner, Terminal(self.source, self.screen), GraphConversations(agent)).converse()
        model.assert_finished()
        time.sleep(0.05)
        return code, model

    @property
    def echoes(self) -> bool:
        return bool(termios.tcgetattr(self.inner)[3] & termios.ECHO)


def last_of(asked: Asked) -> str:
    return asked.messages[-1].text


def test_a_typed_line_steers_the_run(monkeypatch: pytest.MonkeyPatch):
    person = Person(monkeypatch, ["How deep is it?"])

    async def survey() -> str:
        """Measure."""
        person.type("In feat\x7f\x7fet, please\n")
        await asyncio.to_thread(person.see, "to the agent> In feet, please\n")
        await asyncio.sleep(0.1)
        return "27 metres"

    code, _ = person.talk([call("survey"), reply(lambda asked: f"Heard: {last_of(asked)}")], [survey])
    assert code == 0
    assert "(The agent reads: In feet, please)\nHeard: In feet, please\n" in person.text
    assert person.prompts == ["you> ", "you> "]
    assert person.echoes


def test_what_the_agent_writes_waits_for_the_line(monkeypatch: pytest.MonkeyPatch):
    person = Person(monkeypatch, ["go"])

    async def first() -> str:
        """One."""
        person.type("Stop th")
        await asyncio.to_thread(person.see, "to the agent> Stop th")
        return "one"

    async def second() -> str:
        """Two."""
        assert "← one" not in person.text
        person.type("at\n")
        await asyncio.to_thread(person.see, "← one")
        return "two"

    person.talk([call("first"), call("second"), say("done")], [first, second])
    assert person.text.index("to the agent> Stop that\n") < person.text.index("← one") < person.text.index("done")


def test_alt_enter_queue_and_commands_wait_for_the_end_of_the_turn(monkeypatch: pytest.MonkeyPatch):
    person = Person(monkeypatch, ["go"])

    async def work() -> str:
        """Work."""
        person.type("then this\x1b\r/queue and that\n/todos\n/queue\n")
        await asyncio.to_thread(person.see, "Write the message after the command")
        return "worked"

    turns = [call("work"), reply(lambda asked: last_of(asked)), reply(last_of), reply(last_of)]
    person.talk(turns, [work])
    shown = person.text.partition("worked")[2]
    signs = ["you> then this\nthen this\n", "you> and that\nand that\n", "you> /todos\nNo plan yet.\n"]
    assert all(sign in shown for sign in signs), shown
    assert [shown.index(sign) for sign in signs] == sorted(shown.index(sign) for sign in signs)


def test_a_message_that_comes_too_late_is_the_next_turn(monkeypatch: pytest.MonkeyPatch):
    person = Person(monkeypatch, ["go"])

    async def answer(asked: Asked) -> str:
        person.type("One more thing\n")
        await asyncio.to_thread(person.see, "to the agent> One more thing\n")
        await asyncio.sleep(0.1)
        return "first answer"

    person.talk([reply(answer), reply(lambda asked: f"Heard: {last_of(asked)}")], [])
    assert "first answer\nHeard: One more thing\n" in person.text


def test_a_line_that_is_not_finished_stands_at_the_next_prompt(monkeypatch: pytest.MonkeyPatch):
    person = Person(monkeypatch, ["go", "ished"])

    async def answer(asked: Asked) -> str:
        person.type("unfin")
        await asyncio.to_thread(person.see, "to the agent> unfin")
        return "answer"

    person.talk([reply(answer), reply(last_of)], [])
    assert person.prompts == ["you> ", "you> unfin", "you> "]
    assert "answer\n" in person.text
    assert "unfinished\n" in person.text


def test_ctrl_c_stops_the_turn_with_what_was_not_read(monkeypatch: pytest.MonkeyPatch):
    person = Person(monkeypatch, ["go", "next"])

    async def press(asked: Asked) -> str:
        person.type("too late\n")
        await asyncio.to_thread(person.see, "to the agent> too late\n")
        await asyncio.sleep(0.1)
        signal.raise_signal(signal.SIGINT)
        await asyncio.Event().wait()
        return ""

    _, model = person.talk([reply(press), say("still here")], [])
    assert "(The agent has not read: too late)\n(stopped)\n" in person.text
    assert "still here" in person.text
    assert "too late" not in [message.text for message in model.asked[-1].messages]
    assert person.echoes


def test_ctrl_d_during_a_turn_leaves_after_it(monkeypatch: pytest.MonkeyPatch):
    person = Person(monkeypatch, ["go", "never asked"])

    async def answer(asked: Asked) -> str:
        person.type("\x04")
        await asyncio.sleep(0.1)
        return "answer"

    code, _ = person.talk([reply(answer)], [])
    assert code == 0
    assert person.prompts == ["you> "]
