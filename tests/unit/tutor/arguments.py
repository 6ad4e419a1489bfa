"""Arguments for tests: one made by hand, and any that moves can make."""

from __future__ import annotations

from functools import cache

from hypothesis import settings
from hypothesis import strategies as st

from stepwell.tutor.argument import moves
from stepwell.tutor.argument.document import KINDS, PHASES, RELATIONS, STATUSES, Argument, MoveRefusedError
from stepwell.tutor.argument.questions import go_on, next_question, take_answer

FEWER = settings(max_examples=max(1, settings.default.max_examples // 4))
"""An argument is a large example: a quarter of the usual number says as much as others do in full."""
ANSWERS = {
    "question": "Should cities close their centres to private cars?",
    "thesis": "Cities should close their centres to private cars.",
    "confidence": "70",
    "terms": "centres, private cars",
    "definition": "what most people in town would call by that name",
    "ground": "Streets without traffic are used by more people.",
    "warrant": "What more people use serves the city better.",
    "refutation": "Shops that live on drivers would have to close.",
    "target": "t1",
    "force": "A city whose shops close serves nobody.",
    "examination": "I would have to give up closing it at once, not closing it.",
    "reply": "More people on foot also buy things.",
    "basis": "n1",
    "decision": "revised",
    "rewording": "Cities should close their centres to private cars, street by street. 60",
    "confidence_now": "60",
    "lint": "/skip",
    "conclusion": "Closing step by step stands; what becomes of shops is open.",
}
"""What a patient person answers, by what is missing."""


def play(argument: Argument, *, until: str | None = None) -> Argument:
    """A seminar answered from `ANSWERS`, up to a phase or to its end."""
    for _ in range(100):
        argument = go_on(argument)
        question = next_question(argument)
        if question is None or argument.phase == until:
            return argument
        argument = take_answer(argument, question, ANSWERS[question.need])
    raise AssertionError("the seminar does not end")


_NAMES = st.sampled_from(["t1", "t2", "d1", "c1", "n1", "n2", "r1", "r2", "p1", "k1", "zz"])
_TEXTS = st.one_of(
    st.sampled_from(
        ["Marks harm pupils.", "# not a heading", "- not a link", "\\ slash", "It is so: 1. yes", "by: tutor", "a;b"]
    ),
    st.text(min_size=1, max_size=40),
)
_WORDS = st.sampled_from(["marks", "pupils", "school mark"])
MOVES = st.one_of(
    st.tuples(st.just("set_question"), st.tuples(_TEXTS), st.just({})),
    st.tuples(
        st.just("propose_node"),
        st.tuples(st.sampled_from(KINDS), _TEXTS),
        st.fixed_dictionaries(
            {},
            optional={
                "side": st.sampled_from(["own", "opposing"]),
                "author": st.sampled_from(["user", "tutor"]),
                "term": _WORDS,
                "source": _TEXTS,
                "confidence": st.integers(-5, 105),
            },
        ),
    ),
    st.tuples(
        st.just("link"), st.tuples(_NAMES, st.sampled_from(RELATIONS), _NAMES, st.one_of(st.just(""), _TEXTS)), st.just({})
    ),
    st.tuples(
        st.just("update_node"),
        st.tuples(_NAMES),
        st.fixed_dictionaries(
            {},
            optional={
                "text": _TEXTS,
                "status": st.sampled_from(STATUSES),
                "confidence": st.integers(-5, 105),
                "source": _TEXTS,
            },
        ),
    ),
    st.tuples(st.just("name_terms"), st.tuples(st.lists(_WORDS, max_size=2)), st.just({})),
    st.tuples(st.just("set_phase"), st.tuples(st.sampled_from(PHASES)), st.just({})),
)


def apply(argument: Argument, move) -> Argument:
    """The argument after a move, or as it was if the move is refused."""
    name, arguments, keywords = move
    try:
        return getattr(moves, name)(argument, *arguments, **keywords)
    except MoveRefusedError:
        return argument


@cache
def _played(until: str | None) -> Argument:
    return play(Argument(), until=until)


@st.composite
def arguments(draw) -> Argument:
    """Any argument that moves can make, begun at any place of a seminar."""
    argument = _played(draw(st.sampled_from([*PHASES, None]))) if draw(st.booleans()) else Argument()
    for move in draw(st.lists(MOVES, max_size=12)):
        argument = apply(argument, move)
    return argument
