"""The pages of the research demo: true facts about stepwells, in our own words, on hosts that exist nowhere else.

Every page says that it was written for the demo, and names the published works that it rests on, so that a reader can check the facts
and not only the citations. Keep to facts that those works agree on; where they differ, say so, as with the depth of Chand Baori.
"""

from __future__ import annotations

from stepwell.demo.web.facts import WorldPage

_TOPIC = "stepwells"
_LIVINGSTON = "Morna Livingston, “Steps to Water: The Ancient Stepwells of India” (2002)"
_JAIN_NEUBAUER = "Jutta Jain-Neubauer, “The Stepwells of Gujarat in Art-Historical Perspective” (1981)"
_LAUTMAN = "Victoria Lautman, “The Vanishing Stepwells of India” (2017)"
_UNESCO = "UNESCO World Heritage List, no. 922, “Rani-ki-Vav (the Queen’s Stepwell) at Patan, Gujarat”"


def stepwell_pages() -> tuple[WorldPage, ...]:
    return (
        _page(
            "https://water.example/why-stepwells",
            "Why stepwells were built",
            (
                "In western India nearly all rain falls in the few months of the monsoon. Stepwells gave people water all year round. "
                "Stairs led down to the water, however far it sank in the dry season.",
                "Stepwells were more than wells. They were cool, shaded places where people met, and where travellers rested from the "
                "heat. Fetching water was the work of women, so the stairs were above all theirs.",
                "In Gujarat a stepwell is called a vav, in Rajasthan a baori, and in Delhi a baoli. Many fell out of use when pumps "
                "and taps came.",
            ),
            (_LIVINGSTON, _LAUTMAN),
        ),
        _page(
            "https://patan.example/rani-ki-vav",
            "Rani ki Vav in Patan",
            (
                "Rani ki Vav, the queen’s stepwell, is in Patan in Gujarat. It was built in the 11th century as a memorial to a king. "
                "Seven levels of stairs with sculptured panels lead down to its water.",
                "Rani ki Vav is about 65 metres long, 20 metres wide and 28 metres deep.",
                "Floods of the river Saraswati filled Rani ki Vav with silt, and it lay hidden for centuries. UNESCO made it a World "
                "Heritage Site in 2014.",
            ),
            (_UNESCO, _JAIN_NEUBAUER),
        ),
        _page(
            "https://abhaneri.example/chand-baori",
            "Chand Baori in Abhaneri",
            (
                "Chand Baori is a stepwell in the village of Abhaneri in Rajasthan. It has 13 storeys and some 3,500 narrow steps. "
                "The steps cover three sides of the well, and pavilions stand on the fourth.",
                "Books and guides do not agree how deep Chand Baori is: they say anything from 20 to 30 metres.",
            ),
            (_LIVINGSTON, _LAUTMAN),
        ),
        _page(
            "https://delhi.example/agrasen-ki-baoli",
            "Agrasen ki Baoli in Delhi",
            (
                "Agrasen ki Baoli is a stepwell on Hailey Road in New Delhi, a short walk from Connaught Place. It is about 60 metres "
                "long and 15 metres wide. Nobody knows for certain who built it.",
                "The Archaeological Survey of India protects it as a monument.",
            ),
            (_LAUTMAN,),
        ),
    )


def _page(url: str, title: str, paragraphs: tuple[str, ...], works: tuple[str, ...]) -> WorldPage:
    ours = f"We wrote this page for Stepwell’s demo, in our own words. It rests on: {'; '.join(works)}."
    return WorldPage(url, _TOPIC, title, title, (*paragraphs, ours), ())
