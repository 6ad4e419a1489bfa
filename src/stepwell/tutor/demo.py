"""A whole seminar that needs no model: the real tutor with its real tools and rules, but both sides are scripted here.

The model's lines are calls of the tutor's tools, so the same code checks them as for a real model: the person's words are taken
verbatim, each question names its clause, no phase is skipped. The demo must say on the screen that it is a script.
"""

from __future__ import annotations

from typing import Any

from stepwell.testing.scripted.model import ScriptedModel
from stepwell.testing.scripted.replies import Reply, call, calls, say

REQUEST = "Should cities close their centres to private cars?"
THESIS = "Cities should close their centres to private cars."
CENTRE = "The part of town where most houses are shops or public buildings."
CAR = "One that carries its owner and the owner's guests, and nobody else."
GROUND = "Streets without traffic are used by more people."
WARRANT = "What more people use serves the city better."
OBJECTION = "Shops that live on customers who drive would have to close."
FORCE = "A centre whose shops are gone serves nobody."
EXAMINED = "Closing everything at once would have to go, closing would not."
REPLY = "The people who use quiet streets are customers too."
REVISED = "Cities should close their centres to private cars, one street after the other."
CONCLUSION = "Closing street by street stands. Whether each shop survives it is open."

PERSON = (
    f"I claim this: {THESIS}",
    "About 70.",
    CENTRE,
    CAR,
    GROUND,
    WARRANT,
    OBJECTION,
    FORCE,
    EXAMINED,
    "/hint",
    REPLY,
    "revised",
    f"{REVISED} Of that I am 80 sure.",
    "Just tell me.",
)
"""What the person answers, in order."""
_STATUSES = [
    {"id": "held", "label": "Hold it"},
    {"id": "revised", "label": "Revise it"},
    {"id": "withdrawn", "label": "Withdraw it"},
]


def tutor_lines() -> list[Reply]:
    """What the model does, in order."""
    return [
        call("set_question", text=REQUEST),
        _ask("Frame: what do you claim, in one sentence?"),
        call("propose_node", kind="thesis", text=THESIS),
        _ask("About t1: how sure are you of it, from 0 to 100?"),
        calls(
            call("update_node", node="t1", confidence=70),
            call("set_phase", phase="define"),
            call("update_node", node="t1", terms=["centres", "private cars"]),
        ),
        _ask("About t1: what is a centre?"),
        call("propose_node", kind="definition", term="centres", text=CENTRE),
        _ask("About t1: and which cars are private?"),
        calls(
            call("propose_node", kind="definition", term="private cars", text=CAR),
            call("set_phase", phase="grounds"),
        ),
        _ask("About t1: what makes you think so?"),
        calls(call("propose_node", kind="narrative", text=GROUND, about="t1"), call("set_phase", phase="warrant")),
        _ask("About n1: why does that speak for t1?"),
        calls(
            call("link", source="n1", relation="supports", target="t1", because=WARRANT),
            call("set_phase", phase="steelman"),
        ),
        _ask("About t1: what would somebody say who owns a shop there, at their best?"),
        call("propose_node", kind="refutation", text=OBJECTION, about="t1"),
        _ask("About r1: if that is so, why does it tell against t1?"),
        calls(
            call("link", source="r1", relation="attacks", target="t1", because=FORCE),
            call("set_phase", phase="elenchus"),
        ),
        _ask("About t1: suppose r1 is right. What of your claim would have to go, and what not?"),
        call("set_phase", phase="reply"),
        _ask("About r1: what do you say to it, from what you have said already?"),
        call("hint", about="r1", level=1, text="Look at n1 again: who are the people in it, and what do they do there."),
        _ask("About r1: n1 speaks of people. What do they do to the shops?"),
        calls(
            call("propose_node", kind="reply", text=REPLY, about="r1"),
            call("link", source="p1", relation="uses", target="n1"),
            call("set_phase", phase="revise"),
        ),
        call("ask_choices", question="About t1: after objection and reply, what do you do with it?", options=_STATUSES),
        _ask("About t1: how does it read now, and how sure are you of it?"),
        calls(
            call("update_node", node="t1", text=REVISED, confidence=80),
            call("set_phase", phase="close"),
        ),
        _ask("About t1: what is left at the end?"),
        call("propose_node", kind="conclusion", text=CONCLUSION),
        say(
            f"You asked to be told, so the conclusion is in my words: “{CONCLUSION}” Change it in seminar.md if it is not yours."
        ),
    ]


def _ask(question: str) -> Reply:
    return call("ask_user", question=question)


def build_demo_tutor(checkpointer: Any = None) -> Any:
    from stepwell.tutor.agent import build

    return build(ScriptedModel(tutor_lines()), checkpointer=checkpointer)
