"""The model of the job: it knows the case from what it is shown, and nothing else.

It plans three searches, lets plans pass, and writes those sentences of the case that its evidence has, with one wrong figure. Shown that
sentence again with the reason against it, it gives the right figure. As a judge it looks whether the figures of a sentence are in the
quotes. It reads the screenshot if it gets exactly its bytes.

`held()` keeps back the writer's answer, as a slow model would, so that a test can end the server in the middle of its work.
"""

from __future__ import annotations

import base64
import json
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tests.support.everyday import case
from tests.support.providers.openai import OPENAI
from tests.support.providers.server import FakeProvider
from tests.support.providers.wire import Reply

CHARACTERS_PER_TOKEN = 4
TOKENS_PER_IMAGE = 800
_SHOWN = re.compile(r"^(e\d+) \([^\n]*?\): (.+)$", re.MULTILINE)
_DIFFERS = re.compile(r"^(c\d+): (.+)$", re.MULTILINE)
_FIGURE = re.compile(r"\d[\d,.:]*\d|\d")
PLANNED = ("pump 3 stopped", "hours run and change of the bearing", "cost of the outage")
_HOLD_S = 120.0


class CaseModel(FakeProvider):
    """The model, while it is entered. `variables` configure a server or a command to use it."""

    def __init__(self) -> None:
        super().__init__(OPENAI)
        self.roles: list[str] = []
        """What it was asked to be, in order."""
        self.unknown: list[str] = []
        """Prompts that it has no answer to, by their beginning."""
        self.writing = threading.Event()
        """The writer has been asked."""
        self._free = threading.Event()
        self._free.set()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Inside, the writer does not answer."""
        self.writing.clear()
        self._free.clear()
        try:
            yield
        finally:
            self._free.set()

    @property
    def tokens(self) -> int:
        """About how many tokens it was sent, images among them."""
        parts = [part for body in self.requests for message in body["messages"] for part in _parts(message)]
        words = sum(len(part["text"]) for part in parts if part["type"] == "text")
        return words // CHARACTERS_PER_TOKEN + TOKENS_PER_IMAGE * sum(part["type"] != "text" for part in parts)

    def reply_to(self, body: Mapping[str, Any]) -> Reply:
        messages = body["messages"]
        system = "\n".join(_text(message) for message in messages if message["role"] == "system")
        asked = "\n".join(_text(message) for message in messages if message["role"] != "system")
        return Reply(self._answer(system, asked, [part for message in messages for part in _parts(message)]))

    def _answer(self, system: str, asked: str, parts: list[dict[str, Any]]) -> str:
        role = next((role for begins, role in _ROLES.items() if system.startswith(begins)), "unknown")
        self.roles.append(role)
        match role:
            case "see":
                return _see(parts)
            case "plan":
                return _plan(asked)
            case "audit":
                return json.dumps({"verdict": "approved", "violations": [], "suggestions": []})
            case "judge":
                return _judge(asked)
            case "revise":
                return "\n".join(f"{number}: {_correct(said)}" for number, said in _DIFFERS.findall(asked))
            case "write":
                self.writing.set()
                self._free.wait(_HOLD_S)
                return _write(asked)
        self.unknown.append(system[:80])
        return "{}"


_ROLES = {
    "You write down the text": "see",
    "You plan research": "plan",
    "You audit": "audit",
    "You check one sentence": "judge",
    "You correct": "revise",
    "You write": "write",
}


def _plan(asked: str) -> str:
    inputs = ("who pays for the bearing", "delivery of the bearing") if case.FOLLOW_UP in asked else PLANNED
    steps = [{"tool": "search_documents", "input": words, "rationale": "It is in the files."} for words in inputs]
    return json.dumps({"objective": "Know why pump 3 stopped", "steps": steps, "followUps": 0})


def _write(asked: str) -> str:
    wanted = case.NEXT_ANSWER if case.FOLLOW_UP in asked else case.ANSWER
    found = [(name, fact) for fact in wanted for name, text in _SHOWN.findall(asked) if fact in text]
    said = {fact: f"{fact.rstrip('.').replace(case.RIGHT, case.WRONG)} [{name}]." for name, fact in reversed(found)}
    return "## Answer\n\n" + " ".join(said[fact] for fact in wanted if fact in said)


def _correct(sentence: str) -> str:
    return sentence.replace(case.WRONG, case.RIGHT)


def _judge(asked: str) -> str:
    sentence, _, quotes = asked.partition("The quotes:")
    said, there = (set(_FIGURE.findall(_material(text))) for text in (sentence, quotes))
    verdict = "supported" if said <= there else "contradicted"
    return json.dumps({"verdict": verdict, "reason": "the figures" if verdict == "supported" else "another figure"})


def _material(text: str) -> str:
    """What stands between the fences, without the ids of quotes."""
    inside = re.findall(r"\[untrusted text \w+\][^\n]*\n(.*?)\n\[end of untrusted text", text, re.DOTALL)
    return re.sub(r"^e\d+: ", "", "\n".join(inside), flags=re.MULTILINE)


def _see(parts: list[dict[str, Any]]) -> str:
    sent = [part["image_url"]["url"].partition("base64,")[2] for part in parts if part["type"] == "image_url"]
    return case.ON_SCREEN if [base64.b64decode(each) for each in sent] == [case.files()[case.SCREENSHOT]] else "[no text]"


def _parts(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    content = message.get("content") or ""
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def _text(message: Mapping[str, Any]) -> str:
    return "\n".join(part["text"] for part in _parts(message) if part["type"] == "text")
