"""Countries and their adjectives: `Korea` and `Korean`, `France` and `French`, `the United States` and `American`."""

from __future__ import annotations

_PAIRS = (
    "france french|england english|britain british|united-kingdom british|united-kingdom britain|uk british|uk britain|"
    "spain spanish|netherlands dutch|holland dutch|netherlands holland|switzerland swiss|poland polish|denmark danish|"
    "sweden swedish|finland finnish|turkey turkish|greece greek|ireland irish|scotland scottish|wales welsh|"
    "norway norwegian|thailand thai|iceland icelandic|philippines filipino|united-states american|us american|usa american|"
    "usa us|czechia czech|slovakia slovak|belgium belgian|portugal portuguese|germany german|israel israeli|iraq iraqi|"
    "pakistan pakistani|peru peruvian|cyprus cypriot|afghanistan afghan"
)
_SAME = frozenset(frozenset(pair.split()) for pair in _PAIRS.split("|"))
_ENDINGS = frozenset(["", "a", "n", "an", "ian", "ean", "ese", "ish", "i", "o", "y", "s", "ns", "ans", "ians"])
_LONGEST_ENDING = 4


def is_same_place(one: str, other: str) -> bool:
    """Whether two folded names mean the same place or its people, according to a list or to their endings."""
    if one == other or frozenset((one, other)) in _SAME:
        return True
    common = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        common += 1
    return common >= _LONGEST_ENDING and one[common:] in _ENDINGS and other[common:] in _ENDINGS


_PEOPLE_NAMES = (
    "american british english scottish welsh irish french german italian spanish portuguese dutch belgian swiss austrian "
    "polish czech slovak hungarian romanian bulgarian greek turkish russian ukrainian belarusian estonian latvian "
    "lithuanian finnish swedish norwegian danish icelandic serbian croatian slovenian albanian canadian mexican cuban "
    "brazilian argentine argentinian chilean peruvian colombian venezuelan australian chinese japanese korean vietnamese "
    "thai indonesian malaysian filipino indian pakistani bangladeshi nepalese iranian iraqi israeli palestinian syrian "
    "lebanese jordanian egyptian moroccan algerian tunisian libyan ethiopian kenyan nigerian ghanaian ugandan tanzanian "
    "african european asian"
)
PEOPLES = frozenset(_PEOPLE_NAMES.split())
"""Adjectives of origin."""
