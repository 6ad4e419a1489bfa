"""A whole seminar that needs no model: the real tutor with its real tools and rules, but both sides are scripted here.

The model's lines are calls of the tutor's tools, so the same code checks them as for a real model: the person's words are taken
verbatim, no phase is skipped. The demo must say on the screen that it is a script.
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
    {"id": "held", "label": "Keep it"},
    {"id": "revised", "label": "Change it"},
    {"id": "withdrawn", "label": "Give it up"},
]


def tutor_lines() -> list[Reply]:
    """What the model does, in order."""
    return [
        call("set_question", text=REQUEST),
        _ask("What do you claim, in one sentence?"),
        call("propose_node", kind="thesis", text=THESIS),
        _ask("How sure are you of it, from 0 to 100?"),
        calls(
            call("update_node", node="claim", confidence=70),
            call("set_phase", phase="define"),
            call("update_node", node="claim", terms=["centres", "private cars"]),
        ),
        _ask("What is a centre?"),
        call("propose_node", kind="definition", term="centres", text=CENTRE),
        _ask("And which cars are private?"),
        calls(
            call("propose_node", kind="definition", term="private cars", text=CAR),
            call("set_phase", phase="grounds"),
        ),
        _ask("What makes you think so?"),
        calls(call("propose_node", kind="narrative", text=GROUND, about="claim"), call("set_phase", phase="warrant")),
        _ask("Why does that speak for your claim?"),
        calls(
            call("link", source="reason 1", relation="supports", target="claim", because=WARRANT),
            call("set_phase", phase="steelman"),
        ),
        _ask("What would somebody say who owns a shop there, at their best?"),
        call("propose_node", kind="refutation", text=OBJECTION, about="claim"),
        _ask("If that is so, why does it tell against your claim?"),
        calls(
            call("link", source="objection 1", relation="attacks", target="claim", because=FORCE),
            call("set_phase", phase="elenchus"),
        ),
        _ask("Suppose the objection is right. What of your claim would have to go, and what not?"),
        call("set_phase", phase="reply"),
        _ask("What do you say to it, from what you have said already?"),
        call(
            "hint",
            about="objection 1",
            level=1,
            text="Look at reason 1 again: who are the people in it, and what do they do there.",
        ),
        _ask("Reason 1 speaks of people. What do they do to the shops?"),
        calls(
            call("propose_node", kind="reply", text=REPLY, about="objection 1"),
            call("link", source="reply 1", relation="uses", target="reason 1"),
            call("set_phase", phase="revise"),
        ),
        call("ask_choices", question="After objection and reply, what do you do with it?", options=_STATUSES),
        _ask("How does it read now, and how sure are you of it?"),
        calls(
            call("update_node", node="claim", text=REVISED, confidence=80),
            call("set_phase", phase="close"),
        ),
        _ask("What is left at the end?"),
        call("propose_node", kind="conclusion", text=CONCLUSION),
        say(f"You asked to be told, so the conclusion is in my words: “{CONCLUSION}” Change it if it is not yours."),
    ]


def _ask(question: str) -> Reply:
    return call("ask_user", question=question)


def build_demo_tutor(checkpointer: Any = None) -> Any:
    from stepwell.tutor.agent import build

    return build(ScriptedModel(tutor_lines()), checkpointer=checkpointer)
