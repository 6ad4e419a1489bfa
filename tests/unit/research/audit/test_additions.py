"""What is added to a true sentence makes it partly supported, also where the judge agrees with everything. Row R9."""

from __future__ import annotations

import pytest

from stepwell.research.audit.evidence import HELD, Claim, Quote
from stepwell.research.audit.judge import Judgement
from stepwell.research.audit.verdicts import verdict

QUOTE = "The Selvik observatory has a mirror of 306 centimetres. Students may use it on Sundays."


class Agreeing:
    async def judge(self, claim_text: str, quotes: object) -> Judgement:
        return Judgement("supported")


async def judged(text: str, quote: str = QUOTE) -> Claim:
    quotes = {"e1": Quote("e1", "s1", 0, len(quote), quote)}
    return await verdict(Claim("c1", text, ("e1",)), quotes, Agreeing())


@pytest.mark.parametrize(
    "added",
    [
        " because the owners wanted to impress their neighbours",
        ", which made it famous across the continent",
        " and attracts visitors from abroad",
        ", although critics doubt the quality",
        " (the largest ever polished by hand)",
        ", making astronomers jealous",
        " after lengthy political quarrels",
        " in honour of a forgotten queen",
        " beside an old mill",
    ],
)
async def test_an_addition_nobody_said_lowers_the_verdict_and_is_named(added: str) -> None:
    claim = await judged(f"The Selvik observatory has a mirror of 306 centimetres{added}.")
    assert claim.verdict == "partial"
    assert any("the source does not say" in reason for reason in claim.reasons)


@pytest.mark.parametrize(
    "text",
    [
        "The Selvik observatory has a mirror of 306 centimetres.",
        "According to its page, the Selvik observatory has a mirror of 306 centimetres.",
        "It is recorded that the Selvik observatory has a mirror of 306 centimetres.",
        "The Selvik observatory has a mirror of 306 centimetres, and students may use it on Sundays.",
        "The mirror of the Selvik observatory, which students may use, measures 306 centimetres.",
    ],
)
async def test_what_the_quotes_say_in_other_order_stays_supported(text: str) -> None:
    assert (await judged(text)).verdict in HELD


@pytest.mark.parametrize(
    ("claim", "quote"),
    [
        ("The old coastal road is 12,345 km long.", "Die alte Küstenstraße ist 12.345 km lang."),
        ("In 1924 the bridge in Dresden was destroyed.", "Im Jahr 1924 wurde die Brücke in Dresden geöffnet."),
        ("In 1924 wurde die Brücke in Dresden zerstört.", "In 1924 the bridge in Dresden was opened to the public."),
        ("Le pont de Dresden a été fermé en 1924.", "In 1924 the bridge in Dresden was opened to the public."),
    ],
)
async def test_a_quote_in_another_language_does_not_settle_words_it_does_not_share(claim: str, quote: str) -> None:
    assert (await judged(claim, quote)).verdict == "partial"


async def test_the_mark_names_the_words_that_another_language_leaves_open() -> None:
    found = await judged("In 1924 the bridge in Dresden was destroyed.", "Im Jahr 1924 wurde die Brücke in Dresden geöffnet.")
    assert found.reasons == ("the source is in another language, which leaves open: bridge, destroyed",)


async def test_a_quote_in_another_language_settles_the_words_it_shares() -> None:
    claim = await judged("In 1924 the Tunnel in Dresden was 340 m.", "Der Tunnel in Dresden war im Jahr 1924 die 340 m.")
    assert claim.verdict == "supported"


@pytest.mark.parametrize(
    "text",
    [
        "The splendid Selvik observatory has a mirror of 306 centimetres.",
        "The Selvik observatory has a concave mirror of 306 centimetres.",
        "The Selvik observatory has a mirror of 306 tarnished centimetres.",
    ],
)
async def test_a_word_put_between_two_that_stand_together_is_marked(text: str) -> None:
    assert (await judged(text)).verdict == "partial"


@pytest.mark.parametrize(
    "text",
    [
        "The Selvik observatory possesses a mirror of 306 centimetres.",
        "Notably, the Selvik observatory has a mirror of 306 centimetres.",
    ],
)
async def test_a_word_in_place_of_another_is_left_to_the_judge(text: str) -> None:
    assert (await judged(text)).verdict == "supported"


@pytest.mark.parametrize(
    "text",
    [
        "The Selvik observatory was repainted in green by volunteers in 1984.",
        "Around 5,898 tourists come to Selvik each summer.",
        "The Selvik observatory is haunted by seven ghosts.",
    ],
)
async def test_a_name_alone_supports_nothing_that_is_said_of_it(text: str) -> None:
    assert (await judged(text)).verdict == "unsupported"
